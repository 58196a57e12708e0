-- Which key the servers of this database have, and which they had before. Here is a fingerprint of either, by which a key
-- is known again; the key itself lies beside the database, so that whoever gets hold of the tables has no part of it.
create table server_key (
    -- There is one row at most.
    is_here boolean not null default true,
    fingerprint bytea not null,
    former_fingerprint bytea,
    -- When the key took its place.
    since timestamptz not null,
    constraint server_key_pkey primary key (is_here),
    constraint server_key_is_here_check check (is_here),
    constraint server_key_fingerprint_check check (octet_length(fingerprint) = 32),
    constraint server_key_former_fingerprint_check check (octet_length(former_fingerprint) = 32)
);
