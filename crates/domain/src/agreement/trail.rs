//! The record of what was done with a document.

use std::fmt;

use chrono::SecondsFormat;

use super::{Sha256, SignerKind};
use crate::ids::{AgreementPubId, CheckoutPubId, OrganizationId};
use crate::names::named_enum;
use crate::text::Line;
use crate::time::{Timestamp, to_millis};

named_enum! {
    /// What was done with the document.
    pub enum AgreementEventKind {
        /// It was made.
        Created = "created",
        /// The customer opened it.
        Viewed = "viewed",
        /// The customer agreed to electronic records.
        Consented = "consented",
        /// The customer signed it.
        Signed = "signed",
    }
}

/// A document as it is kept, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreementRecord {
    pub id: AgreementPubId,
    /// The lessor.
    pub organization_id: OrganizationId,
    pub checkout_id: CheckoutPubId,
    /// Of its bytes.
    pub sha256: Sha256,
    /// Which version of the organization's own terms it has, where it has some.
    pub terms_version: Option<u32>,
    /// Where it is signed, as the organization had it when the document was made.
    pub signer: SignerKind,
    /// When it was made, to the millisecond.
    pub created_at: Timestamp,
    /// When the customer signed it, to the millisecond.
    pub signed_at: Option<Timestamp>,
    /// The name that they typed, or that the organization's signer told; none after they were erased.
    pub signer_name: Option<String>,
    /// To which version of the [text](super::CONSENT_TEXT) about electronic records they agreed then; none
    /// where they signed elsewhere.
    pub consent_version: Option<String>,
    /// What the organization's signer knows the signature by; none after they were erased.
    pub signer_reference: Option<Line>,
}

/// Who signed a document, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The name as they typed it, or as the organization's signer tells it.
    pub name: String,
    /// When, to the millisecond.
    pub at: Timestamp,
    /// To which version of the [text](super::CONSENT_TEXT) about electronic records they agreed, where they
    /// signed on the checkout page.
    pub consent_version: Option<String>,
    /// What the organization's signer knows the signature by.
    pub reference: Option<Line>,
}

/// Something that is done with a document, before it is known what was done before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    pub kind: AgreementEventKind,
    /// When, to the millisecond.
    pub at: Timestamp,
    /// The address that it came from, where somebody outside did it.
    pub address: Option<String>,
    /// The program that they used, as it calls itself.
    pub user_agent: Option<String>,
}

impl Happening {
    /// The most characters of what a program calls itself that are kept.
    pub const MAX_USER_AGENT: usize = 500;

    /// Something done at this time, which is kept to the millisecond. Of what the program calls itself the
    /// visible characters are kept, and no more than [`Self::MAX_USER_AGENT`]: lines are apart in what is hashed.
    #[must_use]
    pub fn new(
        kind: AgreementEventKind,
        at: Timestamp,
        address: Option<String>,
        user_agent: Option<&str>,
    ) -> Self {
        let visible = |text: &str| -> String {
            let visible = text.chars().filter(|letter| !letter.is_control());
            visible.take(Self::MAX_USER_AGENT).collect()
        };
        Self {
            kind,
            at: to_millis(at),
            address,
            user_agent: user_agent.map(visible).filter(|text| !text.is_empty()),
        }
    }

    /// The entry that follows the one of this hash; the first follows the document's own.
    #[must_use]
    pub fn after(self, previous: Sha256) -> AgreementEvent {
        let at = self.at.to_rfc3339_opts(SecondsFormat::Millis, true);
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let hashed = [
            previous.to_string(),
            self.kind.to_string(),
            at,
            part(&self.address),
            part(&self.user_agent),
        ];
        AgreementEvent {
            sha256: Sha256::of(hashed.join("\n").as_bytes()),
            happening: self,
        }
    }
}

/// An entry of the record: what was done, hashed with the entry before it.
///
/// `sha256 = hex(SHA-256(previous + "\n" + event + "\n" + at + "\n" + address + "\n" + userAgent))`, where a
/// missing member is the empty text, `at` is RFC 3339 in UTC with milliseconds, and `previous` is the hash of
/// the entry before in hexadecimal; before the first stands the hash of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreementEvent {
    pub happening: Happening,
    pub sha256: Sha256,
}

/// The record of a document, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail<'a> {
    /// The document's hash.
    pub document: Sha256,
    pub events: &'a [AgreementEvent],
}

/// Where a record does not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Break {
    /// The entry whose hash is another than what it says gives, counted from 1.
    pub entry: usize,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "entry {} does not follow from the one before it",
            self.entry
        )
    }
}

impl Trail<'_> {
    /// Computes every hash anew.
    ///
    /// # Errors
    /// The first [`Break`].
    pub fn check(&self) -> Result<(), Break> {
        let mut previous = self.document;
        for (place, event) in self.events.iter().enumerate() {
            if event.happening.clone().after(previous) != *event {
                return Err(Break {
                    entry: place.saturating_add(1),
                });
            }
            previous = event.sha256;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail() -> (Sha256, Vec<AgreementEvent>) {
        let document = Sha256::of(b"document");
        let at = Timestamp::UNIX_EPOCH;
        let mut previous = document;
        let mut events = Vec::new();
        for (kind, address, agent) in [
            (AgreementEventKind::Created, None, None),
            (
                AgreementEventKind::Viewed,
                Some("192.0.2.1".to_owned()),
                Some("Browser/1"),
            ),
            (AgreementEventKind::Signed, None, Some("Browser/1\n2")),
        ] {
            let event = Happening::new(kind, at, address, agent).after(previous);
            previous = event.sha256;
            events.push(event);
        }
        (document, events)
    }

    #[test]
    fn each_entry_is_hashed_with_the_one_before_as_it_is_documented() {
        let (document, events) = trail();
        let first = format!("{document}\ncreated\n1970-01-01T00:00:00.000Z\n\n");
        assert_eq!(events[0].sha256, Sha256::of(first.as_bytes()));
        let second = format!(
            "{}\nviewed\n1970-01-01T00:00:00.000Z\n192.0.2.1\nBrowser/1",
            events[0].sha256
        );
        assert_eq!(events[1].sha256, Sha256::of(second.as_bytes()));
        assert_eq!(
            events[2].happening.user_agent.as_deref(),
            Some("Browser/12"),
            "no line of what is hashed is anybody's to add"
        );
        let trail = Trail {
            document,
            events: &events,
        };
        assert_eq!(trail.check(), Ok(()));
    }

    #[test]
    fn what_was_changed_taken_away_or_put_in_is_found() {
        let (document, events) = trail();
        let broken_at = |document, events: &[AgreementEvent]| {
            let trail = Trail { document, events };
            trail.check().err().map(|broken| broken.entry)
        };
        assert_eq!(broken_at(Sha256::of(b"another"), &events), Some(1));
        let mut changed = events.clone();
        changed[1].happening.address = Some("192.0.2.2".to_owned());
        assert_eq!(broken_at(document, &changed), Some(2));
        let mut shorter = events.clone();
        shorter.remove(1);
        assert_eq!(broken_at(document, &shorter), Some(2));
        let mut longer = events.clone();
        longer.insert(1, events[1].clone());
        assert_eq!(broken_at(document, &longer), Some(3));
    }
}
