-- Whether the answer is a record that was there before the request: a repetition is told so too.
alter table idempotency_answers add column is_existing boolean not null default false;
