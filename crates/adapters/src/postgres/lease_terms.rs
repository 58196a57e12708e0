//! Lease terms.

use async_trait::async_trait;
use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::ids::{IdRef, LeaseTermPubId, LeaseTermRef, OrganizationId, ProductPubId};
use lessor_domain::lease_term::{LeaseTerm, LeaseTermStatus};
use lessor_domain::organization::Organization;
use lessor_domain::percentage::TermMonths;
use lessor_domain::ports::{DeletedTerm, LeaseTermStore, NewLeaseTerm, StoreError};
use lessor_domain::pricing::{Rate, RateCard};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::encode::{annual_rate, money_factor, percentage, text};
use super::error::store_error;
use super::kept::{Keep as _, Text};
use super::organizations;
use super::schema::{self, checkouts, lease_terms};
use super::version::{self, compare_and_set};

/// All but the number, which the database gives.
#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = lease_terms, primary_key(organization_id, id))]
#[diesel(check_for_backend(diesel::pg::Pg), treat_none_as_null = true)]
struct Columns {
    id: Uuid,
    organization_id: i64,
    product_id: Option<Uuid>,
    term_in_months: i32,
    money_factor: Option<BigDecimal>,
    annual_rate: Option<BigDecimal>,
    residual_percentage: BigDecimal,
    deposit_percentage: BigDecimal,
    insurance_percentage: BigDecimal,
    status: String,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    version: i64,
}

type Row = (i64, Columns);

/// The members of a term that columns are made of, before and after it has a number.
struct Parts {
    id: LeaseTermPubId,
    organization_id: OrganizationId,
    product_id: Option<ProductPubId>,
    card: RateCard,
    status: LeaseTermStatus,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    version: i64,
}

impl From<Parts> for Columns {
    fn from(parts: Parts) -> Self {
        let card = parts.card;
        let (factor, annual) = match card.rate {
            Rate::MoneyFactor(factor) => (Some(money_factor(factor)), None),
            Rate::AnnualRate(rate) => (None, Some(annual_rate(rate))),
        };
        Self {
            id: parts.id.as_uuid(),
            organization_id: parts.organization_id.get(),
            product_id: parts.product_id.map(|id| id.as_uuid()),
            term_in_months: i32::from(card.term.get()),
            money_factor: factor,
            annual_rate: annual,
            residual_percentage: percentage(card.residual),
            deposit_percentage: percentage(card.deposit),
            insurance_percentage: percentage(card.insurance),
            status: text(&parts.status),
            created_at: parts.created_at,
            updated_at: parts.updated_at,
            version: parts.version,
        }
    }
}

fn term(place: &Place<'_>, months: i32) -> Result<TermMonths, StoreError> {
    u16::try_from(months)
        .ok()
        .and_then(|months| TermMonths::new(months).ok())
        .ok_or_else(|| place.corrupt("term_in_months", "is no number of months"))
}

fn rate(place: &Place<'_>, row: &Columns) -> Result<Rate, StoreError> {
    match (&row.money_factor, &row.annual_rate) {
        (Some(factor), None) => place.rate("money_factor", factor).map(Rate::MoneyFactor),
        (None, Some(rate)) => place.rate("annual_rate", rate).map(Rate::AnnualRate),
        (None, None) | (Some(_), Some(_)) => {
            Err(place.corrupt("money_factor", "exactly one of the two rates must be there"))
        }
    }
}

fn entity((lease_term_id, row): Row) -> Result<LeaseTerm, StoreError> {
    let place = Place::new("lease_terms", &row.id);
    Ok(LeaseTerm {
        id: LeaseTermPubId::from_uuid(row.id),
        lease_term_id: place.number("lease_term_id", lease_term_id)?,
        organization_id: place.number("organization_id", row.organization_id)?,
        product_id: row.product_id.map(ProductPubId::from_uuid),
        card: RateCard {
            term: term(&place, row.term_in_months)?,
            rate: rate(&place, &row)?,
            residual: place.rate("residual_percentage", &row.residual_percentage)?,
            deposit: place.rate("deposit_percentage", &row.deposit_percentage)?,
            insurance: place.rate("insurance_percentage", &row.insurance_percentage)?,
        },
        status: place.parse("status", &row.status)?,
        created_at: row.created_at,
        updated_at: row.updated_at,
        version: row.version,
    })
}

/// The organization with each of its terms, or with none.
type WithOrganization = (i64, organizations::Columns, Option<i64>, Option<Columns>);

/// The organization and its terms.
pub(super) async fn with_organization(
    connection: &AsyncPgConnection,
    organization: OrganizationId,
) -> Result<Option<(Organization, Vec<LeaseTerm>)>, StoreError> {
    let rows = rows_with_organization(connection, organization).await?;
    let mut owner = None;
    let mut terms = Vec::with_capacity(rows.len());
    for (id, row, number, term) in rows {
        owner = Some((id, row));
        terms.extend(number.zip(term).map(entity).transpose()?);
    }
    let owner = owner.map(organizations::entity).transpose()?;
    Ok(owner.map(|organization| (organization, terms)))
}

async fn rows_with_organization(
    mut connection: &AsyncPgConnection,
    organization: OrganizationId,
) -> Result<Vec<WithOrganization>, StoreError> {
    static TEXT: Text = Text::new();
    schema::organizations::table
        .left_join(
            lease_terms::table.on(lease_terms::organization_id.eq(schema::organizations::id)),
        )
        .filter(schema::organizations::id.eq(organization.get()))
        .order((lease_terms::term_in_months, lease_terms::lease_term_id))
        .select((
            schema::organizations::id,
            organizations::Columns::as_select(),
            lease_terms::lease_term_id.nullable(),
            Option::<Columns>::as_select(),
        ))
        .kept_as(&TEXT)
        .load(&mut connection)
        .await
        .map_err(store_error)
}

#[async_trait]
impl LeaseTermStore for PgUnitOfWork {
    async fn insert(&mut self, new: &NewLeaseTerm) -> Result<LeaseTerm, StoreError> {
        let columns = Columns::from(Parts {
            id: new.id,
            organization_id: new.organization_id,
            product_id: new.product_id,
            card: new.card,
            status: new.status,
            created_at: new.created_at,
            updated_at: new.created_at,
            version: 1,
        });
        diesel::insert_into(lease_terms::table)
            .values(&columns)
            .returning((lease_terms::lease_term_id, Columns::as_returning()))
            .get_result(self.connection()?)
            .await
            .map_err(store_error)
            .and_then(entity)
    }

    async fn find(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermRef,
    ) -> Result<Option<LeaseTerm>, StoreError> {
        let own = lease_terms::table
            .filter(lease_terms::organization_id.eq(organization.get()))
            .select((lease_terms::lease_term_id, Columns::as_select()));
        let connection = self.connection()?;
        let row: Option<Row> = match id {
            IdRef::Public(id) => {
                own.filter(lease_terms::id.eq(id.as_uuid()))
                    .first(connection)
                    .await
            }
            IdRef::Number(id) => {
                own.filter(lease_terms::lease_term_id.eq(id.get()))
                    .first(connection)
                    .await
            }
        }
        .optional()
        .map_err(store_error)?;
        row.map(entity).transpose()
    }

    async fn list(&mut self, organization: OrganizationId) -> Result<Vec<LeaseTerm>, StoreError> {
        lease_terms::table
            .filter(lease_terms::organization_id.eq(organization.get()))
            .order((lease_terms::term_in_months, lease_terms::lease_term_id))
            .select((lease_terms::lease_term_id, Columns::as_select()))
            .load::<Row>(self.connection()?)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(entity)
            .collect()
    }

    async fn list_with_organization(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Option<(Organization, Vec<LeaseTerm>)>, StoreError> {
        with_organization(self.connection()?, organization).await
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermPubId,
    ) -> Result<Option<LeaseTerm>, StoreError> {
        lease_terms::table
            .filter(lease_terms::organization_id.eq(organization.get()))
            .filter(lease_terms::id.eq(id.as_uuid()))
            .select((lease_terms::lease_term_id, Columns::as_select()))
            .for_update()
            .first::<Row>(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(entity)
            .transpose()
    }

    async fn update(&mut self, term: &mut LeaseTerm) -> Result<(), StoreError> {
        let id = term.id.as_uuid();
        let version = version::next(term.version);
        let columns = Columns::from(Parts {
            id: term.id,
            organization_id: term.organization_id,
            product_id: term.product_id,
            card: term.card,
            status: term.status,
            created_at: term.created_at,
            updated_at: term.updated_at,
            version,
        });
        let connection = self.connection()?;
        compare_and_set(
            connection,
            "lease term",
            diesel::update(lease_terms::table)
                .filter(lease_terms::id.eq(id))
                .filter(lease_terms::organization_id.eq(term.organization_id.get()))
                .filter(lease_terms::version.eq(term.version))
                .set(&columns),
            select(exists(
                lease_terms::table.find((term.organization_id.get(), id)),
            )),
        )
        .await?;
        term.version = version;
        Ok(())
    }

    async fn delete(&mut self, id: LeaseTermPubId) -> Result<DeletedTerm, StoreError> {
        let (owner, id) = (self.owner(), id.as_uuid());
        let connection = self.connection()?;
        // Whoever puts the term into a checkout holds a share of its row until they
        // commit; from here on nobody new does.
        let held: Option<Uuid> = lease_terms::table
            .find((owner, id))
            .select(lease_terms::id)
            .for_update()
            .first(connection)
            .await
            .optional()
            .map_err(store_error)?;
        if held.is_none() {
            return Err(StoreError::Missing("lease term"));
        }
        let in_use = select(exists(
            checkouts::table
                .filter(checkouts::organization_id.eq(owner))
                .filter(checkouts::term_id.eq(id)),
        ))
        .get_result(connection)
        .await
        .map_err(store_error)?;
        if in_use {
            return Ok(DeletedTerm::InUse);
        }
        diesel::delete(lease_terms::table.find((owner, id)))
            .execute(connection)
            .await
            .map_err(store_error)?;
        Ok(DeletedTerm::Gone)
    }
}
