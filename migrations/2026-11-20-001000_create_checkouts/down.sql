drop table checkout_invoices;
drop table checkout_items;
drop table checkouts;
drop sequence checkout_tracking_turns;
