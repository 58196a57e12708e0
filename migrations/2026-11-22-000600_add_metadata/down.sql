alter table checkout_applications drop column metadata;
alter table customers drop column metadata;
alter table product_variants drop column metadata;
alter table products drop column metadata;
