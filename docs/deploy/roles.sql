-- Who owns the tables and who works on them (docs/OPERATIONS.md, "Roles"), for the first start of the PostgreSQL in
-- compose.yaml. Their passwords are in files, which psql reads here.
\set owner_password `cat /run/secrets/owner_password`
\set service_password `cat /run/secrets/service_password`

create role lessor_owner login password :'owner_password';
create role lessor_service login password :'service_password';
create database lessor owner lessor_owner;
revoke connect, temporary on database lessor from public;
grant connect on database lessor to lessor_service;
