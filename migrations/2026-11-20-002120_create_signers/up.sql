-- Where organizations have their agreements signed, for each mode in which they have said so.
create table signers (
    organization_id bigint not null,
    mode text not null,
    kind text not null,
    -- Where documents are sent, and what the request is signed with, sealed under the server's key.
    url text,
    sealed_secret bytea,
    updated_at timestamptz not null,
    constraint signers_pkey primary key (organization_id, mode),
    constraint signers_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint signers_mode_check check (mode in ('live', 'sandbox')),
    constraint signers_kind_check check (kind in ('builtin', 'http')),
    constraint signers_http_is_whole_check check (
        num_nonnulls(url, sealed_secret) = case when kind = 'http' then 2 else 0 end)
);

call keep_apart('signers');
