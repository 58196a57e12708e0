drop trigger customers_metadata_update on customers;
drop trigger customers_metadata_insert on customers;
drop function keep_customer_metadata();
drop table customer_metadata;
