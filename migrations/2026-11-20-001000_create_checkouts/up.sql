-- A customer's way to a lease: who leases what, where it stands, and what lists and workers go by. This row is written
-- with every change and kept narrow; what the stages know besides has tables of its own, in the next migration.
create table checkouts (
    organization_id bigint not null,
    id uuid not null,
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
    lifecycle text collate "C" not null,
    previous_lifecycle text collate "C",
    -- What lifecycle_states says of the state, for the indexes and checks of this table; the foreign key holds it true.
    is_ended boolean not null,
    expires boolean not null,
    waits_for text not null,
    may_hold_stock boolean not null,
    is_leased boolean not null,
    external_order_id text collate "C",
    insurance_status text not null,
    holds_stock boolean not null,
    -- The place in the queue: when it last began to wait. Kept when it is freed, so that whoever
    -- walks the queue in pages finds where they were.
    waiting_since timestamptz,
    lease_start date,
    lease_end date,
    confirmed_at timestamptz,
    active_at timestamptz,
    cancel_reason text,
    -- Why a person must look at it: [{reason, since, detail}], in the order of the reasons.
    attention jsonb not null default '[]',
    -- When the customer last did something.
    acted_at timestamptz not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    version bigint not null,

    constraint checkouts_pkey primary key (organization_id, id),
    -- For tables that keep the mode beside the checkout. Neither column of it ever changes: a unique key of columns that
    -- do would make each move of a checkout keep whoever refers to it waiting.
    constraint checkouts_organization_id_id_mode_key unique (organization_id, id, mode),
    constraint checkouts_organization_id_fkey foreign key (organization_id) references organizations (id),
    -- With the mode, so that it is the customer's.
    constraint checkouts_customer_id_fkey
        foreign key (organization_id, customer_id, mode) references customers (organization_id, id, mode),
    constraint checkouts_product_id_fkey
        foreign key (organization_id, product_id) references products (organization_id, id),
    constraint checkouts_variant_id_fkey
        foreign key (organization_id, variant_id) references product_variants (organization_id, id),
    constraint checkouts_term_id_fkey
        foreign key (organization_id, term_id) references lease_terms (organization_id, id),
    constraint checkouts_lifecycle_fkey
        foreign key (lifecycle, is_ended, expires, waits_for, may_hold_stock, is_leased)
        references lifecycle_states (name, is_ended, expires, waits_for, may_hold_stock, is_leased),
    constraint checkouts_previous_lifecycle_fkey foreign key (previous_lifecycle) references lifecycle_states (name),

    constraint checkouts_mode_check check (mode in ('live', 'sandbox')),
    constraint checkouts_insurance_status_check check (insurance_status in ('pending', 'approved', 'denied')),
    constraint checkouts_term_is_whole_check check (num_nulls(term_id, lease_term_id, term_in_months) in (0, 3)),
    constraint checkouts_term_in_range_check check (term_in_months between 1 and 120),
    constraint checkouts_waits_since_check check (waiting_since is not null or waits_for = 'none'),
    -- Stock is taken with the deposit and stays taken with the goods; who ended otherwise gave it back.
    constraint checkouts_may_hold_stock_check check (may_hold_stock or not holds_stock),
    constraint checkouts_lease_has_begun_check check (lease_start is not null or not is_leased),
    constraint checkouts_lease_has_a_beginning_check check (lease_end >= lease_start),
    constraint checkouts_attention_is_a_list_check check (jsonb_typeof(attention) = 'array'),
    constraint checkouts_version_counts_check check (version >= 0)
);

-- Who leases one already may order another: only what is no lease yet is had once. Two checkouts without a term are the
-- same.
create unique index checkouts_open_key
    on checkouts (organization_id, mode, customer_id, variant_id, coalesce(lease_term_id, 0))
    where not is_ended and not is_leased;
create unique index checkouts_external_order_id_key on checkouts (organization_id, mode, external_order_id)
    where external_order_id is not null;
-- The door for whoever knows a checkout's id alone: ids are made from time and chance, of any organization.
create index checkouts_id_idx on checkouts (id);

-- What lists are sorted by. Where a value may be missing its rows come last both ways, which takes
-- an index for each direction.
create index checkouts_created_at_idx on checkouts (organization_id, mode, created_at, id);
create index checkouts_updated_at_idx on checkouts (organization_id, mode, updated_at, id);
create index checkouts_lifecycle_idx on checkouts (organization_id, mode, lifecycle, id);
-- What lists show of a state, or of who waits, newest or oldest first: as many as are there may lie among others.
create index checkouts_of_a_state_idx on checkouts (organization_id, mode, lifecycle, created_at, id);
create index checkouts_that_wait_idx on checkouts (organization_id, mode, waits_for, created_at, id)
    where waits_for <> 'none';
create index checkouts_external_order_id_up_idx
    on checkouts (organization_id, mode, external_order_id asc nulls last, id asc);
create index checkouts_external_order_id_down_idx
    on checkouts (organization_id, mode, external_order_id desc nulls last, id desc);
create index checkouts_lease_start_up_idx
    on checkouts (organization_id, mode, lease_start asc nulls last, id asc);
create index checkouts_lease_start_down_idx
    on checkouts (organization_id, mode, lease_start desc nulls last, id desc);
-- Few of them, however long the list is.
create index checkouts_that_need_attention_idx on checkouts (organization_id, mode, created_at, id)
    where attention <> '[]';
create index checkouts_customer_id_idx on checkouts (organization_id, customer_id, mode, created_at, id);
-- For the foreign keys: products, variants and terms are deleted only where nothing refers to them.
create index checkouts_product_id_idx on checkouts (organization_id, product_id);
create index checkouts_variant_id_idx on checkouts (organization_id, variant_id);
create index checkouts_term_id_idx on checkouts (organization_id, term_id) where term_id is not null;

-- What the workers look for. Those with a deposit are served first: false sorts before true.
create index checkouts_waiting_for_stock_idx
    on checkouts (organization_id, variant_id, mode, (lifecycle <> 'waitlistedAfterDeposit'), waiting_since, id)
    where waits_for = 'inventory';
create index checkouts_waiting_for_location_idx on checkouts (organization_id, waiting_since, id)
    where waits_for = 'location';
create index checkouts_that_expire_idx on checkouts (organization_id, acted_at, id) where expires;
create index checkouts_whose_lease_ends_idx on checkouts (organization_id, lease_end, id) where lifecycle = 'leaseActive';
-- Whose they are is asked of all: few are due, however many are not.
create index checkouts_expiry_idx on checkouts (acted_at, organization_id) where expires;
create index checkouts_lease_end_idx on checkouts (lease_end, organization_id) where lifecycle = 'leaseActive';

call keep_apart('checkouts');
call open_door('message', 'checkouts');
call open_door('errands', 'checkouts');
call open_door('survey', 'checkouts');

-- The leased things, one for each unit: as many as the checkout's quantity.
create table checkout_items (
    organization_id bigint not null,
    id uuid not null,
    checkout_id uuid not null,
    position integer not null,
    variant_id uuid not null,
    sku text not null,
    name text not null,
    serial_number text,
    constraint checkout_items_pkey primary key (organization_id, id),
    constraint checkout_items_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id) on delete cascade,
    constraint checkout_items_variant_id_fkey
        foreign key (organization_id, variant_id) references product_variants (organization_id, id),
    constraint checkout_items_position_check check (position between 0 and 49)
);

create unique index checkout_items_serial_number_key on checkout_items (organization_id, checkout_id, serial_number)
    where serial_number is not null;

create index checkout_items_checkout_id_idx on checkout_items (organization_id, checkout_id, position);
create index checkout_items_variant_id_idx on checkout_items (organization_id, variant_id);

call keep_apart('checkout_items');
