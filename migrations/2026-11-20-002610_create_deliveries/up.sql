-- Events on their way to endpoints, and what became of them; kept as long as events are.
create table deliveries (
    organization_id bigint not null,
    -- Made in the order of time.
    id uuid not null,
    mode text not null,
    endpoint_id uuid not null,
    -- An event that may be forgotten before the delivery is; of a test an id that no event has.
    event_id uuid not null,
    -- A name that the binary knows which wrote it; what reads it says when it does not.
    event_type text not null,
    -- The record that the event is about: those about one are delivered in the order of their numbers.
    subject_id uuid not null,
    -- The event's place in its feed; 0 for a test.
    sequence bigint not null,
    status text not null,
    -- How many attempts have ended.
    attempts integer not null default 0,
    -- How often it was taken to be tried: a worker's claim is known by its number.
    claims integer not null default 0,
    -- When it is tried next; none once that is over.
    due_at timestamptz,
    -- By this database's clock alone: those of the workers may differ.
    claimed_until timestamptz,
    -- Of the last attempt. The body is the beginning of what the endpoint answered, which may tell of a person: it is
    -- emptied when the customer is erased.
    response_status integer,
    response_body text,
    duration_ms bigint,
    error text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint deliveries_pkey primary key (organization_id, id),
    constraint deliveries_endpoint_id_fkey
        foreign key (organization_id, endpoint_id) references webhook_endpoints (organization_id, id),
    constraint deliveries_mode_check check (mode in ('live', 'sandbox')),
    constraint deliveries_sequence_check check (sequence >= 0),
    constraint deliveries_status_check check (status in ('pending', 'succeeded', 'failed')),
    constraint deliveries_attempts_check check (attempts >= 0 and claims >= 0),
    constraint deliveries_due_check check ((status = 'pending') = (due_at is not null)),
    constraint deliveries_claims_are_pending_check check (claimed_until is null or status = 'pending'),
    constraint deliveries_response_check check (response_status between 100 and 999),
    constraint deliveries_response_body_check check (octet_length(response_body) <= 1024),
    constraint deliveries_duration_check check (duration_ms >= 0)
);

-- Of an endpoint and an event one is pending: who asks for another has that one tried at once.
create unique index deliveries_pending_key on deliveries (organization_id, endpoint_id, event_id) where status = 'pending';
-- What can be taken of each endpoint, however much waits for another.
create index deliveries_due_idx on deliveries (organization_id, endpoint_id, due_at, sequence) where status = 'pending';
-- What stands before what: a row is there until its first attempt has ended.
create index deliveries_first_idx on deliveries (organization_id, endpoint_id, subject_id, sequence)
    where status = 'pending' and attempts = 0;
-- How many are under way.
create index deliveries_claimed_idx on deliveries (organization_id, endpoint_id) where claimed_until is not null;
create index deliveries_endpoint_id_idx on deliveries (organization_id, endpoint_id, id);
create index deliveries_succeeded_idx on deliveries (organization_id, endpoint_id, event_id) where status = 'succeeded';
create index deliveries_subject_id_idx on deliveries (organization_id, subject_id) where response_body is not null;
-- Whose old ones are is asked of all. They lie together.
create index deliveries_created_at_idx on deliveries using brin (created_at);

call keep_apart('deliveries');
call open_door('errands', 'deliveries');
