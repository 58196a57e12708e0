//! Organizations.

use async_trait::async_trait;
use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use lessor_domain::ids::{IdRef, OrganizationId, OrganizationPubId, OrganizationRef};
use lessor_domain::organization::{Face, Organization, ServiceArea};
use lessor_domain::ports::{NewOrganization, OrganizationStore, StoreError};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::encode::{percentage, text, texts};
use super::error::store_error;
use super::json::{Json, json};
use super::schema::{organizations, pricing_revisions};
use super::version::{self, compare_and_set};

#[diesel::declare_sql_function]
extern "SQL" {
    /// Counts a change of what the organization's prices are made of.
    fn bump_pricing_revision_of(organization: BigInt) -> Text;
}

/// All but the number, which the database gives.
#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = organizations)]
#[diesel(check_for_backend(diesel::pg::Pg), treat_none_as_null = true)]
pub(super) struct Columns {
    pub_id: Uuid,
    name: String,
    currency: String,
    discount: BigDecimal,
    service_area: Vec<String>,
    requires_product_review: bool,
    oftake_partner_id: i64,
    face: Json,
    sandbox_writes_catalog: Option<bool>,
    first_live_key_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    version: i64,
}

pub(super) type Row = (i64, Columns);

impl TryFrom<&Organization> for Columns {
    type Error = StoreError;

    fn try_from(entity: &Organization) -> Result<Self, StoreError> {
        Ok(Self {
            pub_id: entity.pub_id.as_uuid(),
            name: text(&entity.name),
            currency: text(&entity.currency),
            discount: percentage(entity.discount),
            service_area: texts(entity.service_area.regions()),
            requires_product_review: entity.requires_product_review,
            oftake_partner_id: entity.oftake_partner_id.get(),
            face: json(&entity.face)?,
            sandbox_writes_catalog: entity.sandbox_writes_catalog,
            first_live_key_at: entity.first_live_key_at,
            created_at: entity.created_at,
            updated_at: entity.updated_at,
            version: entity.version,
        })
    }
}

pub(super) fn entity((id, row): Row) -> Result<Organization, StoreError> {
    let place = Place::new("organizations", &id);
    Ok(Organization {
        id: place.number("id", id)?,
        pub_id: OrganizationPubId::from_uuid(row.pub_id),
        name: place.parse("name", &row.name)?,
        currency: place.parse("currency", &row.currency)?,
        discount: place.rate("discount", &row.discount)?,
        service_area: ServiceArea::new(place.parse_all("service_area", &row.service_area)?),
        requires_product_review: row.requires_product_review,
        oftake_partner_id: place.number("oftake_partner_id", row.oftake_partner_id)?,
        face: place.json("face", row.face)?,
        sandbox_writes_catalog: row.sandbox_writes_catalog,
        first_live_key_at: row.first_live_key_at,
        created_at: row.created_at,
        updated_at: row.updated_at,
        version: row.version,
    })
}

#[async_trait]
impl OrganizationStore for PgUnitOfWork {
    async fn insert(&mut self, new: &NewOrganization) -> Result<Organization, StoreError> {
        let columns = Columns {
            pub_id: new.pub_id.as_uuid(),
            name: text(&new.name),
            currency: text(&new.currency),
            discount: percentage(new.discount),
            service_area: texts(new.service_area.regions()),
            requires_product_review: new.requires_product_review,
            oftake_partner_id: new.oftake_partner_id.get(),
            face: json(&Face::default())?,
            sandbox_writes_catalog: None,
            first_live_key_at: None,
            created_at: new.created_at,
            updated_at: new.created_at,
            version: 1,
        };
        diesel::insert_into(organizations::table)
            .values(&columns)
            .returning((organizations::id, Columns::as_returning()))
            .get_result(self.connection()?)
            .await
            .map_err(store_error)
            .and_then(entity)
    }

    async fn get(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        OrganizationStore::find(self, IdRef::Number(id)).await
    }

    async fn find(&mut self, id: OrganizationRef) -> Result<Option<Organization>, StoreError> {
        let all = organizations::table.select((organizations::id, Columns::as_select()));
        let connection = self.connection()?;
        let row: Option<Row> = match id {
            IdRef::Number(id) => {
                all.filter(organizations::id.eq(id.get()))
                    .first(connection)
                    .await
            }
            IdRef::Public(id) => {
                all.filter(organizations::pub_id.eq(id.as_uuid()))
                    .first(connection)
                    .await
            }
        }
        .optional()
        .map_err(store_error)?;
        row.map(entity).transpose()
    }

    async fn list(&mut self) -> Result<Vec<Organization>, StoreError> {
        organizations::table
            .select((organizations::id, Columns::as_select()))
            .order((organizations::created_at, organizations::id))
            .load::<Row>(self.connection()?)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(entity)
            .collect()
    }

    async fn lock(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        // Whatever is done in an organization refers to it, the audit at the end of all else: it is not kept
        // waiting by whoever changes the organization and goes on to what others have locked.
        organizations::table
            .filter(organizations::id.eq(id.get()))
            .select((organizations::id, Columns::as_select()))
            .for_no_key_update()
            .first::<Row>(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(entity)
            .transpose()
    }

    async fn update(&mut self, organization: &mut Organization) -> Result<(), StoreError> {
        let id = organization.id.get();
        let version = version::next(organization.version);
        let columns = Columns {
            version,
            ..Columns::try_from(&*organization)?
        };
        let connection = self.connection()?;
        let discount: Option<BigDecimal> = organizations::table
            .find(id)
            .select(organizations::discount)
            .first(connection)
            .await
            .optional()
            .map_err(store_error)?;
        let is_repriced = discount.is_some_and(|before| before != columns.discount);
        compare_and_set(
            connection,
            "organization",
            diesel::update(organizations::table)
                .filter(organizations::id.eq(id))
                .filter(organizations::version.eq(organization.version))
                .set(&columns),
            select(exists(organizations::table.find(id))),
        )
        .await?;
        if is_repriced {
            select(bump_pricing_revision_of(id))
                .execute(connection)
                .await
                .map_err(store_error)?;
        }
        organization.version = version;
        Ok(())
    }

    async fn pricing_revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError> {
        pricing_revisions::table
            .find(organization.get())
            .select(pricing_revisions::revision)
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)
            .map(Option::unwrap_or_default)
    }
}
