//! Records as events show them: the very ones that GET answers.

use std::collections::BTreeMap;

use lessor_domain::ids::OrganizationPubId;
use lessor_domain::ports::{EventMessage, EventRecords, EventView, StoreError};
use serde::Serialize;
use serde_json::value::RawValue;

use super::EventRecord;
use crate::auth::links;
use crate::http::public_url::PublicUrl;
use crate::routes::checkouts::CheckoutRecord;
use crate::routes::customers::CustomerRecord;
use crate::routes::lease_terms::LeaseTermRecord;
use crate::routes::products::ProductRecord;
use crate::routes::variants::ProductVariantRecord;
use crate::routes::webhook_endpoints::{TestMessage, WebhookEndpointRecord};

/// Renders records for events.
#[derive(Clone, Debug)]
pub struct EventRenderer {
    /// The address of checkouts' pages for who is not shown their own.
    checkout_url: String,
}

impl EventRenderer {
    /// For a service that clients reach here.
    #[must_use]
    pub fn new(public_url: &PublicUrl) -> Self {
        Self {
            checkout_url: links::without_token(public_url),
        }
    }
}

fn json(record: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(StoreError::internal)
}

/// The members of a record, unread. Their names are ours, with nothing that JSON escapes.
fn members(record: &str) -> Result<BTreeMap<&str, &RawValue>, StoreError> {
    serde_json::from_str(record).map_err(StoreError::internal)
}

impl EventRecords for EventRenderer {
    fn render(&self, view: &EventView<'_>) -> Result<String, StoreError> {
        match *view {
            EventView::Product(product) => json(&ProductRecord::from(product)),
            EventView::ProductVariant {
                variant,
                mode,
                organization,
            } => json(&ProductVariantRecord::of(variant, organization, mode)),
            EventView::Customer(customer) => json(&CustomerRecord::new(customer)),
            EventView::LeaseTerm(term) => json(&LeaseTermRecord::from(term)),
            EventView::Checkout(view) => {
                json(&CheckoutRecord::with_page(view, self.checkout_url.clone()))
            }
            EventView::WebhookEndpoint(endpoint) => json(&WebhookEndpointRecord::from(endpoint)),
        }
    }

    fn previous(&self, before: &str, now: &str) -> Result<Option<String>, StoreError> {
        let mut before = members(before)?;
        let now = members(now)?;
        let is_as_before = |name: &&str, value: &&RawValue| {
            now.get(name).is_some_and(|now| now.get() == value.get())
        };
        let is_new = now.keys().any(|name| !before.contains_key(name));
        before.retain(|name, value| !is_as_before(name, value));
        if before.is_empty() && !is_new {
            return Ok(None);
        }
        json(&before).map(Some)
    }

    fn message(
        &self,
        message: &EventMessage<'_>,
        organization: OrganizationPubId,
    ) -> Result<Vec<u8>, StoreError> {
        let text = match *message {
            EventMessage::Event(event) => {
                let record = EventRecord::new(event, organization);
                json(&record.map_err(StoreError::internal)?)?
            }
            EventMessage::Test { id, at, endpoint } => {
                json(&TestMessage::new(id, at, endpoint, organization))?
            }
        };
        Ok(text.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_as_it_was() {
        let renderer = EventRenderer::new(&PublicUrl::new("https://lease.example"));
        for (before, now, previous) in [
            (r#"{"a":1}"#, r#"{"a":1}"#, None),
            (r#"{"a":1,"b":"x"}"#, r#"{"b":"x","a":1}"#, None),
            (r#"{"a":1,"b":2}"#, r#"{"a":3,"b":2}"#, Some(r#"{"a":1}"#)),
            (r#"{"a":"1.10"}"#, r#"{}"#, Some(r#"{"a":"1.10"}"#)),
            (r#"{}"#, r#"{"a":1}"#, Some("{}")),
            (
                r#"{"progress":{"percentage":5}}"#,
                r#"{"progress":{"percentage":6},"name":"„ü“"}"#,
                Some(r#"{"progress":{"percentage":5}}"#),
            ),
        ] {
            let told = renderer.previous(before, now).unwrap();
            assert_eq!(told.as_deref(), previous, "{before} {now}");
        }
        assert!(renderer.previous("[]", "{}").is_err());
    }
}
