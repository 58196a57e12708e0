drop table pickup_locations;
