-- What carriers reported of shipments that no checkout has: their number may be given later. Nobody knows yet whose
-- they are, so they belong to no organization.
create table unclaimed_tracking_events (
    -- SHA-256 of what makes the event this one: the texts are too long for an index.
    dedupe_key bytea not null,
    tracking_number text not null,
    carrier text not null,
    at timestamptz not null,
    status text not null,
    description text,
    location text,
    signed_by text,
    estimated_delivery timestamptz,
    origin text not null,
    received_at timestamptz not null,
    constraint unclaimed_tracking_events_pkey primary key (dedupe_key),
    constraint unclaimed_tracking_events_dedupe_key_check check (octet_length(dedupe_key) = 32)
);

create index unclaimed_tracking_events_by_shipment_idx
    on unclaimed_tracking_events (tracking_number, carrier, at);
create index unclaimed_tracking_events_by_age_idx on unclaimed_tracking_events (received_at);
