-- Where organizations are told of events.
create table webhook_endpoints (
    organization_id bigint not null,
    -- Made in the order of time.
    id uuid not null,
    mode text not null,
    -- One of sixteen places, so that there are no more, whoever makes some at the same time.
    slot smallint not null,
    url text not null,
    -- Names of types, of families of them (`checkout.*`), or `*`.
    types text[] not null,
    description text,
    status text not null,
    -- Why Lessor disabled it by itself.
    disabled_reason text,
    -- What messages are signed with. It opens under the server's key alone, which is not in the database.
    sealed_secret bytea not null,
    -- What they are signed with as well, and until when.
    sealed_old_secret bytea,
    old_secret_until timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    version bigint not null,
    constraint webhook_endpoints_pkey primary key (organization_id, id),
    constraint webhook_endpoints_slot_key unique (organization_id, mode, slot),
    constraint webhook_endpoints_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint webhook_endpoints_mode_check check (mode in ('live', 'sandbox')),
    constraint webhook_endpoints_slot_check check (slot between 1 and 16),
    constraint webhook_endpoints_types_check check (cardinality(types) between 1 and 100),
    constraint webhook_endpoints_status_check check (status in ('enabled', 'disabled')),
    constraint webhook_endpoints_disabled_reason_check
        check (disabled_reason is null or (status = 'disabled' and disabled_reason in ('gone', 'failing'))),
    -- A nonce, a tag, and something between.
    constraint webhook_endpoints_sealed_check check (
        octet_length(sealed_secret) > 28
        and (sealed_old_secret is null or octet_length(sealed_old_secret) > 28)),
    constraint webhook_endpoints_old_secret_check check ((sealed_old_secret is null) = (old_secret_until is null))
);

call keep_apart('webhook_endpoints');
-- Whose deliveries can be made.
call open_door('errands', 'webhook_endpoints');

-- How each of them answers. It is apart from what its organization says of it: whoever numbers events holds that as it is
-- and would wait for every attempt that failed.
create table webhook_endpoint_health (
    organization_id bigint not null,
    endpoint_id uuid not null,
    -- Attempts that failed since the last that was taken.
    failures integer not null default 0,
    failing_since timestamptz,
    last_failed_at timestamptz,
    -- Until when nothing is tried.
    resting_until timestamptz,
    constraint webhook_endpoint_health_pkey primary key (organization_id, endpoint_id),
    constraint webhook_endpoint_health_endpoint_id_fkey
        foreign key (organization_id, endpoint_id) references webhook_endpoints (organization_id, id),
    constraint webhook_endpoint_health_failures_check check (failures >= 0)
);

call keep_apart('webhook_endpoint_health');
call open_door('errands', 'webhook_endpoint_health');
