drop table processor_accounts;
