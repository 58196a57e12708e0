drop table credit_policies;
