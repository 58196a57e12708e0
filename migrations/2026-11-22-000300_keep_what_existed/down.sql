alter table idempotency_answers drop column is_existing;
