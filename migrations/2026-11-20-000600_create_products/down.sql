drop table products;
