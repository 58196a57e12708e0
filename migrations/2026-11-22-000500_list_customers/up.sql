-- An organization's customers, newest first.
create index customers_created_at_idx on customers (organization_id, created_at, id);
