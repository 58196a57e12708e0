alter table product_variants drop column search_grams, drop column search_text;
alter table products drop column search_grams, drop column search_text;
