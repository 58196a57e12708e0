-- What carriers reported of shipments, in whatever order it came.
create table tracking_events (
    id bigint generated always as identity primary key,
    checkout_id uuid not null references checkouts (id),
    tracking_number text not null,
    carrier text not null constraint tracking_events_carrier_check check (carrier in ('ups', 'fedex')),
    at timestamptz not null,
    status text not null constraint tracking_events_status_check check (status in (
        'unknown', 'preTransit', 'inTransit', 'outForDelivery', 'availableForPickup', 'delivered',
        'returnToSender', 'failure', 'cancelled', 'error')),
    description text,
    location text,
    signed_by text,
    estimated_delivery timestamptz,
    origin text not null constraint tracking_events_origin_check
        check (origin in ('webhook', 'poll', 'sandbox', 'lessor')),
    received_at timestamptz not null,
    -- SHA-256 of what makes the event this one: the texts are too long for an index.
    dedupe_key bytea not null constraint tracking_events_dedupe_key_check check (octet_length(dedupe_key) = 32)
);

create unique index tracking_events_dedupe_key_key on tracking_events (dedupe_key);
create index tracking_events_by_shipment_idx on tracking_events (checkout_id, tracking_number, carrier, at, id);
