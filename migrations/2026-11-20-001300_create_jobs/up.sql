-- Work for providers, written with the change that asks for it and carried out afterwards.
create table jobs (
    organization_id bigint not null references organizations (id),
    id uuid not null,
    -- The order in which jobs are done for each subject. Whoever pushes jobs about a record holds
    -- the record's lock, so numbers and commits run the same way.
    sequence bigint generated always as identity,
    effect text not null constraint jobs_effect_check check (effect in (
        'pushProduct', 'pushVariant', 'pushCustomer', 'startIdentityVerification', 'fetchIdentityResult',
        'checkCredit', 'authorizeDeposit', 'renewDeposit', 'checkDeposit', 'checkSessions', 'voidDeposit',
        'prepareDocuments', 'requestSignature', 'captureDeposit', 'refundDeposit', 'createSubscription',
        'checkSubscription', 'payInvoices', 'cancelSubscription', 'refundPayments', 'promoteWaiting')),
    subject_kind text not null constraint jobs_subject_kind_check
        check (subject_kind in ('checkout', 'product', 'variant', 'customer', 'waitlist')),
    subject_id uuid not null,
    mode text not null constraint jobs_mode_check check (mode in ('live', 'sandbox')),
    created_at timestamptz not null,
    available_at timestamptz not null,
    -- What is held waits until somebody asks for it, however late it is.
    state text not null constraint jobs_state_check
        check (state in ('pending', 'held', 'done', 'dead', 'skipped')),
    -- How many of those that wait may go on, where the job is about them; null for all of them.
    units integer constraint jobs_units_check check (units >= 0),
    -- Counts the claims; a worker's claim is known by its number.
    attempts integer not null default 0 constraint jobs_attempts_check check (attempts >= 0),
    first_attempt_at timestamptz,
    -- By this database's clock alone: those of the workers may differ.
    claimed_until timestamptz,
    last_error text,
    -- When it was done or skipped.
    done_at timestamptz,
    constraint jobs_pkey primary key (organization_id, id),
    constraint jobs_done_has_a_time_check check ((state in ('done', 'skipped')) = (done_at is not null)),
    -- A held job that was asked for stays held while somebody is at it.
    constraint jobs_claims_are_open_check check (claimed_until is null or state in ('pending', 'held'))
)
-- Whoever claims a job changes no column that an index has: with room in its page no index is written.
with (fillfactor = 70);

create unique index jobs_sequence_key on jobs (organization_id, sequence);
create index jobs_open_idx on jobs (organization_id, subject_kind, subject_id, sequence)
    where state not in ('done', 'skipped');
-- Few are due, however many wait for their time.
create index jobs_pending_idx on jobs (organization_id, available_at, sequence) where state = 'pending';
create index jobs_available_at_idx on jobs (available_at, organization_id) where state = 'pending';
create index jobs_dead_idx on jobs (organization_id, sequence) where state = 'dead';
-- Whose old ones are is asked from one organization to the next, by the same: each index is one more that is written with every job
-- that is done.
create index jobs_done_idx on jobs (organization_id, done_at) where done_at is not null;
-- Whoever administers jobs names them by their ids. The last of all: of indexes that seem as good as each other, as all do while
-- it is not known that there are many jobs, the youngest is taken, and whoever changes a job by its key reads no others.
create index jobs_id_idx on jobs (id);

call keep_apart('jobs');
call open_door('message', 'jobs');
call open_door('errands', 'jobs');
call open_door('survey', 'jobs');
