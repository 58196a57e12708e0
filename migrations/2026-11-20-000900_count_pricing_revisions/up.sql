-- Counts the changes of whatever an organization's prices are made of. A cache of prices that is kept under the
-- revision read before them is emptied everywhere by the commit of a change, whoever made it.
create table pricing_revisions (
    organization_id bigint not null,
    revision bigint not null,
    constraint pricing_revisions_pkey primary key (organization_id),
    constraint pricing_revisions_organization_id_fkey
        foreign key (organization_id) references organizations (id) on delete cascade
);

call keep_apart('pricing_revisions');

-- An organization's own discount is counted by whoever writes it: on a cluster each node has a copy of the organizations,
-- and would count for itself. In the name of the organization itself: whoever changes something may go on in another's before the commit, and an
-- organization is changed by who reaches no organization's rows as well.
create function bump_pricing_revision_of(owner bigint) returns void language plpgsql as $$
declare
    working_for constant text := coalesce(current_setting('lessor.organization', true), '');
begin
    perform set_config('lessor.organization', owner::text, true);
    insert into pricing_revisions as known (organization_id, revision) values (owner, 1)
    on conflict (organization_id) do update set revision = known.revision + 1;
    -- Whoever has prices in memory hears of it with the commit. Of a transaction it is said once, however much it changes. Not
    -- on a cluster: what says something cannot be committed in two phases, and other nodes say it than the one that is listened to.
    if not exists (select from pg_extension where extname = 'citus') then
        perform pg_notify('lessor_prices', owner::text);
    end if;
    perform set_config('lessor.organization', working_for, true);
end
$$;

create function bump_pricing_revision() returns trigger language plpgsql as $$
begin
    perform bump_pricing_revision_of(case when tg_op = 'DELETE' then old.organization_id else new.organization_id end);
    return null;
end
$$;

-- Deferred to the commit: the row of an organization's revision is then locked for a moment only, and last, so that
-- two transactions that change several prices in different orders do not block each other.
-- Who may be shown a price counts as well.
create constraint trigger products_pricing_update
    after update on products deferrable initially deferred for each row
    when ((old.discount, old.status, old.review_status) is distinct from (new.discount, new.status, new.review_status))
    execute function bump_pricing_revision();

-- Identifiers count too: they decide which variant's prices a look-up finds. Stock does not.
create constraint trigger product_variants_pricing_update
    after update on product_variants deferrable initially deferred for each row
    when (
        (old.price, old.currency, old.discount, old.options::text, old.status, old.sku, old.external_id)
        is distinct from
        (new.price, new.currency, new.discount, new.options::text, new.status, new.sku, new.external_id)
    )
    execute function bump_pricing_revision();

create constraint trigger product_variants_pricing_insert_delete
    after insert or delete on product_variants deferrable initially deferred for each row
    execute function bump_pricing_revision();

create constraint trigger lease_terms_pricing
    after insert or update or delete on lease_terms deferrable initially deferred for each row
    execute function bump_pricing_revision();
