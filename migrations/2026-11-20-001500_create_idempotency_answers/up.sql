-- Answers to requests that may be repeated.
create table idempotency_answers (
    -- SHA-256 of organization, mode, path and key: a path is too long for an index.
    key_hash bytea primary key constraint idempotency_answers_key_hash_check check (octet_length(key_hash) = 32),
    organization_id bigint not null references organizations (id),
    mode text not null constraint idempotency_answers_mode_check check (mode in ('live', 'sandbox')),
    path text not null,
    key text not null constraint idempotency_answers_key_check check (char_length(key) between 1 and 255),
    request_hash bytea not null
        constraint idempotency_answers_request_hash_check check (octet_length(request_hash) = 32),
    status smallint not null constraint idempotency_answers_status_is_http_check check (status between 100 and 599),
    body bytea not null,
    is_final boolean not null,
    created_at timestamptz not null
);

create index idempotency_answers_by_age_idx on idempotency_answers (created_at);
