//! Pickup locations.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::ids::{OrganizationId, PickupLocationId};
use lessor_domain::organization::PickupLocation;
use lessor_domain::ports::{NewPickupLocation, PickupLocationStore, StoreError};

use super::PgUnitOfWork;
use super::decode::Place;
use super::encode::text;
use super::error::store_error;
use super::json::{Json, json};
use super::schema::pickup_locations;

#[derive(Queryable, Selectable)]
#[diesel(table_name = pickup_locations, check_for_backend(diesel::pg::Pg))]
struct Row {
    id: i64,
    organization_id: i64,
    name: String,
    address: Json,
    active: bool,
}

impl TryFrom<Row> for PickupLocation {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let place = Place::new("pickup_locations", &row.id);
        Ok(Self {
            id: place.number("id", row.id)?,
            organization_id: place.number("organization_id", row.organization_id)?,
            name: place.parse("name", &row.name)?,
            address: place.json("address", row.address)?,
            active: row.active,
        })
    }
}

#[async_trait]
impl PickupLocationStore for PgUnitOfWork {
    async fn insert(&mut self, new: &NewPickupLocation) -> Result<PickupLocation, StoreError> {
        diesel::insert_into(pickup_locations::table)
            .values((
                pickup_locations::organization_id.eq(new.organization_id.get()),
                pickup_locations::name.eq(text(&new.name)),
                pickup_locations::address.eq(json(&new.address)?),
                pickup_locations::active.eq(true),
            ))
            .returning(Row::as_returning())
            .get_result(self.connection()?)
            .await
            .map_err(store_error)?
            .try_into()
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: PickupLocationId,
    ) -> Result<Option<PickupLocation>, StoreError> {
        pickup_locations::table
            .filter(pickup_locations::organization_id.eq(organization.get()))
            .filter(pickup_locations::id.eq(id.get()))
            .select(Row::as_select())
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(PickupLocation::try_from)
            .transpose()
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Vec<PickupLocation>, StoreError> {
        pickup_locations::table
            .filter(pickup_locations::organization_id.eq(organization.get()))
            .order(pickup_locations::id)
            .select(Row::as_select())
            .load(self.connection()?)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(PickupLocation::try_from)
            .collect()
    }

    async fn update(&mut self, location: &PickupLocation) -> Result<(), StoreError> {
        let written = diesel::update(pickup_locations::table)
            .filter(pickup_locations::organization_id.eq(location.organization_id.get()))
            .filter(pickup_locations::id.eq(location.id.get()))
            .set((
                pickup_locations::name.eq(text(&location.name)),
                pickup_locations::address.eq(json(&location.address)?),
                pickup_locations::active.eq(location.active),
            ))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if written == 0 {
            return Err(StoreError::Missing("pickup location"));
        }
        Ok(())
    }
}
