-- How organizations decide about credit, for each mode in which they have said so.
create table credit_policies (
    organization_id bigint not null,
    mode text not null,
    kind text not null,
    -- Where a decision is asked for, and what the request is signed with, sealed under the server's key.
    url text,
    sealed_secret bytea,
    -- Limits; what is null decides nothing.
    currency text,
    max_monthly_payment bigint,
    max_open_leases bigint,
    max_total_exposure bigint,
    countries text[],
    updated_at timestamptz not null,
    constraint credit_policies_pkey primary key (organization_id, mode),
    constraint credit_policies_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint credit_policies_mode_check check (mode in ('live', 'sandbox')),
    constraint credit_policies_kind_check check (kind in ('manual', 'http', 'rules', 'none', 'simulated')),
    -- Nobody's real credit is decided by an e-mail address.
    constraint credit_policies_simulated_check check (kind <> 'simulated' or mode = 'sandbox'),
    -- Each kind has its own members, and none of another's.
    constraint credit_policies_http_is_whole_check check (
        num_nonnulls(url, sealed_secret) = case when kind = 'http' then 2 else 0 end),
    constraint credit_policies_rules_is_whole_check check (
        case when kind = 'rules' then countries is not null
        else num_nonnulls(currency, max_monthly_payment, max_open_leases, max_total_exposure, countries) = 0 end),
    constraint credit_policies_currency_check check (
        (num_nonnulls(max_monthly_payment, max_total_exposure) > 0) = (currency is not null)),
    constraint credit_policies_limits_check check (
        max_monthly_payment >= 0 and max_open_leases >= 0 and max_total_exposure >= 0)
);

call keep_apart('credit_policies');
