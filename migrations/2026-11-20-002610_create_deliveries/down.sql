drop table deliveries;
