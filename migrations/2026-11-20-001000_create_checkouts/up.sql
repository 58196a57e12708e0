-- A customer's way to a lease. What is queried, sorted, joined or constrained is a column;
-- value objects that are only read back as a whole are jsonb.
create table checkouts (
    id uuid not null,
    organization_id bigint not null,
    mode text not null,
    customer_id uuid not null,
    user_id bigint not null,
    product_id uuid not null,
    variant_id uuid not null,
    -- The chosen term: a copy, because a term's months may change after it was chosen.
    term_id uuid,
    lease_term_id bigint,
    term_in_months integer,
    -- Sorted by the bytes of the names, whatever the database's collation is.
    lifecycle text collate "C" not null constraint checkouts_lifecycle_check check (lifecycle in (
        'created', 'profilePending', 'identityRequired', 'identityVerifying', 'identityProcessing',
        'qualificationPending', 'shippingAddressPending', 'pickupLocationPending', 'leaseReviewPending',
        'depositPending', 'depositProcessing', 'depositFailed', 'recurringPaymentMethodPending',
        'documentsPending', 'captureFailed', 'orderConfirmed', 'addendumsPending', 'shipped',
        'fulfillmentException', 'leaseActive', 'returnPending', 'returned',
        'waitlistedAfterProfile', 'waitlistedAfterDeposit', 'waitlistedLocation',
        'cancelled', 'expired', 'identityFailed', 'qualificationFailed')),
    previous_lifecycle text collate "C" constraint checkouts_previous_lifecycle_check check (previous_lifecycle in (
        'created', 'profilePending', 'identityRequired', 'identityVerifying', 'identityProcessing',
        'qualificationPending', 'shippingAddressPending', 'pickupLocationPending', 'leaseReviewPending',
        'depositPending', 'depositProcessing', 'depositFailed', 'recurringPaymentMethodPending',
        'documentsPending', 'captureFailed', 'orderConfirmed', 'addendumsPending', 'shipped',
        'fulfillmentException', 'leaseActive', 'returnPending', 'returned',
        'waitlistedAfterProfile', 'waitlistedAfterDeposit', 'waitlistedLocation',
        'cancelled', 'expired', 'identityFailed', 'qualificationFailed')),
    external_order_id text collate "C",
    insurance_status text not null
        constraint checkouts_insurance_status_check check (insurance_status in ('pending', 'approved', 'denied')),
    quote jsonb,
    purchase_items jsonb not null,
    redirects jsonb not null,
    -- {address, locked}
    billing jsonb not null,
    shipping jsonb not null,
    pickup_location_id bigint,
    deposit_method_id text,
    payment_intent_id text,
    preauth_expires_at timestamptz,
    deposit_invoice_id text,
    deposit_captured_at timestamptz,
    holds_stock boolean not null,
    lease_document_id text,
    signed_at timestamptz,
    recurring_status text not null
        constraint checkouts_recurring_status_check check (recurring_status in ('pending', 'active', 'cancelled')),
    subscription_requested_at timestamptz,
    subscription_id text,
    recurring_method jsonb,
    paid_cycles integer not null constraint checkouts_paid_cycles_check check (paid_cycles >= 0),
    payment_failure_count integer not null
        constraint checkouts_payment_failure_count_check check (payment_failure_count >= 0),
    dispute_id text,
    last_payment_failure jsonb,
    tracking_number text,
    tracking_carrier text constraint checkouts_tracking_carrier_check check (tracking_carrier in ('ups', 'fedex')),
    tracking_status text constraint checkouts_tracking_status_check check (tracking_status in (
        'unknown', 'preTransit', 'inTransit', 'outForDelivery', 'availableForPickup', 'delivered',
        'returnToSender', 'failure', 'cancelled', 'error')),
    -- When it was the shipment's turn to be asked for, as a place in the round.
    tracking_turn bigint,
    shipped_at timestamptz,
    delivered_at timestamptz,
    signed_by text,
    return_initiated_at timestamptz,
    return_completed_at timestamptz,
    return_cancelled_at timestamptz,
    return_reason text,
    return_notes text,
    waitlist_reason text
        constraint checkouts_waitlist_reason_check check (waitlist_reason in ('inventory', 'location')),
    waitlist_address jsonb,
    waitlist_reason_code text constraint checkouts_waitlist_reason_code_check check (
        waitlist_reason_code in ('country_not_served', 'state_not_served', 'zip_not_served')),
    -- The place in the queue: when it last began to wait. Kept when it is freed, so that whoever
    -- walks the queue in pages finds where they were.
    waiting_since timestamptz,
    lease_start date,
    lease_end date,
    confirmed_at timestamptz,
    active_at timestamptz,
    cancel_reason text,
    page_nonce bytea not null constraint checkouts_page_nonce_check check (octet_length(page_nonce) = 16),
    page_token_hash bytea constraint checkouts_page_token_hash_check check (octet_length(page_token_hash) = 32),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    version bigint not null,

    constraint checkouts_pkey primary key (id),
    constraint checkouts_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint checkouts_customer_id_fkey foreign key (customer_id) references customers (id),
    constraint checkouts_product_id_fkey
        foreign key (organization_id, product_id) references products (organization_id, id),
    constraint checkouts_variant_id_fkey
        foreign key (organization_id, variant_id) references product_variants (organization_id, id),
    constraint checkouts_term_id_fkey
        foreign key (organization_id, term_id) references lease_terms (organization_id, id),
    constraint checkouts_pickup_location_id_fkey
        foreign key (organization_id, pickup_location_id) references pickup_locations (organization_id, id),

    constraint checkouts_mode_check check (mode in ('live', 'sandbox')),
    constraint checkouts_term_is_whole_check check (num_nulls(term_id, lease_term_id, term_in_months) in (0, 3)),
    constraint checkouts_term_in_range_check check (term_in_months between 1 and 120),
    constraint checkouts_tracking_is_whole_check check ((tracking_number is null) = (tracking_carrier is null)),
    constraint checkouts_waitlist_is_whole_check check (
        waitlist_reason is not null or (waitlist_address is null and waitlist_reason_code is null)),
    constraint checkouts_waits_for_something_check check (case
        when lifecycle in ('waitlistedAfterProfile', 'waitlistedAfterDeposit')
            then waitlist_reason is not distinct from 'inventory' and waiting_since is not null
        when lifecycle = 'waitlistedLocation'
            then waitlist_reason is not distinct from 'location' and waiting_since is not null
        else true end),
    -- Stock is taken with the deposit and stays taken with the goods; who ended otherwise gave it back.
    constraint checkouts_may_hold_stock_check check (not holds_stock or lifecycle in (
        'recurringPaymentMethodPending', 'documentsPending', 'captureFailed', 'orderConfirmed', 'addendumsPending',
        'shipped', 'fulfillmentException', 'leaseActive', 'returnPending', 'returned')),
    constraint checkouts_confirmed_is_paid_check check (deposit_captured_at is not null or lifecycle not in (
        'orderConfirmed', 'addendumsPending', 'shipped', 'fulfillmentException', 'leaseActive', 'returnPending',
        'returned')),
    constraint checkouts_shipped_has_a_time_check check (shipped_at is not null or lifecycle <> 'shipped'),
    constraint checkouts_lease_is_billed_check check (
        (subscription_id is not null and lease_start is not null)
        or lifecycle not in ('leaseActive', 'returnPending', 'returned')),
    constraint checkouts_billing_has_a_subscription_check
        check (subscription_id is not null or recurring_status <> 'active'),
    constraint checkouts_lease_has_a_beginning_check check (lease_end >= lease_start),
    constraint checkouts_version_counts_check check (version >= 0)
);

-- Two checkouts without a term are the same.
create unique index checkouts_open_key on checkouts (mode, customer_id, variant_id, coalesce(lease_term_id, 0))
    where lifecycle not in ('returned', 'cancelled', 'expired', 'identityFailed', 'qualificationFailed');
create unique index checkouts_external_order_id_key on checkouts (organization_id, mode, external_order_id)
    where external_order_id is not null;
create unique index checkouts_subscription_id_key on checkouts (mode, subscription_id)
    where subscription_id is not null;
create unique index checkouts_payment_intent_id_key on checkouts (mode, payment_intent_id)
    where payment_intent_id is not null;
create unique index checkouts_page_token_hash_key on checkouts (page_token_hash)
    where page_token_hash is not null;

-- What lists are sorted by. Where a value may be missing its rows come last both ways, which takes
-- an index for each direction.
create index checkouts_created_at_idx on checkouts (organization_id, mode, created_at, id);
create index checkouts_updated_at_idx on checkouts (organization_id, mode, updated_at, id);
create index checkouts_lifecycle_idx on checkouts (organization_id, mode, lifecycle, id);
create index checkouts_external_order_id_up_idx
    on checkouts (organization_id, mode, external_order_id asc nulls last, id asc);
create index checkouts_external_order_id_down_idx
    on checkouts (organization_id, mode, external_order_id desc nulls last, id desc);
create index checkouts_lease_start_up_idx
    on checkouts (organization_id, mode, lease_start asc nulls last, id asc);
create index checkouts_lease_start_down_idx
    on checkouts (organization_id, mode, lease_start desc nulls last, id desc);
create index checkouts_customer_id_idx on checkouts (customer_id, mode, created_at, id);
-- For the foreign keys: products, variants, terms and locations are deleted only where nothing refers to them.
create index checkouts_product_id_idx on checkouts (organization_id, product_id);
create index checkouts_variant_id_idx on checkouts (organization_id, variant_id);
create index checkouts_term_id_idx on checkouts (organization_id, term_id) where term_id is not null;
create index checkouts_pickup_location_id_idx on checkouts (organization_id, pickup_location_id)
    where pickup_location_id is not null;

-- What the workers look for.
create index checkouts_waiting_for_stock_idx
    on checkouts (variant_id, (lifecycle = 'waitlistedAfterProfile'), waiting_since, id)
    where lifecycle in ('waitlistedAfterProfile', 'waitlistedAfterDeposit');
create index checkouts_waiting_for_location_idx on checkouts (organization_id, waiting_since, id)
    where lifecycle = 'waitlistedLocation';
create index checkouts_that_expire_idx on checkouts (updated_at, id)
    where lifecycle in (
        'created', 'profilePending', 'identityRequired', 'identityVerifying', 'identityProcessing',
        'qualificationPending', 'shippingAddressPending', 'pickupLocationPending', 'leaseReviewPending',
        'depositPending', 'depositProcessing', 'depositFailed', 'recurringPaymentMethodPending',
        'waitlistedAfterProfile', 'waitlistedAfterDeposit', 'waitlistedLocation');
create index checkouts_that_lapse_idx on checkouts (preauth_expires_at, id)
    where payment_intent_id is not null and deposit_captured_at is null
        and lifecycle not in ('returned', 'cancelled', 'expired', 'identityFailed', 'qualificationFailed');
create index checkouts_whose_lease_ends_idx on checkouts (lease_end, id)
    where lifecycle = 'leaseActive';
create index checkouts_billed_idx on checkouts (mode, id) where subscription_requested_at is not null;
create index checkouts_under_way_idx on checkouts (tracking_turn nulls first, shipped_at, id)
    where lifecycle in ('shipped', 'fulfillmentException') and tracking_number is not null
        and delivered_at is null;
create index checkouts_tracking_idx on checkouts (tracking_number, tracking_carrier)
    where tracking_number is not null
        and lifecycle not in ('returned', 'cancelled', 'expired', 'identityFailed', 'qualificationFailed');

create sequence checkout_tracking_turns;

-- The leased things.
create table checkout_items (
    id uuid not null,
    checkout_id uuid not null,
    position integer not null,
    variant_id uuid not null,
    sku text not null,
    name text not null,
    serial_number text,
    constraint checkout_items_pkey primary key (id),
    constraint checkout_items_checkout_id_fkey
        foreign key (checkout_id) references checkouts (id) on delete cascade,
    constraint checkout_items_variant_id_fkey foreign key (variant_id) references product_variants (id),
    constraint checkout_items_position_check check (position >= 0)
);

create index checkout_items_checkout_id_idx on checkout_items (checkout_id, position);
create index checkout_items_variant_id_idx on checkout_items (variant_id);

-- What the processor told of each invoice, so that news in any order come to the same.
create table checkout_invoices (
    checkout_id uuid not null,
    invoice_id text not null,
    paid boolean not null,
    failed_attempts integer not null,
    failure_code text,
    failure_message text,
    at timestamptz not null,
    constraint checkout_invoices_pkey primary key (checkout_id, invoice_id),
    constraint checkout_invoices_checkout_id_fkey
        foreign key (checkout_id) references checkouts (id) on delete cascade,
    constraint checkout_invoices_failed_attempts_check check (failed_attempts >= 0),
    constraint checkout_invoices_failure_check
        check (num_nulls(failure_code, failure_message) = case when paid then 2 else 0 end)
);
