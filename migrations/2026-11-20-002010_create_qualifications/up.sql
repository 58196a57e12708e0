-- What was decided about customers' credit: a row for each decision, of which only its end is written later, and what
-- tells of a person taken away.
create table qualifications (
    organization_id bigint not null,
    id uuid not null,
    -- The order in which they were kept.
    sequence bigint generated always as identity,
    mode text not null,
    checkout_id uuid not null,
    customer_id uuid not null,
    decision text not null,
    source text not null,
    -- Whose key decided, where one did.
    key_id uuid,
    reasons text[] not null,
    reference text,
    -- What the lease comes to, where a term was chosen.
    amount bigint,
    currency text,
    -- The decision for another checkout that this one rests on.
    rests_on uuid,
    decided_at timestamptz not null,
    expires_at timestamptz,
    -- When the person that it was made of changed.
    ended_at timestamptz,
    constraint qualifications_pkey primary key (organization_id, id),
    constraint qualifications_checkout_id_fkey
        foreign key (organization_id, checkout_id, mode) references checkouts (organization_id, id, mode),
    constraint qualifications_customer_id_fkey
        foreign key (organization_id, customer_id, mode) references customers (organization_id, id, mode),
    constraint qualifications_rests_on_fkey
        foreign key (organization_id, rests_on) references qualifications (organization_id, id),
    constraint qualifications_decision_check check (decision in ('approved', 'declined')),
    constraint qualifications_source_check check (
        source in ('organization', 'http', 'rules', 'none', 'simulated')),
    constraint qualifications_reasons_check check (
        cardinality(reasons) <= 4 and (decision = 'declined' or cardinality(reasons) = 0)),
    constraint qualifications_amount_is_whole_check check (num_nonnulls(amount, currency) in (0, 2))
);

create index qualifications_checkout_id_idx on qualifications (organization_id, checkout_id, sequence);
-- What still counts of a customer's.
create index qualifications_customer_id_idx on qualifications (organization_id, customer_id, sequence)
    where ended_at is null;

call keep_apart('qualifications');
