//! The leased things.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::checkout::{CheckoutItem, Snapshot};
use lessor_domain::ids::{CheckoutItemPubId, ProductVariantPubId};
use lessor_domain::ports::StoreError;
use uuid::Uuid;

use super::text;
use crate::postgres::decode::Place;
use crate::postgres::schema::checkout_items;

#[derive(Debug, PartialEq, Queryable, Selectable, Insertable)]
#[diesel(table_name = checkout_items, check_for_backend(Pg))]
#[diesel(treat_none_as_default_value = false)]
pub(in crate::postgres::checkouts) struct ItemRow {
    organization_id: i64,
    id: Uuid,
    checkout_id: Uuid,
    position: i32,
    variant_id: Uuid,
    sku: String,
    name: String,
    serial_number: Option<String>,
}

impl ItemRow {
    pub(super) fn of(checkout: &Snapshot) -> Vec<Self> {
        checkout
            .items
            .iter()
            .zip(0..)
            .map(|(item, position)| Self {
                organization_id: checkout.organization_id.get(),
                id: item.id.as_uuid(),
                checkout_id: checkout.id.as_uuid(),
                position,
                variant_id: item.variant_id.as_uuid(),
                sku: item.sku.as_str().to_owned(),
                name: item.name.as_str().to_owned(),
                serial_number: text(item.serial_number.as_ref()),
            })
            .collect()
    }

    pub(in crate::postgres::checkouts) const fn id(&self) -> Uuid {
        self.id
    }

    pub(super) fn read(self) -> Result<CheckoutItem, StoreError> {
        let id = CheckoutItemPubId::from_uuid(self.id);
        let at = Place::new("checkout_items", &id);
        Ok(CheckoutItem {
            id,
            variant_id: ProductVariantPubId::from_uuid(self.variant_id),
            sku: at.parse("sku", &self.sku)?,
            name: at.parse("name", &self.name)?,
            serial_number: at.parse_if("serial_number", self.serial_number)?,
        })
    }
}
