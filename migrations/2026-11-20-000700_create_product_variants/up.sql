create table product_variants (
    organization_id bigint not null,
    id uuid not null,
    product_id uuid not null,
    name text not null,
    description text not null,
    -- [{name, value}]
    options json not null,
    -- SHA-256 of the selections in one order and case: what no two live variants of a product share. A hash, since ten
    -- selections may be longer than an index entry can be.
    combination bytea not null,
    price bigint not null,
    currency text not null,
    discount numeric(7, 4),
    images text[] not null,
    sku text not null,
    external_id text,
    status text not null,
    is_waitlisted boolean not null,
    -- What is free to promise, in each mode on its own: a test takes nothing that somebody pays for. Null when stock is
    -- not tracked.
    live_inventory integer,
    sandbox_inventory integer,
    product_year integer,
    -- What callers keep beside the record: keys and texts of their own.
    metadata jsonb not null default '{}',
    -- What its product is found by on its account, as of products.
    search_text text not null default '',
    search_grams integer[] not null default '{}',
    created_at timestamptz not null,
    updated_at timestamptz not null,
    version bigint not null,
    constraint product_variants_pkey primary key (organization_id, id),
    constraint product_variants_product_id_fkey
        foreign key (organization_id, product_id) references products (organization_id, id) on delete cascade,
    constraint product_variants_options_check check (json_typeof(options) = 'array'),
    constraint product_variants_combination_check check (octet_length(combination) = 32),
    constraint product_variants_price_check check (price >= 0),
    constraint product_variants_currency_check check (currency ~ '^[A-Z]{3}$'),
    constraint product_variants_discount_check check (discount between 0 and 100),
    constraint product_variants_status_check check (status in ('active', 'inactive', 'archived')),
    constraint product_variants_live_inventory_check check (live_inventory >= 0),
    constraint product_variants_sandbox_inventory_check check (sandbox_inventory >= 0),
    constraint product_variants_metadata_check check (jsonb_typeof(metadata) = 'object')
);

-- What is archived gives its sku, external id and combination back.
create unique index product_variants_sku_key on product_variants (organization_id, sku) where status <> 'archived';
create unique index product_variants_external_id_key on product_variants (organization_id, external_id)
    where status <> 'archived';
-- Two indexes, since Postgres 14 takes nulls of a unique index for different.
create unique index product_variants_combination_key on product_variants (organization_id, product_id, combination)
    where status <> 'archived' and product_year is null;
create unique index product_variants_combination_year_key
    on product_variants (organization_id, product_id, combination, product_year)
    where status <> 'archived' and product_year is not null;
create index product_variants_created_at_idx on product_variants (organization_id, product_id, created_at, id);
create index product_variants_archived_sku_idx on product_variants (organization_id, sku, updated_at)
    where status = 'archived';

call keep_apart('product_variants');
