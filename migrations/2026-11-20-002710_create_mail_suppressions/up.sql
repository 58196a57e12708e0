-- Addresses that nothing is sent to any more. An address is known again by HMAC-SHA256 of it, in the form in which
-- addresses are compared, under a key that is derived from the server's: who has the table reads none of them. It goes
-- when the customer is erased.
create table mail_suppressions (
    organization_id bigint not null,
    address_mark bytea not null,
    reason text not null,
    created_at timestamptz not null,
    constraint mail_suppressions_pkey primary key (organization_id, address_mark),
    constraint mail_suppressions_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint mail_suppressions_address_mark_check check (octet_length(address_mark) = 32),
    constraint mail_suppressions_reason_check check (reason in ('hardBounce', 'complaint'))
);

call keep_apart('mail_suppressions');
