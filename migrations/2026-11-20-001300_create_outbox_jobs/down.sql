drop table outbox_jobs;
