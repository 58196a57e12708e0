-- Every move of every checkout: who, when and why. Nothing is ever taken back from it.
create table checkout_transitions (
    checkout_id uuid not null references checkouts (id),
    sequence bigint not null constraint checkout_transitions_sequence_check check (sequence >= 1),
    from_lifecycle text not null constraint checkout_transitions_from_lifecycle_check check (from_lifecycle in (
        'created', 'profilePending', 'identityRequired', 'identityVerifying', 'identityProcessing',
        'qualificationPending', 'shippingAddressPending', 'pickupLocationPending', 'leaseReviewPending',
        'depositPending', 'depositProcessing', 'depositFailed', 'recurringPaymentMethodPending',
        'documentsPending', 'captureFailed', 'orderConfirmed', 'addendumsPending', 'shipped',
        'fulfillmentException', 'leaseActive', 'returnPending', 'returned',
        'waitlistedAfterProfile', 'waitlistedAfterDeposit', 'waitlistedLocation',
        'cancelled', 'expired', 'identityFailed', 'qualificationFailed')),
    event text not null constraint checkout_transitions_event_check check (event in (
        'opened', 'profileCompleted', 'identityRequested', 'identityStarted', 'identitySubmitted',
        'identityAbandoned', 'identityVerified', 'identityRefused', 'qualified', 'qualificationRefused',
        'pickupChosen', 'shippingChosen', 'shippingAddressGiven', 'pickupLocationGiven', 'leaseAccepted',
        'depositSubmitted', 'depositAuthorized', 'depositAuthorizedWithoutStock', 'depositRefused',
        'paymentMethodSaved', 'documentsSigned', 'depositCaptured', 'captureRefused', 'captureRetried',
        'authorizationLapsed', 'addendumsRequested', 'addendumsSigned', 'fulfilled', 'fulfillmentFailed',
        'orderResumed', 'shipmentResumed', 'delivered', 'subscriptionStarted', 'returnInitiated', 'termEnded',
        'returnCancelled', 'returnCompleted', 'stockFreed', 'areaWidened', 'cancelled', 'expired',
        'steppedBackToProfile', 'steppedBackToAddress', 'steppedBackToPickup', 'steppedBackToReview')),
    to_lifecycle text not null constraint checkout_transitions_to_lifecycle_check check (to_lifecycle in (
        'created', 'profilePending', 'identityRequired', 'identityVerifying', 'identityProcessing',
        'qualificationPending', 'shippingAddressPending', 'pickupLocationPending', 'leaseReviewPending',
        'depositPending', 'depositProcessing', 'depositFailed', 'recurringPaymentMethodPending',
        'documentsPending', 'captureFailed', 'orderConfirmed', 'addendumsPending', 'shipped',
        'fulfillmentException', 'leaseActive', 'returnPending', 'returned',
        'waitlistedAfterProfile', 'waitlistedAfterDeposit', 'waitlistedLocation',
        'cancelled', 'expired', 'identityFailed', 'qualificationFailed')),
    at timestamptz not null,
    actor text not null constraint checkout_transitions_actor_check
        check (actor in ('customer', 'operator', 'provider', 'system')),
    reason text,
    primary key (checkout_id, sequence)
);

create function refuse_to_rewrite_history() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end
$$;

create trigger checkout_transitions_append_only
    before update or delete or truncate on checkout_transitions
    for each statement execute function refuse_to_rewrite_history();
