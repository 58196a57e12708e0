drop table webhook_endpoint_health;
drop table webhook_endpoints;
