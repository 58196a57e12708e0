-- When each key was last used, to the minute. Apart from the keys: those are read with every request and seldom written,
-- and on a cluster each node has a copy of them.
create table api_key_uses (
    organization_id bigint not null,
    key_id uuid not null,
    at timestamptz not null,
    constraint api_key_uses_pkey primary key (organization_id, key_id),
    constraint api_key_uses_key_id_fkey
        foreign key (organization_id, key_id) references api_keys (organization_id, id)
);

call keep_apart('api_key_uses');
call open_door('survey', 'api_key_uses');
