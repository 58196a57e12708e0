-- Who leases one already may order another: only what is no lease yet is had once.
drop index checkouts_open_key;
create unique index checkouts_open_key
    on checkouts (organization_id, mode, customer_id, variant_id, coalesce(lease_term_id, 0))
    where not is_ended and not is_leased;
