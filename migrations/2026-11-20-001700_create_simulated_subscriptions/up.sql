-- Recurring payments of the simulated processor: one subscription at a time for a checkout, one
-- invoice for each of its cycles.
create table simulated_subscriptions (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    id text not null,
    checkout_id uuid not null,
    email text not null,
    payment_method_id text not null,
    amount_minor bigint not null check (amount_minor >= 0),
    currency text not null,
    -- The first day; every later cycle is counted from it.
    anchor date not null,
    billed_cycles integer not null check (billed_cycles >= 1),
    -- The day of the cycle after those that are billed.
    next_on date not null,
    -- When it ends by itself: no cycle that begins then or later is billed.
    ends_at timestamptz not null,
    status text not null
        check (status in ('incomplete', 'active', 'pastDue', 'cancelled', 'completed', 'expired')),
    created_at timestamptz not null,
    ended_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, payment_method_id) references simulated_payment_methods (organization_id, id),
    check ((status in ('incomplete', 'active', 'pastDue')) = (ended_at is null))
);

create unique index simulated_subscriptions_running_idx on simulated_subscriptions (organization_id, checkout_id)
    where ended_at is null;
-- Not by the organization first: the door in its policy keeps a query that does not name it from such an index.
create index simulated_subscriptions_id_idx on simulated_subscriptions (id);
create index simulated_subscriptions_by_checkout_idx on simulated_subscriptions (checkout_id, created_at);
create index simulated_subscriptions_due_idx on simulated_subscriptions (next_on, id) where ended_at is null;
create index simulated_subscriptions_payment_method_id_idx
    on simulated_subscriptions (organization_id, payment_method_id);

call keep_apart('simulated_subscriptions');
call open_door('errands', 'simulated_subscriptions');

create table simulated_invoices (
    organization_id bigint not null default nullif(current_setting('lessor.organization', true), '')::bigint
        references organizations (id),
    id text not null,
    subscription_id text not null,
    cycle integer not null check (cycle >= 1),
    due_on date not null,
    payment_intent_id text not null,
    status text not null check (status in ('open', 'paid', 'void')),
    -- How often it was tried to be collected.
    attempts integer not null check (attempts >= 1),
    failure_code text,
    failure_message text,
    -- Since when it is as it is.
    since timestamptz not null,
    -- When Lessor was told.
    told_at timestamptz,
    primary key (organization_id, id),
    unique (organization_id, subscription_id, cycle),
    unique (organization_id, payment_intent_id),
    foreign key (organization_id, subscription_id) references simulated_subscriptions (organization_id, id),
    check ((failure_code is null) = (failure_message is null)),
    check (status <> 'open' or failure_code is not null)
);

-- Not by the organization first, as above.
create index simulated_invoices_id_idx on simulated_invoices (id);
create index simulated_invoices_by_subscription_idx on simulated_invoices (subscription_id, cycle);
create index simulated_invoices_by_payment_idx on simulated_invoices (payment_intent_id);
create index simulated_invoices_untold_idx on simulated_invoices (due_on, id) where told_at is null;

call keep_apart('simulated_invoices');
call open_door('errands', 'simulated_invoices');
