-- A customer and its user are one: `id` is the public id of both, `user_id` the number.
create table customers (
    organization_id bigint not null,
    id uuid not null,
    user_id bigint not null,
    email text not null,
    -- The address as it is compared. Made by the domain: lower() of the database folds by its locale.
    email_folded text not null,
    first_name text,
    last_name text,
    address1 text,
    address2 text,
    city text,
    state text,
    zip text,
    country text,
    phone text,
    -- What screening found, in each mode on its own: a simulated verifier opens no real lease.
    live_identity text not null,
    live_verification_session_id text,
    live_credit text not null,
    live_credit_at timestamptz,
    live_credit_ip_address text,
    live_processor_id text,
    sandbox_identity text not null,
    sandbox_verification_session_id text,
    sandbox_credit text not null,
    sandbox_credit_at timestamptz,
    sandbox_credit_ip_address text,
    sandbox_processor_id text,
    -- What callers keep beside the record: keys and texts of their own.
    metadata jsonb not null default '{}',
    created_at timestamptz not null,
    updated_at timestamptz not null,
    version bigint not null,
    constraint customers_pkey primary key (organization_id, id),
    constraint customers_user_id_key unique (organization_id, user_id),
    constraint customers_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint customers_user_id_fkey foreign key (user_id) references users (id),
    constraint customers_country_check check (country ~ '^[A-Z]{2}$'),
    constraint customers_live_identity_check
        check (live_identity in ('none', 'pending', 'processing', 'verified', 'failed')),
    constraint customers_live_credit_check check (live_credit in ('unknown', 'passed', 'failed')),
    constraint customers_sandbox_identity_check
        check (sandbox_identity in ('none', 'pending', 'processing', 'verified', 'failed')),
    constraint customers_sandbox_credit_check check (sandbox_credit in ('unknown', 'passed', 'failed')),
    constraint customers_metadata_check check (jsonb_typeof(metadata) = 'object')
);

create unique index customers_email_key on customers (organization_id, email_folded);
create unique index customers_live_verification_session_key on customers (organization_id, live_verification_session_id)
    where live_verification_session_id is not null;
create unique index customers_sandbox_verification_session_key
    on customers (organization_id, sandbox_verification_session_id) where sandbox_verification_session_id is not null;
-- The verifier's messages name a session, and no organization.
create index customers_live_verification_session_idx on customers (live_verification_session_id)
    where live_verification_session_id is not null;
create index customers_sandbox_verification_session_idx on customers (sandbox_verification_session_id)
    where sandbox_verification_session_id is not null;
-- An organization's customers, newest first.
create index customers_created_at_idx on customers (organization_id, created_at, id);

call keep_apart('customers');
call open_door('message', 'customers');
