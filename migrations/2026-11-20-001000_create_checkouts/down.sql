drop table checkout_items;
drop table checkouts;
