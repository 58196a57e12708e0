drop trigger lease_terms_pricing on lease_terms;
drop trigger product_variants_pricing_insert_delete on product_variants;
drop trigger product_variants_pricing_update on product_variants;
drop trigger products_pricing_update on products;
drop function bump_pricing_revision();
drop function bump_pricing_revision_of(bigint);
drop table pricing_revisions;
