drop table product_categories;
