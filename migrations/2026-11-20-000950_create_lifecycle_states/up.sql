-- What the domain knows of each state, so that SQL asks for what it means instead of naming states. Whoever adds a state
-- adds a row; a test compares the rows with the domain's.
create table lifecycle_states (
    -- Sorted by the bytes of the names, whatever the database's collation is.
    name text collate "C" not null,
    phase text not null,
    is_ended boolean not null,
    expires boolean not null,
    waits_for text not null,
    may_hold_stock boolean not null,
    is_confirmed boolean not null,
    is_leased boolean not null,
    is_under_way boolean not null,
    constraint lifecycle_states_pkey primary key (name),
    -- What rows keep beside the name of their state, for indexes and checks of their own.
    constraint lifecycle_states_kept_key unique (name, is_ended, expires, waits_for, may_hold_stock, is_leased),
    constraint lifecycle_states_waits_for_check check (waits_for in ('none', 'inventory', 'location'))
);

insert into lifecycle_states
    (name, phase, is_ended, expires, waits_for, may_hold_stock, is_confirmed, is_leased, is_under_way)
values
    ('created', 'application', false, true, 'none', false, false, false, false),
    ('profilePending', 'application', false, true, 'none', false, false, false, false),
    ('identityRequired', 'application', false, true, 'none', true, false, false, false),
    ('identityVerifying', 'application', false, true, 'none', true, false, false, false),
    ('identityProcessing', 'application', false, true, 'none', true, false, false, false),
    ('qualificationPending', 'application', false, true, 'none', true, false, false, false),
    ('shippingAddressPending', 'application', false, true, 'none', true, false, false, false),
    ('pickupLocationPending', 'application', false, true, 'none', true, false, false, false),
    ('leaseReviewPending', 'application', false, true, 'none', true, false, false, false),
    ('depositPending', 'payment', false, true, 'none', true, false, false, false),
    ('depositProcessing', 'payment', false, true, 'none', false, false, false, false),
    ('depositFailed', 'payment', false, true, 'none', false, false, false, false),
    ('recurringPaymentMethodPending', 'payment', false, true, 'none', true, false, false, false),
    ('documentsPending', 'documents', false, true, 'none', true, false, false, false),
    ('captureFailed', 'documents', false, false, 'none', true, false, false, false),
    ('orderConfirmed', 'fulfillment', false, false, 'none', true, true, false, false),
    ('addendumsPending', 'fulfillment', false, false, 'none', true, true, false, false),
    ('shipped', 'fulfillment', false, false, 'none', true, true, false, true),
    ('fulfillmentException', 'fulfillment', false, false, 'none', true, true, false, true),
    ('leaseActive', 'active', false, false, 'none', true, true, true, false),
    ('returnPending', 'return', false, false, 'none', true, true, true, false),
    ('returned', 'return', true, false, 'none', true, true, true, false),
    ('waitlistedAfterProfile', 'waitlist', false, true, 'inventory', false, false, false, false),
    ('waitlistedAfterDeposit', 'waitlist', false, true, 'inventory', false, false, false, false),
    ('waitlistedLocation', 'waitlist', false, true, 'location', false, false, false, false),
    ('cancelled', 'closed', true, false, 'none', false, false, false, false),
    ('expired', 'closed', true, false, 'none', false, false, false, false),
    ('identityFailed', 'closed', true, false, 'none', false, false, false, false),
    ('qualificationFailed', 'closed', true, false, 'none', false, false, false, false);
