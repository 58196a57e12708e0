//! Our ids on the processor's objects.

use lessor_domain::ids::{CheckoutPubId, CustomerPubId, OrganizationPubId};
use lessor_domain::ports::OurIds;

use super::wire::Metadata;

const CHECKOUT: &str = "lessor_checkout";
const ORGANIZATION: &str = "lessor_organization";
const CUSTOMER: &str = "lessor_customer";
const VARIANT: &str = "lessor_variant";
const WORK: &str = "lessor_work";
const PAYMENTS: &str = "lessor_payments";

/// Metadata that is being put together.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids(Metadata);

impl Ids {
    pub(super) fn work(self, key: &str) -> Self {
        self.with(WORK, &key)
    }

    pub(super) fn checkout(self, id: CheckoutPubId) -> Self {
        self.with(CHECKOUT, &id)
    }

    pub(super) fn organization(self, id: OrganizationPubId) -> Self {
        self.with(ORGANIZATION, &id)
    }

    pub(super) fn customer(self, id: CustomerPubId) -> Self {
        self.with(CUSTOMER, &id)
    }

    pub(super) fn variant(self, processor_id: &str) -> Self {
        self.with(VARIANT, &processor_id)
    }

    pub(super) fn payments(self, number: u16) -> Self {
        self.with(PAYMENTS, &number)
    }

    /// Adds those of an object that this one belongs to; its work is its own.
    pub(super) fn and_those_of(mut self, owner: &Metadata) -> Self {
        for name in [CHECKOUT, ORGANIZATION, CUSTOMER] {
            if let Some(value) = owner.get(name) {
                self.0.insert(name.to_owned(), value.clone());
            }
        }
        self
    }

    pub(super) fn metadata(self) -> Metadata {
        self.0
    }

    fn with(mut self, name: &str, value: &dyn ToString) -> Self {
        // The processor keeps 500 characters of a value.
        let value = value.to_string().chars().take(500).collect();
        self.0.insert(name.to_owned(), value);
        self
    }
}

/// Whether the object was made by this work.
pub(super) fn is_of_work(metadata: &Metadata, key: &str) -> bool {
    metadata.get(WORK).is_some_and(|work| work == key)
}

/// Whether the object belongs to the checkout.
pub(super) fn is_of_checkout(metadata: &Metadata, id: CheckoutPubId) -> bool {
    metadata.get(CHECKOUT) == Some(&id.to_string())
}

/// How many payments the subscription was made for.
pub(super) fn payments_of(metadata: &Metadata) -> Option<u16> {
    metadata.get(PAYMENTS)?.parse().ok()
}

/// Whether the object is the customer's.
pub(super) fn is_of_customer(metadata: &Metadata, id: CustomerPubId) -> bool {
    metadata.get(CUSTOMER) == Some(&id.to_string())
}

/// A search for the customer.
pub(super) fn search_for_customer(id: CustomerPubId) -> String {
    format!("metadata['{CUSTOMER}']:'{id}'")
}

/// What the metadata holds of ours. An id that is none of ours is somebody else's.
pub(super) fn ours(metadata: &Metadata) -> OurIds {
    OurIds {
        checkout: metadata.get(CHECKOUT).and_then(|id| id.parse().ok()),
        organization: metadata.get(ORGANIZATION).and_then(|id| id.parse().ok()),
        customer: metadata.get(CUSTOMER).and_then(|id| id.parse().ok()),
    }
}
