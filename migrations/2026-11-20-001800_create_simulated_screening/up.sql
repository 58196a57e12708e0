-- What the simulated verifier of sandbox mode know.
create table simulated_identity_sessions (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    id text not null,
    checkout_id uuid not null,
    customer_id uuid not null,
    email text not null,
    created_at timestamptz not null,
    primary key (organization_id, id)
);

call keep_apart('simulated_identity_sessions');
