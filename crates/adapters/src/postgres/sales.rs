//! What of the catalog checkouts have.

use diesel::dsl::{exists, select, sql};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, Bool, Jsonb};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::ids::ProductVariantPubId;
use lessor_domain::ports::StoreError;
use serde_json::json;
use uuid::Uuid;

use super::error::store_error;
use super::schema::{checkout_applications, checkout_items, product_variants};

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
    let purchases: Vec<serde_json::Value> = ids
        .into_iter()
        .map(|id| json!([{ "variantId": ProductVariantPubId::from_uuid(id).to_string() }]))
        .collect();
    // Written out, as the partial index has it.
    let bought = checkout_applications::table
        .filter(checkout_applications::organization_id.eq(organization))
        .filter(
            sql::<Bool>("checkout_applications.purchase_items <> '[]' and checkout_applications.purchase_items @> any(")
                .bind::<Array<Jsonb>, _>(purchases)
                .sql(")"),
        );
    select(exists(bought))
        .get_result(connection)
        .await
        .map_err(store_error)
}
