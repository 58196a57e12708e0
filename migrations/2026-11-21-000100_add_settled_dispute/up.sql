-- Messages of the processor come in any order: a contest that was settled must not be opened
-- again by a late word of its beginning.
alter table checkouts add column settled_dispute_id text;
