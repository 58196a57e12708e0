-- Answers to requests that may be repeated.
create table idempotency_answers (
    organization_id bigint not null references organizations (id),
    -- SHA-256 of organization, mode, path and key: a path is too long for an index.
    key_hash bytea not null constraint idempotency_answers_key_hash_check check (octet_length(key_hash) = 32),
    mode text not null constraint idempotency_answers_mode_check check (mode in ('live', 'sandbox')),
    path text not null,
    key text not null constraint idempotency_answers_key_check check (char_length(key) between 1 and 255),
    request_hash bytea not null
        constraint idempotency_answers_request_hash_check check (octet_length(request_hash) = 32),
    status smallint not null constraint idempotency_answers_status_is_http_check check (status between 100 and 599),
    body bytea not null,
    -- Whether the answer is a record that was there before the request: a repetition is told so too.
    is_existing boolean not null,
    is_final boolean not null,
    created_at timestamptz not null,
    constraint idempotency_answers_pkey primary key (organization_id, key_hash)
);

create index idempotency_answers_by_age_idx on idempotency_answers (organization_id, created_at);
-- Whose old ones are is asked of all: few are old, however many are not.
create index idempotency_answers_created_at_idx on idempotency_answers (created_at, organization_id);

call keep_apart('idempotency_answers');
call open_door('errands', 'idempotency_answers');
