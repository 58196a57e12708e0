drop table idempotency_answers;
