-- The entries of checkouts' metadata, which they are found by: under row security no index of jsonb answers.
create table checkout_metadata (
    organization_id bigint not null,
    checkout_id uuid not null,
    key text collate "C" not null,
    value text collate "C" not null,
    constraint checkout_metadata_pkey primary key (organization_id, checkout_id, key),
    constraint checkout_metadata_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkout_applications (organization_id, checkout_id)
        on delete cascade
);

create index checkout_metadata_entries_idx on checkout_metadata (organization_id, key, value, checkout_id);

call keep_apart('checkout_metadata');

create function keep_checkout_metadata() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        delete from checkout_metadata where (organization_id, checkout_id) = (old.organization_id, old.checkout_id);
    end if;
    insert into checkout_metadata (organization_id, checkout_id, key, value)
    select new.organization_id, new.checkout_id, entry.key, entry.value from jsonb_each_text(new.metadata) as entry;
    return null;
end
$$;

create trigger checkout_applications_metadata_insert after insert on checkout_applications for each row
    when (new.metadata <> '{}') execute function keep_checkout_metadata();
create trigger checkout_applications_metadata_update after update on checkout_applications for each row
    when (old.metadata is distinct from new.metadata) execute function keep_checkout_metadata();
