-- Looked up before it is known whose a request is. The user's id is kept with the key: what else is known of the user
-- is its organization's.
create table api_keys (
    id uuid not null,
    organization_id bigint not null,
    user_id bigint not null,
    user_pub_id uuid not null,
    kind text not null,
    mode text not null,
    permissions text[] not null,
    name text,
    -- SHA-256 of the secret, which is kept nowhere.
    hash bytea not null,
    hint text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    constraint api_keys_pkey primary key (id),
    constraint api_keys_hash_key unique (hash),
    -- For what belongs to the key's organization.
    constraint api_keys_organization_id_id_key unique (organization_id, id),
    constraint api_keys_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint api_keys_kind_check check (kind in ('secret', 'publishable')),
    -- What everybody may read may do nothing.
    constraint api_keys_publishable_check check (kind <> 'publishable' or permissions = '{}'),
    constraint api_keys_mode_check check (mode in ('live', 'sandbox')),
    constraint api_keys_hash_check check (octet_length(hash) = 32)
);

create index api_keys_organization_id_created_at_idx on api_keys (organization_id, created_at, id);
