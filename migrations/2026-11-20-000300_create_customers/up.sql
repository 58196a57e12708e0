-- A customer and its user are one: `id` is the public id of both, `user_id` the number. A person is another customer in
-- each mode: a simulated verifier opens no real lease.
create table customers (
    organization_id bigint not null,
    id uuid not null,
    user_id bigint not null generated always as identity,
    mode text not null,
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
    -- When they were born, for verifiers, sealed under the server's key.
    sealed_birth_date bytea,
    -- What screening found.
    identity text not null,
    verification_session_id text,
    credit text not null,
    credit_at timestamptz,
    credit_ip_address text,
    processor_id text,
    -- What callers keep beside the record: keys and texts of their own.
    metadata jsonb not null default '{}',
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- When what told of the person was first taken away.
    erased_at timestamptz,
    version bigint not null,
    constraint customers_pkey primary key (organization_id, id),
    constraint customers_user_id_key unique (organization_id, user_id),
    -- For checkouts, which are of their customer's mode. Neither column of it ever changes.
    constraint customers_organization_id_id_mode_key unique (organization_id, id, mode),
    constraint customers_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint customers_mode_check check (mode in ('live', 'sandbox')),
    constraint customers_country_check check (country ~ '^[A-Z]{2}$'),
    constraint customers_identity_check
        check (identity in ('none', 'pending', 'processing', 'verified', 'failed')),
    constraint customers_credit_check check (credit in ('unknown', 'passed', 'failed')),
    constraint customers_metadata_check check (jsonb_typeof(metadata) = 'object')
);

create unique index customers_email_key on customers (organization_id, mode, email_folded);
create unique index customers_verification_session_key on customers (organization_id, mode, verification_session_id)
    where verification_session_id is not null;
-- The verifier's messages name a session, and no organization.
create index customers_verification_session_idx on customers (verification_session_id, mode)
    where verification_session_id is not null;
-- An organization's customers of a mode, newest first.
create index customers_created_at_idx on customers (organization_id, mode, created_at, id);

call keep_apart('customers');
call open_door('message', 'customers');
