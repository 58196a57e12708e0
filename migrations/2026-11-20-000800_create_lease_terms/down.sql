drop table lease_terms;
