drop table api_key_uses;
