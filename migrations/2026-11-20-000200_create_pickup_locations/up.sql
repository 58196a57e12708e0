create table pickup_locations (
    organization_id bigint not null,
    id bigint generated always as identity,
    name text not null,
    address json not null,
    active boolean not null,
    constraint pickup_locations_pkey primary key (organization_id, id),
    constraint pickup_locations_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint pickup_locations_address_check check (json_typeof(address) = 'object')
);

create unique index pickup_locations_active_name_key on pickup_locations (organization_id, name) where active;

call keep_apart('pickup_locations');
