alter table checkouts drop column settled_dispute_id;
