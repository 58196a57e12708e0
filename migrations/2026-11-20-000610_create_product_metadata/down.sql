drop trigger products_metadata_update on products;
drop trigger products_metadata_insert on products;
drop function keep_product_metadata();
drop table product_metadata;
