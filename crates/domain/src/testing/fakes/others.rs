//! Who verifies, checks, makes documents and carries.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::script::Script;
use crate::address::{Country, PhoneNumber};
use crate::agreement::Agreement;
use crate::catalog::{Product, ProductVariant};
use crate::checkout::Tracking;
use crate::credit::CreditDecision;
use crate::endpoint::Endpoint;
use crate::events::{NumberedEvent, RecordText};
use crate::ids::{CheckoutPubId, OrganizationPubId};
use crate::ports::{
    AgreementRenderer, Attempt, CarrierDetector, CreditAnswer, CreditChecker, CreditDesk,
    CreditRequest, DialingPlan, DocumentSigner, Doubt, EventMessage, EventRecords, EventView,
    IdentityProgress, IdentityResult, IdentitySession, IdentityVerifier, InboxMessage,
    MessageReader, Person, ProcessorEvent, RenderError, Scope, ShipmentTracker, SignatureRequest,
    StoreError, Verdict,
};
use crate::pricing::Quote;
use crate::shipments::{Carrier, CarrierError, CarrierReport, TrackingNumber};
use crate::text::Line;

/// An identity verifier.
#[derive(Debug, Default)]
pub struct FakeIdentityVerifier {
    /// Answers of [`IdentityVerifier::start`].
    pub sessions: Script<IdentitySession>,
    results: Mutex<HashMap<String, IdentityResult>>,
    opened: AtomicUsize,
}

impl FakeIdentityVerifier {
    /// How many sessions with a page were opened before.
    fn opened(&self) -> usize {
        self.opened.fetch_add(1, Ordering::Relaxed)
    }

    /// Decides the session; one that is not decided is verified.
    pub fn decide(&self, session_id: &str, result: IdentityResult) {
        self.results
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(session_id.to_owned(), result);
    }
}

#[async_trait]
impl IdentityVerifier for FakeIdentityVerifier {
    async fn start(
        &self,
        attempt: &Attempt,
        checkout: CheckoutPubId,
        _person: &Person,
        return_url: Option<String>,
    ) -> Result<Verdict<IdentitySession>, Doubt> {
        let id = checkout.as_uuid().simple();
        // Where nobody is to come back there is no page either.
        let answer = |url: Option<String>| match url {
            None => IdentitySession {
                id: format!("vs_{id}"),
                url: None,
            },
            Some(_) => IdentitySession {
                id: format!("vs_{id}_{}", self.opened()),
                url: Some(format!("https://verifier.test/{id}")),
            },
        };
        self.sessions.answer(attempt, || answer(return_url))
    }

    async fn progress(&self, scope: Scope, session_id: &str) -> Result<IdentityProgress, Doubt> {
        let result = self.result(scope, session_id).await?;
        let is_open = result == IdentityResult::AwaitingCustomer;
        Ok(IdentityProgress {
            result,
            url: is_open.then(|| format!("https://verifier.test/again/{session_id}")),
        })
    }

    async fn result(&self, _scope: Scope, session_id: &str) -> Result<IdentityResult, Doubt> {
        let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(results
            .get(session_id)
            .copied()
            .unwrap_or(IdentityResult::Verified))
    }
}

/// A credit checker.
#[derive(Debug, Default)]
pub struct FakeCreditChecker {
    /// Answers of [`CreditChecker::check`].
    pub checks: Script<()>,
}

#[async_trait]
impl CreditChecker for FakeCreditChecker {
    async fn check(
        &self,
        attempt: &Attempt,
        _person: &Person,
        _quote: Option<Quote>,
    ) -> Result<Verdict<()>, Doubt> {
        self.checks.answer(attempt, || ())
    }
}

/// Organizations' signers. Whatever is sent is taken, unless something else was set.
#[derive(Debug, Default)]
pub struct FakeDocumentSigner {
    answers: Mutex<Vec<Doubt>>,
    sent: Mutex<Vec<(String, Endpoint, SignatureRequest)>>,
}

impl FakeDocumentSigner {
    /// What comes of the next document that is sent, after what was set before.
    pub fn will_fail(&self, doubt: Doubt) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push(doubt);
    }

    /// What was sent where under which key, in order.
    #[must_use]
    pub fn sent(&self) -> Vec<(String, Endpoint, SignatureRequest)> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.clone()
    }
}

#[async_trait]
impl DocumentSigner for FakeDocumentSigner {
    async fn send(
        &self,
        attempt: &Attempt,
        endpoint: &Endpoint,
        request: &SignatureRequest,
    ) -> Result<(), Doubt> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let key = attempt.idempotency_key.clone();
        sent.push((key, endpoint.clone(), request.clone()));
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.is_empty() {
            return Ok(());
        }
        Err(answers.remove(0))
    }
}

/// Organizations' endpoints for decisions about credit. Whoever is asked about is approved, unless
/// something else was set.
#[derive(Debug, Default)]
pub struct FakeCreditDesk {
    answers: Mutex<Vec<Result<CreditAnswer, Doubt>>>,
    asked: Mutex<Vec<(Endpoint, CreditRequest)>>,
}

impl FakeCreditDesk {
    /// What is answered next, after what was set before.
    pub fn will_answer(&self, answer: Result<CreditAnswer, Doubt>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push(answer);
    }

    /// What was asked of whom, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<(Endpoint, CreditRequest)> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.clone()
    }
}

#[async_trait]
impl CreditDesk for FakeCreditDesk {
    async fn ask(
        &self,
        _attempt: &Attempt,
        endpoint: &Endpoint,
        request: &CreditRequest,
    ) -> Result<CreditAnswer, Doubt> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push((endpoint.clone(), request.clone()));
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.is_empty() {
            return Ok(CreditAnswer::Decided {
                decision: CreditDecision::Approved,
                reasons: Vec::new(),
                reference: None,
            });
        }
        answers.remove(0)
    }
}

/// Makes documents that are the content's own words, as they are debugged.
#[derive(Debug, Clone, Copy, Default)]
pub struct FakeRenderer;

#[async_trait]
impl AgreementRenderer for FakeRenderer {
    async fn render(&self, agreement: &Agreement) -> Result<Vec<u8>, RenderError> {
        Ok(format!("{agreement:#?}").into_bytes())
    }
}

/// Carriers that are asked where shipments are.
#[derive(Debug, Default)]
pub struct FakeShipmentTracker {
    reports: Mutex<HashMap<String, Vec<CarrierReport>>>,
}

impl FakeShipmentTracker {
    /// Adds what the carrier reports of the shipment.
    pub fn report(&self, tracking: &Tracking, reported: CarrierReport) {
        self.reports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(tracking.number.as_str().to_owned())
            .or_default()
            .push(reported);
    }
}

#[async_trait]
impl ShipmentTracker for FakeShipmentTracker {
    async fn reports(&self, tracking: &Tracking) -> Result<Vec<CarrierReport>, Doubt> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(reports
            .get(tracking.number.as_str())
            .cloned()
            .unwrap_or_default())
    }
}

/// Tells carriers by how their numbers begin, and knows no check digit: `1Z` is UPS. Of
/// twelve digits, those that begin with 6 to 9 are FedEx's, and the others may be of
/// somebody whom Lessor does not track. Whatever else is nobody's.
#[derive(Debug, Clone, Copy, Default)]
pub struct FakeCarrierDetector;

impl CarrierDetector for FakeCarrierDetector {
    fn detect(&self, number: &TrackingNumber) -> Result<Carrier, CarrierError> {
        let number = number.as_str().as_bytes();
        let is_express = number.len() == 12 && number.iter().all(u8::is_ascii_digit);
        match number {
            [b'1', b'Z', ..] => Ok(Carrier::Ups),
            [b'6'..=b'9', ..] if is_express => Ok(Carrier::Fedex),
            _ if is_express => Err(CarrierError::Ambiguous),
            _ => Err(CarrierError::None),
        }
    }
}

/// Knows a handful of countries, of which it reads numbers of their full length, in international form
/// and without any prefix: `+14155550100`, `(415) 555-0100`. It reads no other, such as one whose brackets
/// do not pair, and what it reads a real plan reads alike.
#[derive(Debug, Clone, Copy, Default)]
pub struct FakeDialingPlan;

/// The countries that are known, with their calling codes, of which none is the beginning of another,
/// and how many digits their numbers have behind those.
const COUNTRIES: [(&str, &str, usize); 5] = [
    ("US", "1", 10),
    ("CA", "1", 10),
    ("DE", "49", 11),
    ("FR", "33", 9),
    ("GB", "44", 10),
];

/// Whether every bracket is closed, one at a time.
fn is_paired(text: &str) -> bool {
    let mut brackets = text.chars().filter(|c| matches!(c, '(' | ')'));
    while let Some(opened) = brackets.next() {
        if opened != '(' || brackets.next() != Some(')') {
            return false;
        }
    }
    true
}

impl DialingPlan for FakeDialingPlan {
    fn read(&self, country: Option<Country>, text: &Line) -> Option<PhoneNumber> {
        let (is_international, rest) = match text.as_str().strip_prefix('+') {
            Some(rest) => (true, rest),
            None => (false, text.as_str()),
        };
        let mut digits: String = rest
            .chars()
            .filter(|c| !matches!(c, ' ' | '-' | '(' | ')'))
            .collect();
        // A last digit that stands apart may be meant as an extension.
        let is_apart = rest
            .chars()
            .rev()
            .nth(1)
            .is_some_and(|c| !c.is_ascii_digit());
        let (_, code, length) = if is_international {
            let known = COUNTRIES
                .iter()
                .find(|(_, code, _)| digits.starts_with(code))?;
            digits = digits.split_off(known.1.len());
            known
        } else {
            let country = country?;
            COUNTRIES
                .iter()
                .find(|(known, _, _)| *known == country.code())?
        };
        // A number that begins like a calling code or a prefix may be meant otherwise.
        let is_prefixed = digits.starts_with('0') || digits.starts_with(code);
        let is_plain = !is_prefixed && (is_international || !digits.starts_with('1'));
        let is_number = is_plain
            && !is_apart
            && is_paired(rest)
            && digits.len() == *length
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(PhoneNumber {
            country_code: code.parse().ok()?,
            national: digits,
        })
    }
}

/// The messages of a processor that sends none: whatever comes is unreadable.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMessages;

impl MessageReader for NoMessages {
    fn read(&self, _: &InboxMessage) -> Result<ProcessorEvent, String> {
        Err("the fake processor sends no messages".to_owned())
    }
}

/// Records as events show them, by what most changes of them change: as one member, whose value is no JSON.
#[derive(Debug, Clone, Copy, Default)]
pub struct FakeRecords;

impl EventRecords for FakeRecords {
    fn render(&self, view: &EventView<'_>) -> Result<RecordText, StoreError> {
        let value = match *view {
            EventView::Product(product) => {
                let Product {
                    id, name, status, ..
                } = product;
                format!("{id} {name} {status} {}", product.updated_at)
            }
            EventView::ProductVariant { variant, mode, .. } => {
                let stock = variant.stock.of(mode);
                let ProductVariant {
                    id, name, status, ..
                } = variant;
                format!("{id} {name} {status} {stock:?} {}", variant.updated_at)
            }
            EventView::Customer(customer) => format!(
                "{} {:?} {:?} {}",
                customer.id, customer.profile, customer.screening, customer.updated_at
            ),
            EventView::LeaseTerm(term) => format!("{} {:?} {}", term.id, term.card, term.status),
            EventView::WebhookEndpoint(endpoint) => format!(
                "{} {} {} {:?}",
                endpoint.id, endpoint.url, endpoint.status, endpoint.disabled_reason
            ),
            EventView::Checkout(view) => {
                let checkout = &view.checkout;
                format!(
                    "{} {} {} {:?} {:?}",
                    checkout.id,
                    checkout.lifecycle(),
                    checkout.updated_at,
                    view.cost,
                    view.qualification
                )
            }
        };
        Ok(RecordText::of_one("\"record\"", &value))
    }

    fn message(
        &self,
        message: &EventMessage<'_>,
        organization: OrganizationPubId,
    ) -> Result<Vec<u8>, StoreError> {
        let text = match message {
            EventMessage::Event(event) => {
                let NumberedEvent { sequence, event } = event;
                format!(
                    "{organization} {sequence} {} {}",
                    event.id, event.event_type
                )
            }
            EventMessage::Test { id, endpoint, .. } => {
                format!("{organization} {id} {}", endpoint.id)
            }
        };
        Ok(text.into_bytes())
    }
}
