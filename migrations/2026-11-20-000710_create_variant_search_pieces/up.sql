-- The pieces of variants' texts, as those of products are kept.
create table variant_search_pieces (
    organization_id bigint not null,
    piece integer not null,
    variant_id uuid not null,
    constraint variant_search_pieces_pkey primary key (organization_id, piece, variant_id)
);

create index variant_search_pieces_variant_id_idx on variant_search_pieces (organization_id, variant_id);

call keep_apart('variant_search_pieces');

create function keep_variant_search_pieces() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        delete from variant_search_pieces where (organization_id, variant_id) = (old.organization_id, old.id);
    end if;
    if tg_op <> 'DELETE' then
        insert into variant_search_pieces (organization_id, piece, variant_id)
        select distinct new.organization_id, piece, new.id from unnest(new.search_grams) as piece;
    end if;
    return null;
end
$$;

create trigger product_variants_search_insert_delete after insert or delete on product_variants for each row
    execute function keep_variant_search_pieces();
create trigger product_variants_search_update after update on product_variants for each row
    when (old.search_grams is distinct from new.search_grams) execute function keep_variant_search_pieces();
