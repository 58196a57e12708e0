drop table ledger_entries;
