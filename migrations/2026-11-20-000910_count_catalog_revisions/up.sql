-- Counts the changes of an organization's products, and of the variants that they are found by. How many products a list has is
-- true until this has moved on. It is read with the list, so that nobody is told of it.
create table catalog_revisions (
    organization_id bigint not null,
    revision bigint not null,
    constraint catalog_revisions_pkey primary key (organization_id),
    constraint catalog_revisions_organization_id_fkey
        foreign key (organization_id) references organizations (id) on delete cascade
);

call keep_apart('catalog_revisions');

-- In the name of the organization itself, as the revisions of prices. Of a transaction that changes many rows it is counted once:
-- triggers wait for the commit, behind every savepoint.
create function bump_catalog_revision() returns trigger language plpgsql as $$
declare
    owner constant bigint := case when tg_op = 'DELETE' then old.organization_id else new.organization_id end;
    working_for constant text := coalesce(current_setting('lessor.organization', true), '');
begin
    if current_setting('lessor.counted', true) = owner::text then
        return null;
    end if;
    perform set_config('lessor.counted', owner::text, true), set_config('lessor.organization', owner::text, true);
    insert into catalog_revisions as known (organization_id, revision) values (owner, 1)
    on conflict (organization_id) do update set revision = known.revision + 1;
    perform set_config('lessor.organization', working_for, true);
    return null;
end
$$;

-- Deferred to the commit: the row of an organization's revision is then locked for a moment only, and last.
create constraint trigger products_catalog
    after insert or update or delete on products deferrable initially deferred for each row
    execute function bump_catalog_revision();

-- Stock does not count, nor what a price is made of.
create constraint trigger product_variants_catalog_update
    after update on product_variants deferrable initially deferred for each row
    when ((old.sku, old.status) is distinct from (new.sku, new.status))
    execute function bump_catalog_revision();

create constraint trigger product_variants_catalog_insert_delete
    after insert or delete on product_variants deferrable initially deferred for each row
    execute function bump_catalog_revision();
