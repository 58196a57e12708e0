//! The query of the list of checkouts.

use std::str::FromStr;

use lessor_domain::checkout::Lifecycle;
use lessor_domain::ids::{CheckoutPubId, IdError};
use lessor_domain::ports::{self, CheckoutFilter};
use lessor_domain::services::checkouts::ListCheckouts;
use serde::Deserialize;

use super::record::{LifecycleName, WaitlistReasonName};
use crate::http::error::ApiError;
use crate::request::fields::{Limit, List, Moment, Offset, Reference, Text};
use crate::wire::records::{CheckoutId, UserPublicId};
use crate::wire::{self, MetadataInput, SortOrder, page, wire_enum};

/// Which checkouts, in which order.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListCheckoutsQuery {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// How many to skip.
    #[serde(default)]
    #[param(inline)]
    offset: Offset,
    /// The id of the checkout that the page comes after; at constant cost, however deep.
    #[param(inline, value_type = Option<CheckoutId>)]
    starting_after: Option<Text<64>>,
    /// Of this customer, `usr_…`.
    #[param(inline, value_type = Option<UserPublicId>)]
    user_id: Option<Text<64>>,
    /// This one, `chk_…`.
    #[param(inline, value_type = Option<CheckoutId>)]
    id: Option<Text<64>>,
    /// Of this organization, by either of its ids; a key acts for one.
    #[param(inline)]
    organization_id: Option<Reference>,
    /// Of these organizations, comma-separated or repeated.
    #[param(inline)]
    organization_ids: Option<List<Reference, 100, 1>>,
    /// In this state.
    lifecycle: Option<LifecycleName>,
    /// In one of these states, comma-separated or repeated.
    #[param(inline)]
    lifecycles: Option<List<LifecycleName, 100, 1>>,
    /// Waiting for this.
    waitlist_reason: Option<WaitlistReasonName>,
    /// Those that a person must look at, or those that nobody must.
    needs_attention: Option<bool>,
    /// What they are sorted by, `createdAt` when nothing is said; ties go by id.
    #[param(inline)]
    sort_by: Option<CheckoutSortBy>,
    /// Which way, `desc` when nothing is said.
    #[param(inline)]
    sort_order: Option<SortOrder>,
    /// Of this order of yours.
    #[param(inline)]
    external_order_id: Option<Text<255>>,
    /// Made after this time, which does not belong to it.
    #[param(inline)]
    created_after: Option<Moment>,
    /// Made before this time, which does not belong to it.
    #[param(inline)]
    created_before: Option<Moment>,
    /// Last changed after this time, which does not belong to it.
    #[param(inline)]
    updated_after: Option<Moment>,
    /// Last changed before this time, which does not belong to it.
    #[param(inline)]
    updated_before: Option<Moment>,
    /// With this value of a key of metadata, `metadata[key]=value`; with all of several.
    #[param(inline, style = DeepObject, explode)]
    metadata: Option<MetadataInput>,
}

wire_enum! {
    /// What checkouts are sorted by.
    CheckoutSortBy = ports::CheckoutSort {
        CreatedAt = "createdAt",
        UpdatedAt = "updatedAt",
        Lifecycle = "lifecycle",
        ExternalOrderId = "externalOrderId",
        LeaseStartDate = "leaseStartDate",
    }
}

/// The id that a filter asks for, if it asks for one; `None` when nothing can have it.
fn sought<P: FromStr<Err = IdError>>(
    param: &str,
    id: Option<&Text<64>>,
) -> Result<Option<Option<P>>, ApiError> {
    match id {
        None => Ok(Some(None)),
        Some(id) => Ok(wire::findable(param, id.as_str())?.map(Some)),
    }
}

/// The states of a filter: those named one by one and those named as a list, and only waiting ones
/// where it asks what checkouts wait for. `None` when these exclude each other.
fn states(
    one: Option<Lifecycle>,
    several: Option<Vec<Lifecycle>>,
    waiting: bool,
) -> Option<Vec<Lifecycle>> {
    let filters = one.is_some() || several.is_some() || waiting;
    let mut states: Vec<Lifecycle> = several.unwrap_or_else(|| Lifecycle::ALL.to_vec());
    states
        .retain(|state| one.is_none_or(|one| one == *state) && (!waiting || state.is_waitlisted()));
    match (filters, states.is_empty()) {
        (false, _) => Some(Vec::new()),
        (true, true) => None,
        (true, false) => Some(states),
    }
}

impl ListCheckoutsQuery {
    pub(crate) fn parse(self) -> Result<ListCheckouts, ApiError> {
        let after = self.starting_after.as_ref();
        let page = page::<CheckoutPubId>(self.limit.get(), self.offset.get(), after)?;
        let mut organizations = Vec::new();
        if let Some(reference) = &self.organization_id {
            organizations.push(wire::organization("organizationId", reference)?);
        }
        for reference in self.organization_ids.iter().flat_map(List::as_slice) {
            organizations.push(wire::organization("organizationIds", reference)?);
        }
        let external_order_id = self
            .external_order_id
            .map(|id| wire::parse("externalOrderId", id.as_str()))
            .transpose()?;
        let lifecycles = states(
            self.lifecycle.map(|state| state.0),
            self.lifecycles
                .map(|states| states.into_iter().map(|state| state.0).collect()),
            self.waitlist_reason.is_some(),
        );
        let id = sought("id", self.id.as_ref())?;
        let customer = sought("userId", self.user_id.as_ref())?;
        let created = wire::span(self.created_after, self.created_before);
        let updated = wire::span(self.updated_after, self.updated_before);
        let metadata = wire::metadata(self.metadata)?;
        let filter = match (lifecycles, id, customer) {
            (Some(lifecycles), Some(id), Some(customer)) => Some(CheckoutFilter {
                id,
                customer,
                lifecycles,
                waitlist_reason: self.waitlist_reason.map(|reason| reason.0),
                external_order_id,
                needs_attention: self.needs_attention,
                created,
                updated,
                metadata,
            }),
            _ => None,
        };
        Ok(ListCheckouts {
            organizations,
            filter,
            sort: self.sort_by.map(Into::into).unwrap_or_default(),
            order: self.sort_order.map(Into::into).unwrap_or_default(),
            page,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_states_narrow_each_other() {
        use Lifecycle::{Created, Shipped, WaitlistedLocation};
        assert_eq!(states(None, None, false), Some(Vec::new()));
        assert_eq!(states(Some(Created), None, false), Some(vec![Created]));
        assert_eq!(
            states(Some(Created), Some(vec![Created, Shipped]), false),
            Some(vec![Created])
        );
        assert_eq!(states(Some(Created), Some(vec![Shipped]), false), None);
        assert_eq!(
            states(None, Some(vec![Created, WaitlistedLocation]), true),
            Some(vec![WaitlistedLocation])
        );
        assert_eq!(states(Some(Created), None, true), None);
        assert_eq!(states(None, None, true).map(|states| states.len()), Some(3));
    }
}
