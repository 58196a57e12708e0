-- The pieces of products' texts, which they are found by: under row security no index of arrays answers. Kept by the
-- triggers alone: a foreign key would look the product up once for each of a hundred pieces.
create table product_search_pieces (
    organization_id bigint not null,
    piece integer not null,
    product_id uuid not null,
    constraint product_search_pieces_pkey primary key (organization_id, piece, product_id)
);

create index product_search_pieces_product_id_idx on product_search_pieces (organization_id, product_id);

call keep_apart('product_search_pieces');

create function keep_product_search_pieces() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        delete from product_search_pieces where (organization_id, product_id) = (old.organization_id, old.id);
    end if;
    if tg_op <> 'DELETE' then
        insert into product_search_pieces (organization_id, piece, product_id)
        select distinct new.organization_id, piece, new.id from unnest(new.search_grams) as piece;
    end if;
    return null;
end
$$;

create trigger products_search_insert_delete after insert or delete on products for each row
    execute function keep_product_search_pieces();
create trigger products_search_update after update on products for each row
    when (old.search_grams is distinct from new.search_grams) execute function keep_product_search_pieces();
