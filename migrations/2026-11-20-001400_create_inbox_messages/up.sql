-- Messages of providers, kept before they are acknowledged; each once.
create table inbox_messages (
    source text not null,
    id text not null,
    sequence bigint generated always as identity,
    mode text not null constraint inbox_messages_mode_check check (mode in ('live', 'sandbox')),
    body bytea not null,
    received_at timestamptz not null,
    handled_at timestamptz,
    problem text,
    primary key (source, id),
    constraint inbox_messages_problem_is_handled_check check (problem is null or handled_at is not null)
);

create index inbox_messages_unhandled_idx on inbox_messages (received_at, sequence) where handled_at is null;
