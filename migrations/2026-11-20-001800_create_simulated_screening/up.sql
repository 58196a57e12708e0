-- What the simulated verifier and signer of sandbox mode know.
create table simulated_identity_sessions (
    id text primary key,
    checkout_id uuid not null,
    customer_id uuid not null,
    email text not null,
    created_at timestamptz not null
);

create table simulated_documents (
    id text primary key,
    checkout_id uuid not null,
    quote jsonb not null,
    created_at timestamptz not null
);

create index simulated_documents_by_checkout_idx on simulated_documents (checkout_id, created_at);
