drop table server_secrets;
