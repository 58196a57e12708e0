-- What the simulated payment processor of sandbox mode knows. Nothing here refers to a checkout's
-- row: a processor does not see our tables. Whose a row is, is whom the call comes from: the
-- processor serves each organization on its own.
create table simulated_calls (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    operation text not null,
    idempotency_key text not null,
    request_hash bytea not null constraint simulated_calls_request_hash_check check (octet_length(request_hash) = 32),
    answer json,
    created_at timestamptz not null,
    primary key (organization_id, operation, idempotency_key)
);

call keep_apart('simulated_calls');

-- How often something was asked for a checkout, for outcomes that differ the first time.
create table simulated_attempts (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    operation text not null,
    checkout_id uuid not null,
    attempts integer not null,
    primary key (organization_id, operation, checkout_id)
);

call keep_apart('simulated_attempts');

create table simulated_products (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    id text not null,
    name text not null,
    description text not null,
    active boolean not null,
    -- The organization as it is told to a processor.
    lessor_id uuid not null,
    monthly_prices json not null,
    updated_at timestamptz not null,
    primary key (organization_id, id)
);

call keep_apart('simulated_products');

create table simulated_customers (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    id text not null,
    customer_id uuid not null,
    email text not null,
    name text,
    phone text,
    updated_at timestamptz not null,
    primary key (organization_id, id),
    unique (organization_id, customer_id)
);

call keep_apart('simulated_customers');

create table simulated_payment_methods (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    id text not null,
    customer_id uuid not null,
    -- The number of the test card that it stands for.
    test_card text not null,
    details json not null,
    created_at timestamptz not null,
    primary key (organization_id, id),
    unique (organization_id, customer_id, test_card)
);

call keep_apart('simulated_payment_methods');

create table simulated_payment_intents (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    id text not null,
    checkout_id uuid not null,
    customer_id uuid not null,
    email text not null,
    amount_minor bigint not null check (amount_minor >= 0),
    currency text not null,
    payment_method_id text not null,
    status text not null check (status in ('requiresCapture', 'captured', 'voided')),
    expires_at timestamptz not null,
    invoice_id text,
    captured_at timestamptz,
    created_at timestamptz not null,
    primary key (organization_id, id),
    unique (organization_id, invoice_id),
    foreign key (organization_id, payment_method_id) references simulated_payment_methods (organization_id, id),
    check ((status = 'captured') = (captured_at is not null)),
    check ((captured_at is null) = (invoice_id is null))
);

-- Not by the organization first: the door in its policy keeps a query that does not name it from such an index.
create index simulated_payment_intents_id_idx on simulated_payment_intents (id);
create index simulated_payment_intents_by_checkout_idx on simulated_payment_intents (checkout_id, created_at);
create index simulated_payment_intents_payment_method_id_idx
    on simulated_payment_intents (organization_id, payment_method_id);
create index simulated_payment_intents_held_idx on simulated_payment_intents (expires_at) where status = 'requiresCapture';

call keep_apart('simulated_payment_intents');
call open_door('errands', 'simulated_payment_intents');

-- What was paid back: of a deposit by the id of its payment, of a month by that of its invoice's.
create table simulated_refunds (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    id text not null,
    payment_intent_id text not null,
    amount_minor bigint not null check (amount_minor > 0),
    currency text not null,
    created_at timestamptz not null,
    primary key (organization_id, id)
);

create index simulated_refunds_by_payment_idx on simulated_refunds (organization_id, payment_intent_id);

call keep_apart('simulated_refunds');
