-- Organizations' own accounts at the payment processor, at most one of each mode. What is sealed opens under the
-- server's key alone, which is not in the database.
create table processor_accounts (
    organization_id bigint not null,
    mode text not null,
    sealed_key bytea not null,
    -- Several while one is being replaced.
    sealed_webhook_secrets bytea not null,
    -- The key's last characters, by which people know it.
    key_hint text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    version bigint not null,
    constraint processor_accounts_pkey primary key (organization_id, mode),
    constraint processor_accounts_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint processor_accounts_mode_check check (mode in ('live', 'sandbox')),
    -- A nonce, a tag, and something between.
    constraint processor_accounts_sealed_check
        check (octet_length(sealed_key) > 28 and octet_length(sealed_webhook_secrets) > 28),
    constraint processor_accounts_key_hint_check check (char_length(key_hint) <= 4)
);

call keep_apart('processor_accounts');
-- Whose accounts are to be walked.
call open_door('errands', 'processor_accounts');
