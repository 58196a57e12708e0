//! Records as events show them: the very ones that GET answers.

use std::cell::Cell;
use std::io::{self, Write};

use lessor_domain::events::{MemberPlace, RecordText};
use lessor_domain::ids::OrganizationPubId;
use lessor_domain::ports::{EventMessage, EventRecords, EventView, StoreError};
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

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

/// How many bytes and how many members records have, mostly: room that need not grow.
const USUAL: usize = 4 * 1024;
const USUAL_MEMBERS: usize = 40;

fn json(record: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(StoreError::internal)
}

/// The record with the places of its members, noted while it is written.
fn with_members(record: &impl Serialize) -> Result<RecordText, StoreError> {
    let (mut text, written) = (Vec::with_capacity(USUAL), Cell::new(0));
    let mut members = Vec::with_capacity(USUAL_MEMBERS);
    let writer = Counting {
        text: &mut text,
        written: &written,
    };
    let marks = Marking {
        members: &mut members,
        written: &written,
        depth: 0,
    };
    let mut serializer = serde_json::Serializer::with_formatter(writer, marks);
    record
        .serialize(&mut serializer)
        .map_err(StoreError::internal)?;
    Ok(RecordText {
        json: String::from_utf8(text).map_err(StoreError::internal)?,
        members,
    })
}

/// Says how much was written.
struct Counting<'a> {
    text: &'a mut Vec<u8>,
    written: &'a Cell<usize>,
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    /// What JSON is written by, piece by piece.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.text.extend_from_slice(bytes);
        self.written.set(self.text.len());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes as compactly as answers are written, and notes where the members of the outermost object stand.
struct Marking<'a> {
    members: &'a mut Vec<MemberPlace>,
    written: &'a Cell<usize>,
    /// How many objects what is written stands in.
    depth: usize,
}

impl Marking<'_> {
    /// Notes something of the member that is written last, where it is one of the outermost object.
    fn note(&mut self, note: impl FnOnce(&mut MemberPlace, usize)) {
        if self.depth == 1
            && let Some(member) = self.members.last_mut()
        {
            note(member, self.written.get());
        }
    }
}

impl Formatter for Marking<'_> {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_add(1);
        CompactFormatter.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        CompactFormatter.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        CompactFormatter.begin_object_key(writer, first)?;
        if self.depth == 1 {
            let (start, value, end) = (self.written.get(), 0, 0);
            self.members.push(MemberPlace { start, value, end });
        }
        Ok(())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        CompactFormatter.begin_object_value(writer)?;
        self.note(|member, here| member.value = here);
        Ok(())
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        CompactFormatter.end_object_value(writer)?;
        self.note(|member, here| member.end = here);
        Ok(())
    }
}

impl EventRecords for EventRenderer {
    fn render(&self, view: &EventView<'_>) -> Result<RecordText, StoreError> {
        match *view {
            EventView::Product(product) => with_members(&ProductRecord::from(product)),
            EventView::ProductVariant {
                variant,
                mode,
                organization,
            } => with_members(&ProductVariantRecord::of(variant, organization, mode)),
            EventView::Customer(customer) => with_members(&CustomerRecord::new(customer)),
            EventView::LeaseTerm(term) => with_members(&LeaseTermRecord::from(term)),
            EventView::Checkout(view) => {
                with_members(&CheckoutRecord::with_page(view, self.checkout_url.clone()))
            }
            EventView::WebhookEndpoint(endpoint) => {
                with_members(&WebhookEndpointRecord::from(endpoint))
            }
        }
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
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_differs_is_told_as_it_was() {
        for (before, now, previous) in [
            (json!({"a": 1}), json!({"a": 1}), None),
            (
                json!({"a": 1, "b": 2}),
                json!({"a": 3, "b": 2}),
                Some(json!({"a": 1})),
            ),
            (json!({"a": "1.10"}), json!({}), Some(json!({"a": "1.10"}))),
            (json!({}), json!({"a": 1}), Some(json!({}))),
            (
                json!({"m": {"a": {}, "b": [{"a": 1}]}, "z": "}\","}),
                json!({"a": null, "m": {"a": {}, "b": [{"a": 2}]}, "z": "}\","}),
                Some(json!({"m": {"a": {}, "b": [{"a": 1}]}})),
            ),
            (
                json!({"progress": {"percentage": 5}}),
                json!({"name": "„ü“", "progress": {"percentage": 6}}),
                Some(json!({"progress": {"percentage": 5}})),
            ),
        ] {
            let (before, now) = (with_members(&before).unwrap(), with_members(&now).unwrap());
            let told = before.previous(&now);
            let told: Option<Value> = told.map(|told| serde_json::from_str(&told).unwrap());
            assert_eq!(told, previous, "{before:?} {now:?}");
        }
    }

    #[test]
    fn records_are_written_as_answers_are() {
        let record = json!({"a": {}, "b": [], "c": [{"d": "\u{1}"}], "e": {"f": 1.5}, "g": null});
        let written = with_members(&record).unwrap();
        assert_eq!(written.json, record.to_string());
        let members = written.members.iter();
        let members: Vec<&str> = members
            .map(|member| &written.json[member.start..member.end])
            .collect();
        assert_eq!(
            members,
            [
                r#""a":{}"#,
                r#""b":[]"#,
                r#""c":[{"d":"\u0001"}]"#,
                r#""e":{"f":1.5}"#,
                r#""g":null"#
            ]
        );
    }
}
