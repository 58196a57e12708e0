-- What the stages of a checkout know: a table for each, and no row where there is nothing to say. They are written with
-- the checkout's own row, by whoever holds its lock; so only that row counts versions.

-- What is ordered and agreed, and where it goes: wide, and seldom changed. Each checkout has one.
-- What is only read back as a whole is json, which is handed out as it was written; what is looked into is jsonb, of which
-- each read makes a text anew.
create table checkout_applications (
    organization_id bigint not null,
    checkout_id uuid not null,
    purchase_items jsonb not null,
    redirects json not null,
    -- Where the customer's browser was sent last.
    way_out text,
    -- Name and address of the customer as this checkout gave them.
    given_profile json,
    -- {address, locked}
    billing json not null,
    shipping json not null,
    pickup_location_id bigint,
    identity_requested_at timestamptz,
    -- The price, once it is frozen.
    quote json,
    -- When the customer accepted term and price, and which text about it they read.
    accepted_at timestamptz,
    accepted_version text,
    lease_document_id text,
    signed_at timestamptz,
    -- What the address of its page names, and what was given out of such addresses: hashes of tokens that open the page
    -- even when the server's key that they were derived under is gone.
    page_nonce bytea not null,
    page_token_hashes bytea[] not null default '{}',
    -- What callers keep beside the checkout: keys and texts of their own.
    metadata jsonb not null default '{}',
    constraint checkout_applications_pkey primary key (organization_id, checkout_id),
    constraint checkout_applications_accepted_is_whole_check
        check (num_nulls(accepted_at, accepted_version) in (0, 2)),
    constraint checkout_applications_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id) on delete cascade,
    constraint checkout_applications_pickup_location_id_fkey
        foreign key (organization_id, pickup_location_id) references pickup_locations (organization_id, id),
    constraint checkout_applications_page_nonce_check check (octet_length(page_nonce) = 16),
    constraint checkout_applications_way_out_check check (way_out in ('success', 'cancel', 'failure')),
    constraint checkout_applications_metadata_check check (jsonb_typeof(metadata) = 'object')
);

-- A page is asked for by its token, whose organization nobody says: a door that works across organizations. A nonce is
-- 128 random bits, so that no two are the same.
create index checkout_applications_page_nonce_idx on checkout_applications (page_nonce);
create index checkout_applications_pickup_location_id_idx on checkout_applications (organization_id, pickup_location_id)
    where pickup_location_id is not null;

call keep_apart('checkout_applications');
call open_door('page', 'checkout_applications');
call open_door('errands', 'checkout_applications');

-- What it waits for, or waited for last.
create table checkout_waits (
    organization_id bigint not null,
    checkout_id uuid not null,
    reason text not null,
    address json,
    reason_code text,
    constraint checkout_waits_pkey primary key (organization_id, checkout_id),
    constraint checkout_waits_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id) on delete cascade,
    constraint checkout_waits_reason_check check (reason in ('inventory', 'location')),
    constraint checkout_waits_reason_code_check
        check (reason_code in ('country_not_served', 'state_not_served', 'zip_not_served'))
);

call keep_apart('checkout_waits');

create table checkout_deposits (
    organization_id bigint not null,
    checkout_id uuid not null,
    mode text not null,
    state text not null,
    -- The method that the customer named for it.
    method_id text,
    -- When it was last submitted: the processor may hold something since.
    submitted_at timestamptz,
    payment_intent_id text,
    hold_expires_at timestamptz,
    -- How often the hold took over from another, and what the bank said when it was asked to renew this one.
    renewals_made integer,
    renewals_refused integer,
    renewal_refused_at timestamptz,
    renewal_is_barred boolean,
    capture_requested_at timestamptz,
    invoice_id text,
    captured_at timestamptz,
    -- Whether what is held lapses unless somebody acts, as it does while the checkout has not ended.
    lapses boolean not null,
    constraint checkout_deposits_pkey primary key (organization_id, checkout_id),
    constraint checkout_deposits_checkout_id_fkey
        foreign key (organization_id, checkout_id, mode) references checkouts (organization_id, id, mode)
        on delete cascade,
    constraint checkout_deposits_state_check check (state in ('open', 'waived', 'authorized', 'captured')),
    constraint checkout_deposits_is_whole_check check (
        num_nonnulls(payment_intent_id, hold_expires_at, renewals_made, renewals_refused, renewal_is_barred) =
            case when state in ('authorized', 'captured') then 5 else 0 end
        and (renewal_refused_at is null or state in ('authorized', 'captured'))
        and num_nonnulls(invoice_id, captured_at) = case when state = 'captured' then 2 else 0 end),
    constraint checkout_deposits_renewals_check check (renewals_made >= 0 and renewals_refused >= 0),
    constraint checkout_deposits_lapses_check check (state = 'authorized' or not lapses)
);

create unique index checkout_deposits_payment_intent_id_key
    on checkout_deposits (organization_id, mode, payment_intent_id) where payment_intent_id is not null;
-- Walked by id: those that cannot be renewed stay, and must not stand in front of the others.
create index checkout_deposits_that_lapse_idx on checkout_deposits (organization_id, checkout_id, hold_expires_at)
    where lapses;

call keep_apart('checkout_deposits');
call open_door('errands', 'checkout_deposits');

create table checkout_billing (
    organization_id bigint not null,
    checkout_id uuid not null,
    mode text not null,
    state text not null,
    requested_at timestamptz,
    subscription_id text,
    -- Whether an active one takes what it is to take.
    standing text,
    method json,
    paid_cycles integer not null,
    failure_count integer not null,
    last_failure json,
    dispute_id text,
    -- Messages of the processor come in any order: a contest that was settled must not be opened
    -- again by a late word of its beginning.
    settled_dispute_id text,
    constraint checkout_billing_pkey primary key (organization_id, checkout_id),
    constraint checkout_billing_checkout_id_fkey
        foreign key (organization_id, checkout_id, mode) references checkouts (organization_id, id, mode)
        on delete cascade,
    constraint checkout_billing_state_check check (
        state in ('notRequested', 'requested', 'incomplete', 'active', 'ended')),
    constraint checkout_billing_standing_check check (standing in ('good', 'pastDue', 'unpaid', 'paused')),
    constraint checkout_billing_is_whole_check check (
        (requested_at is not null) = (state <> 'notRequested')
        and (subscription_id is not null) = (state in ('incomplete', 'active', 'ended'))
        and (standing is not null) = (state = 'active')),
    constraint checkout_billing_paid_cycles_check check (paid_cycles >= 0),
    constraint checkout_billing_failure_count_check check (failure_count >= 0)
);

create unique index checkout_billing_subscription_id_key on checkout_billing (organization_id, mode, subscription_id)
    where subscription_id is not null;
-- Those whose subscription is long in coming.
create index checkout_billing_unanswered_idx on checkout_billing (organization_id, requested_at, checkout_id)
    where state = 'requested';
create index checkout_billing_requested_idx on checkout_billing (organization_id, mode, checkout_id)
    where requested_at is not null;

call keep_apart('checkout_billing');
call open_door('errands', 'checkout_billing');

create table checkout_shipments (
    organization_id bigint not null,
    checkout_id uuid not null,
    tracking_number text,
    tracking_carrier text,
    tracking_status text,
    -- When somebody last said where the goods are, the shipment itself included.
    heard_at timestamptz,
    shipped_at timestamptz,
    delivered_at timestamptz,
    signed_by text,
    -- What lifecycle_states says of the checkout's state, so that the round of those that are asked for has an index.
    is_under_way boolean not null,
    -- When it was the shipment's turn to be asked for, as a place in the round.
    tracking_turn bigint,
    constraint checkout_shipments_pkey primary key (organization_id, checkout_id),
    constraint checkout_shipments_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id) on delete cascade,
    constraint checkout_shipments_tracking_is_whole_check
        check ((tracking_number is null) = (tracking_carrier is null)),
    constraint checkout_shipments_tracking_carrier_check check (tracking_carrier in ('ups', 'fedex')),
    constraint checkout_shipments_tracking_status_check check (tracking_status in (
        'unknown', 'preTransit', 'inTransit', 'outForDelivery', 'availableForPickup', 'delivered',
        'returnToSender', 'failure', 'cancelled', 'error'))
);

-- Carriers' messages name a number, and no organization.
create index checkout_shipments_tracking_idx on checkout_shipments (tracking_number, tracking_carrier)
    where tracking_number is not null;
create index checkout_shipments_under_way_idx
    on checkout_shipments (organization_id, tracking_turn nulls first, shipped_at, checkout_id)
    where is_under_way and tracking_number is not null and delivered_at is null;
-- Those of which the carrier says nothing.
create index checkout_shipments_silent_idx on checkout_shipments (organization_id, heard_at, checkout_id)
    where is_under_way and tracking_number is not null and delivered_at is null;

call keep_apart('checkout_shipments');
call open_door('message', 'checkout_shipments');
call open_door('errands', 'checkout_shipments');

create sequence checkout_tracking_turns;

create table checkout_returns (
    organization_id bigint not null,
    checkout_id uuid not null,
    initiated_at timestamptz,
    completed_at timestamptz,
    cancelled_at timestamptz,
    reason text,
    notes text,
    constraint checkout_returns_pkey primary key (organization_id, checkout_id),
    constraint checkout_returns_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id) on delete cascade
);

call keep_apart('checkout_returns');

-- What the state of a checkout asks of its parts. A check sees one row of one table; so this looks at the commit, when
-- all of them are written, at each checkout whose own row was: parts are never written without it, except for the
-- page's tokens and a shipment's turn. Whatever else is done by hand the domain refuses when it reads it. It looks in the
-- name of the checkout's organization: whoever wrote it may have gone on in another's.
create function require_fitting_parts() returns trigger language plpgsql as $$
declare
    working_for constant text := coalesce(current_setting('lessor.organization', true), '');
    unfit text;
    is_nobodys boolean;
begin
    perform set_config('lessor.organization', new.organization_id::text, true);
    select case
        when checkout.waits_for <> 'none' and wait.reason is distinct from checkout.waits_for
            then 'it waits for what its wait does not say'
        when state.is_confirmed and coalesce(deposit.state, 'open') not in ('captured', 'waived')
            then 'its deposit is neither captured nor waived'
        when checkout.lifecycle = 'shipped' and shipment.shipped_at is null
            then 'nobody knows when it was shipped'
        when checkout.is_leased and application.quote is null
            then 'its price is not frozen'
        when checkout.is_leased and coalesce(billing.state, 'notRequested') = 'notRequested'
            then 'its subscription was not asked for'
        when coalesce(deposit.lapses, false)
                <> (coalesce(deposit.state, 'open') = 'authorized' and not checkout.is_ended)
            then 'its deposit does not say whether it lapses'
        when shipment.is_under_way <> state.is_under_way
            then 'its shipment does not say whether it is under way'
    end
    into unfit
    from checkouts as checkout
    join lifecycle_states as state on state.name = checkout.lifecycle
    left join checkout_applications as application
        on (application.organization_id, application.checkout_id) = (checkout.organization_id, checkout.id)
    left join checkout_waits as wait
        on (wait.organization_id, wait.checkout_id) = (checkout.organization_id, checkout.id)
    left join checkout_deposits as deposit
        on (deposit.organization_id, deposit.checkout_id) = (checkout.organization_id, checkout.id)
    left join checkout_billing as billing
        on (billing.organization_id, billing.checkout_id) = (checkout.organization_id, checkout.id)
    left join checkout_shipments as shipment
        on (shipment.organization_id, shipment.checkout_id) = (checkout.organization_id, checkout.id)
    where (checkout.organization_id, checkout.id) = (new.organization_id, new.id);
    -- Whoever orders holds the customer until the commit: an erasure that waits for that finds the order, and one that was
    -- waited for is found here. The order is made anew then, as somebody else.
    is_nobodys := tg_op = 'INSERT' and exists (
        select from customers as customer
        where (customer.organization_id, customer.id) = (new.organization_id, new.customer_id)
            and customer.erased_at is not null);
    perform set_config('lessor.organization', working_for, true);
    if is_nobodys then
        raise exception 'the customer of checkout % was erased', new.id using errcode = 'serialization_failure';
    end if;
    if unfit is not null then
        raise exception 'checkout % is %: %', new.id, new.lifecycle, unfit
            using errcode = 'check_violation', table = 'checkouts', constraint = 'checkouts_fit_their_parts';
    end if;
    return null;
end
$$;

create constraint trigger checkouts_fit_their_parts
    after insert or update on checkouts deferrable initially deferred for each row
    execute function require_fitting_parts();
