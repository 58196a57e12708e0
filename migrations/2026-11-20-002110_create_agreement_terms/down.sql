drop table agreement_terms;
