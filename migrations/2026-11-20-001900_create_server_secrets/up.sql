-- What every process of one installation has to know and nobody else: the secret that the
-- addresses of checkout pages are derived from. One row for each purpose.
create table server_secrets (
    purpose text primary key,
    secret bytea not null constraint server_secrets_secret_check check (octet_length(secret) >= 32),
    created_at timestamptz not null default now()
);
