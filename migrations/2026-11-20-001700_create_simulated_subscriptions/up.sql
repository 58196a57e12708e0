-- Recurring payments of the simulated processor: one subscription for a checkout, one invoice for
-- each of its cycles.
create table simulated_subscriptions (
    id text primary key,
    checkout_id uuid not null unique,
    email text not null,
    payment_method_id text not null references simulated_payment_methods (id),
    amount_minor bigint not null check (amount_minor >= 0),
    currency text not null,
    cycles integer not null check (cycles between 1 and 120),
    -- The first day; every later cycle is counted from it.
    anchor date not null,
    billed_cycles integer not null check (billed_cycles between 1 and cycles),
    -- The day of the cycle after those that are billed; after the last, the day it ends.
    next_on date not null,
    status text not null check (status in ('active', 'cancelled', 'completed')),
    created_at timestamptz not null,
    ended_at timestamptz,
    check ((status = 'active') = (ended_at is null))
);

create index simulated_subscriptions_due_idx on simulated_subscriptions (next_on, id) where status = 'active';
create index simulated_subscriptions_payment_method_id_idx on simulated_subscriptions (payment_method_id);

create table simulated_invoices (
    id text primary key,
    subscription_id text not null references simulated_subscriptions (id),
    cycle integer not null check (cycle >= 1),
    due_on date not null,
    paid boolean not null,
    failure_code text,
    failure_message text,
    billed_at timestamptz not null,
    -- When Lessor was told.
    told_at timestamptz,
    unique (subscription_id, cycle),
    check (paid = (failure_code is null) and paid = (failure_message is null))
);

create index simulated_invoices_untold_idx on simulated_invoices (due_on, id) where told_at is null;
