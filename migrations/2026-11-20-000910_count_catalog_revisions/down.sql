drop trigger product_variants_catalog_insert_delete on product_variants;
drop trigger product_variants_catalog_update on product_variants;
drop trigger products_catalog on products;
drop function bump_catalog_revision();
drop table catalog_revisions;
