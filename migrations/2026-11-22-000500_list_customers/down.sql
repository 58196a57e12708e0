drop index customers_created_at_idx;
