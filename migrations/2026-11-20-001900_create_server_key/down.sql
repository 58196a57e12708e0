drop table server_key;
