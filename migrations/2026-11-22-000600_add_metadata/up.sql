-- What callers keep beside records: keys and texts of their own. Most records have none, and cost their index nothing. A
-- checkout's stand in the part that is seldom written. Variants are listed within one product, and need no index.
alter table products add column metadata jsonb not null default '{}',
    add constraint products_metadata_check check (jsonb_typeof(metadata) = 'object');
alter table product_variants add column metadata jsonb not null default '{}',
    add constraint product_variants_metadata_check check (jsonb_typeof(metadata) = 'object');
alter table customers add column metadata jsonb not null default '{}',
    add constraint customers_metadata_check check (jsonb_typeof(metadata) = 'object');
alter table checkout_applications add column metadata jsonb not null default '{}',
    add constraint checkout_applications_metadata_check check (jsonb_typeof(metadata) = 'object');

create index products_metadata_idx on products using gin (metadata jsonb_path_ops) where metadata <> '{}';
create index customers_metadata_idx on customers using gin (metadata jsonb_path_ops) where metadata <> '{}';
create index checkout_applications_metadata_idx
    on checkout_applications using gin (metadata jsonb_path_ops) where metadata <> '{}';
