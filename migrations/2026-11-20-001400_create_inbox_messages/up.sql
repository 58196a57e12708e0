-- Messages of providers, kept before they are acknowledged; each once.
create table inbox_messages (
    source text not null,
    id text not null,
    sequence bigint generated always as identity,
    mode text not null constraint inbox_messages_mode_check check (mode in ('live', 'sandbox')),
    -- Whose own account sent it, where it is not one that all share: what it names of others is no affair of its sender's.
    organization_id bigint,
    body bytea not null,
    received_at timestamptz not null,
    state text not null constraint inbox_messages_state_check check (state in ('waiting', 'handled', 'failed')),
    -- Not to be handled before.
    due_at timestamptz not null,
    -- When it was handled, or given up.
    handled_at timestamptz,
    -- Why it was given up. One that waits again keeps it until it is handled.
    problem text,
    primary key (source, id),
    constraint inbox_messages_handled_has_a_time_check check ((state = 'waiting') = (handled_at is null)),
    constraint inbox_messages_problem_check check (
        case state when 'failed' then problem is not null when 'handled' then problem is null else true end)
);

-- For what is to be handled, and for the lists of each state. Messages that are not due yet are passed over within the
-- index, however many stand in front.
create index inbox_messages_by_state_idx on inbox_messages (state, received_at, sequence, due_at);
