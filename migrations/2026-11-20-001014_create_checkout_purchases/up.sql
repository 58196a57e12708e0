-- The variants that were bought along, by what checkouts keep of them. They are not deleted from the catalog: who deletes
-- looks here, since under row security no index of jsonb answers.
create table checkout_purchases (
    organization_id bigint not null,
    -- The public id, as the application says it: what it stands for is the domain's to read.
    variant_id text collate "C" not null,
    checkout_id uuid not null,
    constraint checkout_purchases_pkey primary key (organization_id, variant_id, checkout_id),
    constraint checkout_purchases_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkout_applications (organization_id, checkout_id)
        on delete cascade
);

create index checkout_purchases_checkout_id_idx on checkout_purchases (organization_id, checkout_id);

call keep_apart('checkout_purchases');

create function keep_checkout_purchases() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        delete from checkout_purchases where (organization_id, checkout_id) = (old.organization_id, old.checkout_id);
    end if;
    insert into checkout_purchases (organization_id, variant_id, checkout_id)
    select distinct new.organization_id, bought #>> '{}', new.checkout_id
    from jsonb_path_query(new.purchase_items, '$[*].variantId') as bought;
    return null;
end
$$;

create trigger checkout_applications_purchases_insert after insert on checkout_applications for each row
    when (new.purchase_items <> '[]') execute function keep_checkout_purchases();
create trigger checkout_applications_purchases_update after update on checkout_applications for each row
    when (old.purchase_items is distinct from new.purchase_items) execute function keep_checkout_purchases();
