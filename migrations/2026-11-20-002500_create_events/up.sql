-- The last number of each feed. Whoever numbers events has its row locked.
create table event_feeds (
    organization_id bigint not null,
    mode text not null,
    last_sequence bigint not null default 0,
    constraint event_feeds_pkey primary key (organization_id, mode),
    constraint event_feeds_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint event_feeds_mode_check check (mode in ('live', 'sandbox')),
    constraint event_feeds_last_sequence_check check (last_sequence >= 0)
);

call keep_apart('event_feeds');

-- What happened to records, written with the change, until it gets its number. It is apart from what has one, so that
-- whoever writes pays for one key and for no index.
create table unnumbered_events (
    organization_id bigint not null,
    mode text not null,
    -- The order in which events were appended. Whoever changes a record has it locked from before this is given until the
    -- commit, so that of events about one record the later commit has the higher. A clock could be set back.
    written bigint generated always as identity,
    -- Made in the order of time.
    id uuid not null,
    -- A name that the binary knows which wrote it; what reads it says when it does not.
    event_type text not null,
    subject_type text not null,
    subject_id uuid not null,
    created_at timestamptz not null,
    request_id text,
    -- Whose personal data the record has: then it is sealed.
    customer_id uuid,
    -- JSON, byte for byte as GET answered it.
    object text,
    previous text,
    -- The object, and after a zero byte what was before, made smaller, behind a nonce, bound to the id. None where the
    -- customer was erased before.
    sealed bytea,
    -- No reference to the organization: it is written with the change of a record that has one, by row security in that
    -- organization's name, and looking there once more is a quarter of what its row costs.
    constraint unnumbered_events_pkey primary key (organization_id, mode, written),
    -- Nothing of a person lies open. A check is read anew for each statement, so that there is no other and this one is short:
    -- the mode is that of a feed, which has it checked.
    constraint unnumbered_events_person_is_sealed_check
        check (customer_id is null or object is null and previous is null)
);

-- What is sealed does not get smaller.
alter table unnumbered_events alter column sealed set storage external;

call keep_apart('unnumbered_events');
call open_door('errands', 'unnumbered_events');

-- It stays as it is until it has its number.
create trigger unnumbered_events_append_only before update or truncate on unnumbered_events
    for each statement execute function refuse_to_rewrite_history();
-- Whoever gives it one says so.
create trigger unnumbered_events_stay
    before delete on unnumbered_events for each statement
    when (current_setting('lessor.numbering', true) is distinct from 'events')
    execute function refuse_to_rewrite_history();

-- The same with their numbers, kept for a while. Nothing of it is ever changed.
create table events (
    organization_id bigint not null,
    id uuid not null,
    mode text not null,
    -- The place in the feed: 1, 2, 3 … by organization and mode. Given after the commit, so that no reader sees a number
    -- before a lower one.
    sequence bigint not null,
    event_type text not null,
    subject_type text not null,
    subject_id uuid not null,
    created_at timestamptz not null,
    request_id text,
    customer_id uuid,
    object text,
    previous text,
    sealed bytea,
    constraint events_pkey primary key (organization_id, id),
    constraint events_sequence_key unique (organization_id, mode, sequence),
    constraint events_person_is_sealed_check check (customer_id is null or object is null and previous is null)
);

alter table events alter column sealed set storage external;

create index events_subject_id_idx on events (organization_id, subject_id, mode, sequence);
create index events_event_type_idx on events (organization_id, mode, event_type, sequence);
-- Whose old ones are is asked of all. They lie together.
create index events_created_at_idx on events using brin (created_at);

call keep_apart('events');
call open_door('errands', 'events');

create trigger events_append_only before update or truncate on events
    for each statement execute function refuse_to_rewrite_history();
-- What is old is forgotten by whoever says that this is what they do.
create trigger events_stay
    before delete on events for each statement
    when (current_setting('lessor.purging', true) is distinct from 'events')
    execute function refuse_to_rewrite_history();
