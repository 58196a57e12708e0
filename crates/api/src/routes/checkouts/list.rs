//! The query of the list of checkouts.

use lessor_domain::checkout;
use lessor_domain::ports::CheckoutFilter;
use lessor_domain::services::checkouts::ListCheckouts;
use serde::Deserialize;

use crate::http::error::ApiError;
use crate::request::{List, Plain as _};
use crate::wire::{
    self, CheckoutId, CheckoutLookup, CheckoutSort, ExternalId, Lifecycle, Limit, MetadataInput,
    Offset, OrganizationRef, SortOrder, Time, UserLookup, WaitlistReason, page,
};

type Organizations = List<OrganizationRef, 100, 1>;
type Lifecycles = List<Lifecycle, 100, 1>;

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
    #[param(inline)]
    starting_after: Option<CheckoutId>,
    /// Of this customer, `usr_…`.
    #[param(inline)]
    user_id: Option<UserLookup>,
    /// This one, `chk_…`.
    #[param(inline)]
    id: Option<CheckoutLookup>,
    /// Of this organization, by either of its ids; a key acts for one.
    #[param(inline)]
    organization_id: Option<OrganizationRef>,
    /// Of these organizations, comma-separated or repeated.
    #[param(inline)]
    organization_ids: Option<Organizations>,
    /// In this state.
    lifecycle: Option<Lifecycle>,
    /// In one of these states, comma-separated or repeated.
    #[param(inline)]
    lifecycles: Option<Lifecycles>,
    /// Waiting for this.
    waitlist_reason: Option<WaitlistReason>,
    /// Those that a person must look at, or those that nobody must.
    needs_attention: Option<bool>,
    /// What they are sorted by, `createdAt` when nothing is said; ties go by id.
    #[param(inline)]
    sort_by: Option<CheckoutSort>,
    /// Which way, `desc` when nothing is said.
    #[param(inline)]
    sort_order: Option<SortOrder>,
    /// Of this order of yours.
    #[param(inline)]
    external_order_id: Option<ExternalId>,
    /// Made after this time, which does not belong to it.
    #[param(inline)]
    created_after: Option<Time>,
    /// Made before this time, which does not belong to it.
    #[param(inline)]
    created_before: Option<Time>,
    /// Last changed after this time, which does not belong to it.
    #[param(inline)]
    updated_after: Option<Time>,
    /// Last changed before this time, which does not belong to it.
    #[param(inline)]
    updated_before: Option<Time>,
    /// With this value of a key of metadata, `metadata[key]=value`; with all of several.
    #[param(inline, style = DeepObject, explode)]
    metadata: Option<MetadataInput>,
}

/// The states of a filter: those named one by one and those named as a list, and only waiting ones
/// where it asks what checkouts wait for. `None` when these exclude each other.
fn states(
    one: Option<checkout::Lifecycle>,
    several: Option<Vec<checkout::Lifecycle>>,
    waiting: bool,
) -> Option<Vec<checkout::Lifecycle>> {
    let filters = one.is_some() || several.is_some() || waiting;
    let mut states = several.unwrap_or_else(|| checkout::Lifecycle::ALL.to_vec());
    states
        .retain(|state| one.is_none_or(|one| one == *state) && (!waiting || state.is_waitlisted()));
    match (filters, states.is_empty()) {
        (false, _) => Some(Vec::new()),
        (true, true) => None,
        (true, false) => Some(states),
    }
}

impl ListCheckoutsQuery {
    /// The list that the query asks for.
    ///
    /// # Errors
    /// 400 for a start that is told twice, 403 for another organization.
    pub(crate) fn command(self) -> Result<ListCheckouts, ApiError> {
        let several = self.organization_ids.into_iter().flatten();
        let organizations = self.organization_id.into_iter().chain(several);
        let lifecycles = states(
            self.lifecycle.plain(),
            self.lifecycles.plain(),
            self.waitlist_reason.is_some(),
        );
        // None of these where nothing can have what is asked for.
        let id = self.id.map_or(Some(None), |id| id.0.id.map(Some));
        let customer = self.user_id.map_or(Some(None), |id| id.0.id.map(Some));
        let metadata = wire::metadata(self.metadata)?;
        let filter = match (lifecycles, id, customer) {
            (Some(lifecycles), Some(id), Some(customer)) => Some(CheckoutFilter {
                id,
                customer,
                lifecycles,
                waitlist_reason: self.waitlist_reason.plain(),
                external_order_id: self.external_order_id.plain(),
                needs_attention: self.needs_attention,
                created: wire::span(self.created_after, self.created_before),
                updated: wire::span(self.updated_after, self.updated_before),
                metadata,
            }),
            _ => None,
        };
        Ok(ListCheckouts {
            organizations: organizations
                .map(|organization| wire::organization(&organization))
                .collect::<Result<_, _>>()?,
            filter,
            sort: self.sort_by.plain().unwrap_or_default(),
            order: self.sort_order.plain().unwrap_or_default(),
            page: page(self.limit, self.offset, self.starting_after)?,
            is_long: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_states_narrow_each_other() {
        use checkout::Lifecycle::{Created, Shipped, WaitlistedLocation};
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
