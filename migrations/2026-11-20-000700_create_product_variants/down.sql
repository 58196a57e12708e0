drop table product_variants;
