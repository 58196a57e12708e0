//! How organizations decide about credit, and what was decided.

use async_trait::async_trait;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::Record;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::credit::{CreditKind, CreditPolicy, CreditRules, Qualification};
use lessor_domain::ids::{ApiKeyPubId, CheckoutPubId, CustomerPubId, OrganizationId};
use lessor_domain::money::Money;
use lessor_domain::ports::{CreditPolicyStore, QualificationStore, StoreError};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::PgUnitOfWork;
use super::checkouts::{Column, sent};
use super::decode::{Place, row_count};
use super::encode::{text, text_if, texts};
use super::endpoints::EndpointRow;
use super::error::store_error;
use super::kept::{Keep as _, Text};
use super::schema::{checkouts, credit_policies, qualifications};

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = credit_policies, primary_key(organization_id, mode))]
#[diesel(check_for_backend(Pg), treat_none_as_null = true)]
struct PolicyRow {
    organization_id: i64,
    mode: String,
    kind: String,
    url: Option<String>,
    sealed_secret: Option<Vec<u8>>,
    currency: Option<String>,
    max_monthly_payment: Option<i64>,
    max_open_leases: Option<i64>,
    max_total_exposure: Option<i64>,
    countries: Option<Vec<String>>,
    updated_at: Timestamp,
}

impl PolicyRow {
    fn endpoint(&self) -> EndpointRow<'_> {
        EndpointRow {
            table: "credit_policies",
            organization: self.organization_id,
            mode: &self.mode,
        }
    }
}

impl PgUnitOfWork {
    fn policy(&self, row: PolicyRow) -> Result<CreditPolicy, StoreError> {
        let key = format!("{}/{}", row.organization_id, row.mode);
        let place = Place::new("credit_policies", &key);
        Ok(match place.parse("kind", &row.kind)? {
            CreditKind::Manual => CreditPolicy::Manual,
            CreditKind::None => CreditPolicy::None,
            CreditKind::Simulated => CreditPolicy::Simulated,
            CreditKind::Http => {
                let (url, sealed) = (row.url.as_deref(), row.sealed_secret.as_deref());
                CreditPolicy::Http(row.endpoint().open(&self.secrets, url, sealed)?)
            }
            CreditKind::Rules => {
                let currency = row.currency.unwrap_or_default();
                let money = |amount: Option<i64>| {
                    amount
                        .map(|amount| place.money(amount, &currency))
                        .transpose()
                };
                let leases = row.max_open_leases.map(u32::try_from).transpose();
                CreditPolicy::Rules(CreditRules {
                    max_monthly_payment: money(row.max_monthly_payment)?,
                    max_open_leases: leases
                        .map_err(|_| place.corrupt("max_open_leases", "is no number of leases"))?,
                    max_total_exposure: money(row.max_total_exposure)?,
                    countries: place.parse_all("countries", &row.countries.unwrap_or_default())?,
                })
            }
        })
    }
}

#[async_trait]
impl CreditPolicyStore for PgUnitOfWork {
    async fn get(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<Option<CreditPolicy>, StoreError> {
        let owner = self.owner();
        let row: Option<PolicyRow> = credit_policies::table
            .filter(credit_policies::organization_id.eq(owner))
            .filter(credit_policies::organization_id.eq(organization.get()))
            .filter(credit_policies::mode.eq(mode.as_str()))
            .select(PolicyRow::as_select())
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        row.map(|row| self.policy(row)).transpose()
    }

    async fn put(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
        policy: &CreditPolicy,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let mut row = PolicyRow {
            organization_id: organization.get(),
            mode: text(&mode),
            kind: text(&policy.kind()),
            url: None,
            sealed_secret: None,
            currency: None,
            max_monthly_payment: None,
            max_open_leases: None,
            max_total_exposure: None,
            countries: None,
            updated_at: at,
        };
        match policy {
            CreditPolicy::Manual | CreditPolicy::None | CreditPolicy::Simulated => {}
            CreditPolicy::Http(endpoint) => {
                let (url, sealed) = row.endpoint().seal(&self.secrets, endpoint)?;
                row.url = Some(url);
                row.sealed_secret = Some(sealed);
            }
            CreditPolicy::Rules(rules) => {
                let amount = rules.max_monthly_payment.or(rules.max_total_exposure);
                row.currency = amount.map(|amount| text(&amount.currency()));
                row.max_monthly_payment = rules.max_monthly_payment.map(Money::minor);
                row.max_open_leases = rules.max_open_leases.map(i64::from);
                row.max_total_exposure = rules.max_total_exposure.map(Money::minor);
                row.countries = Some(texts(&rules.countries));
            }
        }
        diesel::insert_into(credit_policies::table)
            .values(&row)
            .on_conflict((credit_policies::organization_id, credit_policies::mode))
            .do_update()
            .set(&row)
            .execute(self.connection()?)
            .await
            .map(drop)
            .map_err(store_error)
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = qualifications, check_for_backend(Pg))]
pub(super) struct QualificationRow {
    id: Uuid,
    checkout_id: Uuid,
    customer_id: Uuid,
    decision: String,
    source: String,
    key_id: Option<Uuid>,
    reasons: Vec<String>,
    reference: Option<String>,
    amount: Option<i64>,
    currency: Option<String>,
    rests_on: Option<Uuid>,
    decided_at: Timestamp,
    expires_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

impl From<&Qualification> for QualificationRow {
    fn from(kept: &Qualification) -> Self {
        Self {
            id: kept.id,
            checkout_id: kept.checkout.as_uuid(),
            customer_id: kept.customer.as_uuid(),
            decision: text(&kept.decision),
            source: text(&kept.source),
            key_id: kept.key.map(|key| key.as_uuid()),
            reasons: texts(&kept.reasons),
            reference: text_if(kept.reference.as_ref()),
            amount: kept.amount.map(Money::minor),
            currency: kept.amount.map(|amount| text(&amount.currency())),
            rests_on: kept.rests_on,
            decided_at: kept.decided_at,
            expires_at: kept.expires_at,
            ended_at: kept.ended_at,
        }
    }
}

impl TryFrom<QualificationRow> for Qualification {
    type Error = StoreError;

    fn try_from(row: QualificationRow) -> Result<Self, StoreError> {
        let place = Place::new("qualifications", &row.id);
        let amount = match (row.amount, row.currency) {
            (Some(amount), Some(currency)) => Some(place.money(amount, &currency)?),
            (None, None) => None,
            _ => return Err(place.corrupt("amount", "is there without the other half of it")),
        };
        Ok(Self {
            id: row.id,
            checkout: CheckoutPubId::from_uuid(row.checkout_id),
            customer: CustomerPubId::from_uuid(row.customer_id),
            decision: place.parse("decision", &row.decision)?,
            source: place.parse("source", &row.source)?,
            key: row.key_id.map(ApiKeyPubId::from_uuid),
            reasons: place.parse_all("reasons", &row.reasons)?,
            reference: place.parse_if("reference", row.reference)?,
            amount,
            rests_on: row.rests_on,
            decided_at: row.decided_at,
            expires_at: row.expires_at,
            ended_at: row.ended_at,
        })
    }
}

/// The latest decision for the checkout that a statement reads.
pub(super) fn latest_of_checkout(owner: i64) -> Column<QualificationRow> {
    let columns = <QualificationRow as Selectable<Pg>>::construct_selection();
    let latest = qualifications::table
        .filter(qualifications::organization_id.eq(owner))
        .filter(qualifications::checkout_id.eq(checkouts::id))
        .order(qualifications::sequence.desc())
        .limit(1)
        .select(columns.into_sql::<Record<_>>());
    Box::new(sent(latest))
}

/// The latest decision for each of the checkouts that has one.
pub(super) async fn latest(
    mut connection: &AsyncPgConnection,
    owner: i64,
    checkouts: &[CheckoutPubId],
) -> Result<Vec<Qualification>, StoreError> {
    if checkouts.is_empty() {
        return Ok(Vec::new());
    }
    static TEXTS: [Text; 2] = [const { Text::new() }; 2];
    let [of_one, of_many] = &TEXTS;
    let all = qualifications::table
        .filter(qualifications::organization_id.eq(owner))
        .distinct_on(qualifications::checkout_id)
        .order((qualifications::checkout_id, qualifications::sequence.desc()))
        .select(QualificationRow::as_select())
        .into_boxed();
    let ids: Vec<Uuid> = checkouts.iter().map(CheckoutPubId::as_uuid).collect();
    // By equality where there is one: the plan that is kept for a list reads all of a small table.
    let (those, text) = match ids.as_slice() {
        &[id] => (all.filter(qualifications::checkout_id.eq(id)), of_one),
        _ => (all.filter(qualifications::checkout_id.eq_any(ids)), of_many),
    };
    let rows: Vec<QualificationRow> = those
        .kept_as(text)
        .load(&mut connection)
        .await
        .map_err(store_error)?;
    rows.into_iter().map(TryInto::try_into).collect()
}

#[async_trait]
impl QualificationStore for PgUnitOfWork {
    async fn insert(&mut self, kept: &Qualification) -> Result<(), StoreError> {
        let owner = self.owner();
        // Its checkout's, and asked for on its own: what a statement selects into a table that counts
        // its rows, a cluster's coordinator copies, and COPY is refused where row security holds.
        let mode: String = checkouts::table
            .find((owner, kept.checkout.as_uuid()))
            .select(checkouts::mode)
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .ok_or(StoreError::Missing("checkout"))?;
        diesel::insert_into(qualifications::table)
            .values((
                qualifications::organization_id.eq(owner),
                qualifications::mode.eq(mode),
                QualificationRow::from(kept),
            ))
            .execute(self.connection()?)
            .await
            .map(drop)
            .map_err(store_error)
    }

    async fn latest(
        &mut self,
        checkouts: &[CheckoutPubId],
    ) -> Result<Vec<Qualification>, StoreError> {
        let owner = self.owner();
        latest(self.connection()?, owner, checkouts).await
    }

    async fn of_customer(
        &mut self,
        customer: CustomerPubId,
    ) -> Result<Vec<Qualification>, StoreError> {
        let owner = self.owner();
        let rows: Vec<QualificationRow> = qualifications::table
            .filter(qualifications::organization_id.eq(owner))
            .filter(qualifications::customer_id.eq(customer.as_uuid()))
            .filter(qualifications::ended_at.is_null())
            .order(qualifications::sequence)
            .select(QualificationRow::as_select())
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        rows.into_iter().map(TryInto::try_into).collect()
    }

    async fn end(&mut self, customer: CustomerPubId, at: Timestamp) -> Result<u64, StoreError> {
        let owner = self.owner();
        let counting = qualifications::table
            .filter(qualifications::organization_id.eq(owner))
            .filter(qualifications::customer_id.eq(customer.as_uuid()))
            .filter(qualifications::ended_at.is_null());
        let ended = diesel::update(counting)
            .set(qualifications::ended_at.eq(Some(at)))
            .kept()
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        Ok(row_count(i64::try_from(ended).unwrap_or(i64::MAX)))
    }
}
