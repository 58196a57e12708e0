-- The entries of products' metadata, which they are found by: under row security no index of jsonb answers. Variants are
-- listed within one product, and need none.
create table product_metadata (
    organization_id bigint not null,
    product_id uuid not null,
    key text collate "C" not null,
    value text collate "C" not null,
    constraint product_metadata_pkey primary key (organization_id, product_id, key),
    constraint product_metadata_product_id_fkey
        foreign key (organization_id, product_id) references products (organization_id, id) on delete cascade
);

create index product_metadata_entries_idx on product_metadata (organization_id, key, value, product_id);

call keep_apart('product_metadata');

create function keep_product_metadata() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        delete from product_metadata where (organization_id, product_id) = (old.organization_id, old.id);
    end if;
    insert into product_metadata (organization_id, product_id, key, value)
    select new.organization_id, new.id, entry.key, entry.value from jsonb_each_text(new.metadata) as entry;
    return null;
end
$$;

create trigger products_metadata_insert after insert on products for each row
    when (new.metadata <> '{}') execute function keep_product_metadata();
create trigger products_metadata_update after update on products for each row
    when (old.metadata is distinct from new.metadata) execute function keep_product_metadata();
