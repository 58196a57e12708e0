drop table unclaimed_tracking_events;
