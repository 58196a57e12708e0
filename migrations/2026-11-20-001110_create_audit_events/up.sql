-- What personal data in the audit are sealed with: a key for each customer, made with the first event that tells of them
-- and deleted when they are erased. Without it nobody reads what was sealed.
create table customer_keys (
    organization_id bigint not null,
    customer_id uuid not null,
    -- Of AES-256-GCM.
    key bytea not null,
    created_at timestamptz not null,
    constraint customer_keys_pkey primary key (organization_id, customer_id),
    constraint customer_keys_customer_id_fkey
        foreign key (organization_id, customer_id) references customers (organization_id, id),
    constraint customer_keys_key_check check (octet_length(key) = 32)
);

call keep_apart('customer_keys');

-- Who did what, from where, and what of it changed. Nothing of it is ever changed or taken back.
create table audit_events (
    organization_id bigint not null,
    -- Made in the order of time, which lists go by.
    id uuid not null,
    at timestamptz not null,
    area text not null,
    actor_kind text not null,
    actor_id text not null,
    -- As it was then.
    actor_name text,
    request_id text,
    address text,
    -- A name that the binary knows which wrote it; what reads it says when it does not.
    action text not null,
    subject text not null,
    -- Whose personal data the change is, and the address where the customer did it: both are sealed.
    customer_id uuid,
    -- Members of the subject by their names: of each what differs.
    before json,
    after json,
    -- {before, after, address} behind a nonce, bound to the id. None where nothing is personal, and where the customer was
    -- erased before.
    sealed bytea,
    constraint audit_events_pkey primary key (organization_id, id),
    constraint audit_events_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint audit_events_customer_id_fkey
        foreign key (organization_id, customer_id) references customers (organization_id, id),
    constraint audit_events_area_check check (area in ('live', 'sandbox', 'catalog', 'organization')),
    constraint audit_events_actor_kind_check check (actor_kind in ('key', 'cli', 'customer', 'provider', 'system')),
    constraint audit_events_change_is_there_check check (
        customer_id is not null
        or num_nulls(before, after) = 0 and json_typeof(before) = 'object' and json_typeof(after) = 'object'
        and sealed is null),
    -- Nothing of a person lies open.
    constraint audit_events_person_is_sealed_check check (
        customer_id is null
        or num_nonnulls(before, after) = 0 and (actor_kind <> 'customer' or address is null))
);

create index audit_events_subject_idx on audit_events (organization_id, subject, id);
create index audit_events_actor_id_idx on audit_events (organization_id, actor_id, id);
-- What sandbox keys see: however much is done live, their lists are read without it.
create index audit_events_of_sandbox_idx on audit_events (organization_id, id)
    where area in ('sandbox', 'catalog') and actor_kind in ('key', 'customer', 'provider', 'system');

call keep_apart('audit_events');

create trigger audit_events_append_only
    before update or delete or truncate on audit_events
    for each statement execute function refuse_to_rewrite_history();
