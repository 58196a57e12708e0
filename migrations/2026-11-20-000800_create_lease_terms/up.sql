create table lease_terms (
    organization_id bigint not null,
    id uuid not null,
    lease_term_id bigint generated always as identity,
    -- The product that it is for; null means those without terms of their own.
    product_id uuid,
    term_in_months integer not null,
    -- The method is told by which of the two rates is there.
    money_factor numeric(9, 8),
    annual_rate numeric(9, 6),
    residual_percentage numeric(7, 4) not null,
    deposit_percentage numeric(7, 4) not null,
    insurance_percentage numeric(7, 4) not null,
    status text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    version bigint not null,
    constraint lease_terms_pkey primary key (organization_id, id),
    constraint lease_terms_lease_term_id_key unique (organization_id, lease_term_id),
    constraint lease_terms_organization_id_fkey foreign key (organization_id) references organizations (id),
    constraint lease_terms_product_id_fkey
        foreign key (organization_id, product_id) references products (organization_id, id) on delete cascade,
    constraint lease_terms_term_in_months_check check (term_in_months between 1 and 120),
    constraint lease_terms_rate_check check (num_nonnulls(money_factor, annual_rate) = 1),
    constraint lease_terms_money_factor_check check (money_factor between 0 and 1),
    constraint lease_terms_annual_rate_check check (annual_rate between 0 and 100),
    constraint lease_terms_residual_percentage_check check (residual_percentage between 0 and 100),
    constraint lease_terms_deposit_percentage_check check (deposit_percentage between 0 and 100),
    constraint lease_terms_insurance_percentage_check check (insurance_percentage between 0 and 100),
    constraint lease_terms_status_check check (status in ('active', 'inactive'))
);

-- One active term for each owner and number of months.
create unique index lease_terms_organization_term_key on lease_terms (organization_id, term_in_months)
    where status = 'active' and product_id is null;
create unique index lease_terms_product_term_key on lease_terms (organization_id, product_id, term_in_months)
    where status = 'active' and product_id is not null;
create index lease_terms_organization_id_idx on lease_terms (organization_id, term_in_months, lease_term_id);
create index lease_terms_product_id_idx on lease_terms (organization_id, product_id) where product_id is not null;

call keep_apart('lease_terms');
