drop table ended_checkout_links;
