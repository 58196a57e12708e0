drop table agreement_events;
drop table agreements;
