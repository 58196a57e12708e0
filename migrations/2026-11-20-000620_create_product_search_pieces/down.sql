drop trigger products_search_update on products;
drop trigger products_search_insert_delete on products;
drop function keep_product_search_pieces();
drop table product_search_pieces;
