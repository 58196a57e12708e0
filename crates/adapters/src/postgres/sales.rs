//! What of the catalog checkouts have.

use diesel::dsl::{exists, select};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::ids::ProductVariantPubId;
use lessor_domain::ports::StoreError;
use uuid::Uuid;

use super::error::store_error;
use super::schema::{checkout_items, checkout_purchases, product_variants};

/// Whether any checkout leases one of the variants or bought it along.
pub(super) async fn sold(
    connection: &mut AsyncPgConnection,
    variants: product_variants::BoxedQuery<'static, Pg>,
) -> Result<bool, StoreError> {
    let of_one: Vec<(i64, Uuid)> = variants
        .select((product_variants::organization_id, product_variants::id))
        .load(connection)
        .await
        .map_err(store_error)?;
    let [(organization, _), ..] = *of_one.as_slice() else {
        return Ok(false);
    };
    let ids: Vec<Uuid> = of_one.iter().map(|(_, id)| *id).collect();
    let leased = checkout_items::table
        .filter(checkout_items::organization_id.eq(organization))
        .filter(checkout_items::variant_id.eq_any(ids.clone()));
    let is_leased: bool = select(exists(leased))
        .get_result(connection)
        .await
        .map_err(store_error)?;
    if is_leased {
        return Ok(true);
    }
    let named: Vec<String> = ids
        .into_iter()
        .map(|id| ProductVariantPubId::from_uuid(id).to_string())
        .collect();
    let bought = checkout_purchases::table
        .filter(checkout_purchases::organization_id.eq(organization))
        .filter(checkout_purchases::variant_id.eq_any(named));
    select(exists(bought))
        .get_result(connection)
        .await
        .map_err(store_error)
}
