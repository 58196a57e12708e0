-- The entries of customers' metadata, which they are found by: under row security no index of jsonb answers.
create table customer_metadata (
    organization_id bigint not null,
    customer_id uuid not null,
    key text collate "C" not null,
    value text collate "C" not null,
    constraint customer_metadata_pkey primary key (organization_id, customer_id, key),
    constraint customer_metadata_customer_id_fkey
        foreign key (organization_id, customer_id) references customers (organization_id, id) on delete cascade
);

create index customer_metadata_entries_idx on customer_metadata (organization_id, key, value, customer_id);

call keep_apart('customer_metadata');

create function keep_customer_metadata() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        delete from customer_metadata where (organization_id, customer_id) = (old.organization_id, old.id);
    end if;
    insert into customer_metadata (organization_id, customer_id, key, value)
    select new.organization_id, new.id, entry.key, entry.value from jsonb_each_text(new.metadata) as entry;
    return null;
end
$$;

create trigger customers_metadata_insert after insert on customers for each row
    when (new.metadata <> '{}') execute function keep_customer_metadata();
create trigger customers_metadata_update after update on customers for each row
    when (old.metadata is distinct from new.metadata) execute function keep_customer_metadata();
