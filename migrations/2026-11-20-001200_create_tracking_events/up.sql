-- What carriers reported of shipments, in whatever order it came.
create table tracking_events (
    organization_id bigint not null,
    id bigint generated always as identity,
    checkout_id uuid not null,
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
    -- SHA-256 of what makes the event this one: the texts are too long for an index.
    dedupe_key bytea not null,
    constraint tracking_events_pkey primary key (organization_id, id),
    constraint tracking_events_dedupe_key_key unique (organization_id, dedupe_key),
    constraint tracking_events_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id),
    constraint tracking_events_carrier_check check (carrier in ('ups', 'fedex')),
    constraint tracking_events_status_check check (status in (
        'unknown', 'preTransit', 'inTransit', 'outForDelivery', 'availableForPickup', 'delivered',
        'returnToSender', 'failure', 'cancelled', 'error')),
    constraint tracking_events_origin_check check (origin in ('webhook', 'poll', 'sandbox', 'lessor')),
    constraint tracking_events_dedupe_key_check check (octet_length(dedupe_key) = 32)
);

create index tracking_events_by_shipment_idx
    on tracking_events (organization_id, checkout_id, tracking_number, carrier, at, id);

call keep_apart('tracking_events');
