-- The organizations' own terms: those of the greatest version are in agreements that are made now. Earlier ones stay, as
-- they stand in agreements that were signed.
create table agreement_terms (
    organization_id bigint not null,
    version integer not null,
    -- Markdown.
    text text not null,
    created_at timestamptz not null,
    constraint agreement_terms_pkey primary key (organization_id, version),
    constraint agreement_terms_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint agreement_terms_version_check check (version >= 1)
);

call keep_apart('agreement_terms');

create trigger agreement_terms_append_only
    before update or delete or truncate on agreement_terms
    for each statement execute function refuse_to_rewrite_history();
