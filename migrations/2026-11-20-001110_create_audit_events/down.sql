drop table audit_events;
drop table customer_keys;
