create table products (
    organization_id bigint not null,
    id uuid not null,
    name text collate "C" not null,
    description text not null,
    -- [{id, name, position, values}]
    options json not null,
    price bigint not null,
    currency text not null,
    discount numeric(7, 4),
    source text not null,
    product_type text not null,
    review_status text not null,
    review_notes text,
    reviewed_at timestamptz,
    reviewed_by bigint,
    status text not null,
    is_waitlisted boolean not null,
    ignore_upstream_updates boolean not null,
    external_id text,
    sku text,
    main_image text,
    category_id bigint,
    -- What callers keep beside the record: keys and texts of their own.
    metadata jsonb not null default '{}',
    -- What the product is found by, folded by the domain: lower() of the database folds by its locale.
    search_text text not null default '',
    -- Every piece of one to four characters of the text, as a number: a text that holds a term holds the term's pieces. Each
    -- character is ten bits of it, of four characters seven below a set bit 30, so that texts of other scripts may share
    -- some: who is found is compared.
    search_grams integer[] not null default '{}',
    created_at timestamptz not null,
    updated_at timestamptz not null,
    version bigint not null,
    constraint products_pkey primary key (organization_id, id),
    constraint products_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint products_category_id_fkey
        foreign key (organization_id, category_id) references product_categories (organization_id, category_id),
    constraint products_reviewed_by_fkey
        foreign key (organization_id, reviewed_by) references customers (organization_id, user_id),
    constraint products_options_check check (json_typeof(options) = 'array'),
    constraint products_price_check check (price >= 0),
    constraint products_currency_check check (currency ~ '^[A-Z]{3}$'),
    constraint products_discount_check check (discount between 0 and 100),
    constraint products_source_check check (source in ('manual', 'shopify', 'woocommerce', 'bigcommerce')),
    constraint products_product_type_check check (product_type in ('leasable', 'add-on')),
    constraint products_review_status_check
        check (review_status in ('pending', 'approved', 'rejected', 'changesRequested')),
    constraint products_status_check check (status in ('active', 'inactive', 'archived')),
    constraint products_metadata_check check (jsonb_typeof(metadata) = 'object')
);

-- What is archived gives its external id back.
create unique index products_external_id_key on products (organization_id, external_id) where status <> 'archived';
-- With the status, which lists ask of every row: what they count is in the index alone.
create index products_created_at_idx on products (organization_id, created_at, id) include (status);
create index products_updated_at_idx on products (organization_id, updated_at, id) include (status);
create index products_name_idx on products (organization_id, name, id);
-- What lists show of some, newest or oldest first.
create index products_status_idx on products (organization_id, status, created_at, id);
create index products_product_type_idx on products (organization_id, product_type, created_at, id)
    include (status);
create index products_is_waitlisted_idx on products (organization_id, is_waitlisted, created_at, id)
    include (status);
create index products_external_id_idx on products (organization_id, external_id) where external_id is not null;
create index products_sku_idx on products (organization_id, sku) where sku is not null;
create index products_category_id_idx on products (organization_id, category_id, created_at, id)
    include (status) where category_id is not null;

call keep_apart('products');
