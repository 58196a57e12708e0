create table organizations (
    id bigint generated always as identity,
    pub_id uuid not null,
    name text not null,
    currency text not null,
    discount numeric(7, 4) not null,
    -- Entries such as US, US-CA and US:941*; none means everywhere.
    service_area text[] not null,
    requires_product_review boolean not null,
    oftake_partner_id bigint not null,
    -- How it shows itself to customers: name, logo, color, whom to ask. Only read back as a whole.
    face json not null default '{}',
    -- What the operator says; nothing: as long as there was no live key.
    sandbox_writes_catalog boolean,
    -- Never taken back.
    first_live_key_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    version bigint not null,
    constraint organizations_pkey primary key (id),
    constraint organizations_pub_id_key unique (pub_id),
    constraint organizations_currency_check check (currency ~ '^[A-Z]{3}$'),
    constraint organizations_face_check check (json_typeof(face) = 'object'),
    constraint organizations_discount_check check (discount between 0 and 100),
    constraint organizations_oftake_partner_id_check check (oftake_partner_id > 0)
);
