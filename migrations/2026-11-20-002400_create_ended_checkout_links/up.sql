-- Addresses that checkouts' pages had: who comes with one is told that there is a newer. Of the tokens there is what was
-- kept while they opened the page.
create table ended_checkout_links (
    organization_id bigint not null,
    page_nonce bytea not null,
    checkout_id uuid not null,
    page_token_hashes bytea[] not null default '{}',
    ended_at timestamptz not null,
    constraint ended_checkout_links_pkey primary key (organization_id, page_nonce),
    constraint ended_checkout_links_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id) on delete cascade,
    constraint ended_checkout_links_page_nonce_check check (octet_length(page_nonce) = 16)
);

-- As the page that a token opens, one that it opened is asked for without its organization.
create index ended_checkout_links_page_nonce_idx on ended_checkout_links (page_nonce);
create index ended_checkout_links_checkout_id_idx on ended_checkout_links (organization_id, checkout_id);

call keep_apart('ended_checkout_links');
call open_door('page', 'ended_checkout_links');
