drop table events;
drop table unnumbered_events;
drop table event_feeds;
