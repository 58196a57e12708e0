create table product_categories (
    organization_id bigint not null,
    id uuid not null,
    category_id bigint generated always as identity,
    name text not null,
    -- The name as it is compared, made by the domain.
    name_folded text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint product_categories_pkey primary key (organization_id, id),
    constraint product_categories_category_id_key unique (organization_id, category_id),
    constraint product_categories_organization_id_fkey foreign key (organization_id) references organizations (id)
);

create unique index product_categories_name_key on product_categories (organization_id, name_folded);
create index product_categories_created_at_idx on product_categories (organization_id, created_at, id);

call keep_apart('product_categories');
