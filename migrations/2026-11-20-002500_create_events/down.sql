drop table events;
drop table event_feeds;
