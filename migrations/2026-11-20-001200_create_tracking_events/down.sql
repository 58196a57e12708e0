drop table tracking_events;
