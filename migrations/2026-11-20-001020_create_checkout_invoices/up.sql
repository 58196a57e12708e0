-- What the processor told of each invoice, so that news in any order come to the same.
create table checkout_invoices (
    organization_id bigint not null,
    checkout_id uuid not null,
    invoice_id text not null,
    paid boolean not null,
    failed_attempts integer not null,
    failure_code text,
    failure_message text,
    at timestamptz not null,
    constraint checkout_invoices_pkey primary key (organization_id, checkout_id, invoice_id),
    constraint checkout_invoices_checkout_id_fkey
        foreign key (organization_id, checkout_id) references checkouts (organization_id, id) on delete cascade,
    constraint checkout_invoices_failed_attempts_check check (failed_attempts >= 0),
    constraint checkout_invoices_failure_check
        check (num_nulls(failure_code, failure_message) = case when paid then 2 else 0 end)
);
