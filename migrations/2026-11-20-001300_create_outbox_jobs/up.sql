-- Work for providers, written with the change that asks for it and carried out afterwards.
create table outbox_jobs (
    id uuid primary key,
    -- The order in which jobs are done for each subject. Whoever pushes jobs about a record holds
    -- the record's lock, so numbers and commits run the same way.
    sequence bigint generated always as identity,
    effect text not null constraint outbox_jobs_effect_check check (effect in (
        'pushProduct', 'pushVariant', 'pushCustomer', 'startIdentityVerification', 'fetchIdentityResult',
        'checkCredit', 'authorizeDeposit', 'renewDeposit', 'voidDeposit', 'prepareDocuments', 'captureDeposit',
        'refundDeposit', 'createSubscription', 'cancelSubscription')),
    subject_kind text not null constraint outbox_jobs_subject_kind_check
        check (subject_kind in ('checkout', 'product', 'variant', 'customer')),
    subject_id uuid not null,
    organization_id bigint not null references organizations (id),
    mode text not null constraint outbox_jobs_mode_check check (mode in ('live', 'sandbox')),
    created_at timestamptz not null,
    available_at timestamptz not null,
    state text not null default 'pending'
        constraint outbox_jobs_state_check check (state in ('pending', 'done', 'dead')),
    -- Counts the claims; a worker's claim is known by its number.
    attempts integer not null default 0 constraint outbox_jobs_attempts_check check (attempts >= 0),
    first_attempt_at timestamptz,
    claimed_until timestamptz,
    last_error text,
    done_at timestamptz,
    constraint outbox_jobs_done_has_a_time_check check ((state = 'done') = (done_at is not null)),
    constraint outbox_jobs_claims_are_pending_check check (claimed_until is null or state = 'pending')
);

create unique index outbox_jobs_sequence_key on outbox_jobs (sequence);
create index outbox_jobs_open_idx on outbox_jobs (subject_kind, subject_id, sequence)
    where state in ('pending', 'dead');
create index outbox_jobs_pending_idx on outbox_jobs (sequence) where state = 'pending';
create index outbox_jobs_dead_idx on outbox_jobs (sequence) where state = 'dead';
create index outbox_jobs_done_idx on outbox_jobs (done_at) where state = 'done';
