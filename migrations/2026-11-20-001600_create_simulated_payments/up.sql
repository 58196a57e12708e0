-- What the simulated payment processor of sandbox mode knows. Nothing here refers to a checkout's
-- row: a processor does not see our tables.
create table simulated_calls (
    operation text not null,
    idempotency_key text not null,
    request_hash bytea not null constraint simulated_calls_request_hash_check check (octet_length(request_hash) = 32),
    answer jsonb,
    created_at timestamptz not null,
    primary key (operation, idempotency_key)
);

-- How often something was asked for a checkout, for outcomes that differ the first time.
create table simulated_attempts (
    operation text not null,
    checkout_id uuid not null,
    attempts integer not null,
    primary key (operation, checkout_id)
);

create table simulated_products (
    id text primary key,
    name text not null,
    description text not null,
    active boolean not null,
    organization_id uuid not null,
    monthly_prices jsonb not null,
    updated_at timestamptz not null
);

create table simulated_customers (
    id text primary key,
    customer_id uuid not null unique,
    email text not null,
    name text,
    phone text,
    updated_at timestamptz not null
);

create table simulated_payment_methods (
    id text primary key,
    customer_id uuid not null,
    -- The number of the test card that it stands for.
    test_card text not null,
    details jsonb not null,
    created_at timestamptz not null,
    unique (customer_id, test_card)
);

create table simulated_payment_intents (
    id text primary key,
    checkout_id uuid not null,
    customer_id uuid not null,
    email text not null,
    amount_minor bigint not null check (amount_minor >= 0),
    currency text not null,
    payment_method_id text not null references simulated_payment_methods (id),
    status text not null check (status in ('requiresCapture', 'captured', 'voided')),
    expires_at timestamptz not null,
    invoice_id text unique,
    captured_at timestamptz,
    created_at timestamptz not null,
    check ((status = 'captured') = (captured_at is not null)),
    check ((captured_at is null) = (invoice_id is null))
);

create index simulated_payment_intents_by_checkout_idx on simulated_payment_intents (checkout_id, created_at);
create index simulated_payment_intents_payment_method_id_idx on simulated_payment_intents (payment_method_id);
create index simulated_payment_intents_held_idx on simulated_payment_intents (expires_at) where status = 'requiresCapture';

-- What was paid back: of a deposit by the id of its payment, of a month by that of its invoice's.
create table simulated_refunds (
    id text primary key,
    payment_intent_id text not null,
    amount_minor bigint not null check (amount_minor > 0),
    currency text not null,
    created_at timestamptz not null
);

create index simulated_refunds_by_payment_idx on simulated_refunds (payment_intent_id);
