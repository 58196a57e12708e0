drop trigger product_variants_search_update on product_variants;
drop trigger product_variants_search_insert_delete on product_variants;
drop function keep_variant_search_pieces();
drop table variant_search_pieces;
