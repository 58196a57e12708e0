//! Payment methods, set up for payments while the customer is away.

use lessor_domain::access::Mode;
use lessor_domain::checkout::{self, Refusal};
use lessor_domain::ports::{Attempt, Doubt, ProcessorCustomer, Verdict};
use serde::Serialize;

use super::client::Client;
use super::customers;
use super::error::{CallError, done, refusal, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::wire::{Expandable, IntentStatus, Metadata, Page};
use super::wire_payments::{PaymentMethod, SetupIntent};

/// The sandbox's card that always pays.
pub(super) const TEST_METHOD: &str = "pm_card_visa";
/// Names of the sandbox's cards begin so; each use makes a new method of them.
const TEST_METHODS: &str = "pm_card_";

/// Methods that need no redirect.
#[derive(Serialize)]
pub(super) struct AutomaticMethods {
    enabled: bool,
    allow_redirects: &'static str,
}

impl AutomaticMethods {
    pub(super) const WITHOUT_REDIRECT: Self = Self {
        enabled: true,
        allow_redirects: "never",
    };
}

#[derive(Serialize)]
struct SetupParams<'a> {
    customer: &'a str,
    payment_method: &'a str,
    usage: &'static str,
    confirm: bool,
    automatic_payment_methods: AutomaticMethods,
    expand: [&'static str; 1],
    metadata: Metadata,
}

#[derive(Serialize)]
struct SetupsOf<'a> {
    customer: &'a str,
    limit: u8,
    expand: [&'static str; 1],
}

#[derive(Serialize)]
struct First {
    limit: u8,
}

/// The method, set up for the customer; without an id the one that they used last.
pub(super) async fn set_up(
    client: &Client,
    attempt: &Attempt,
    customer: &ProcessorCustomer,
    id: Option<&str>,
) -> Result<Verdict<checkout::PaymentMethod>, Doubt> {
    let owner = done!(customers::id_of(client, attempt, customer).await?);
    let id = match id {
        Some(id) => id,
        None => match (last_used(client, attempt.mode, &owner).await?, attempt.mode) {
            (Some(method), _) => return Ok(Verdict::Done(seen(&method))),
            (None, Mode::Sandbox) => TEST_METHOD,
            (None, Mode::Live) => return Ok(Verdict::Refused(none_named())),
        },
    };
    if !is_test_name(id) {
        let known: Result<PaymentMethod, _> = client
            .get(attempt.mode, &["payment_methods", id], &())
            .await;
        let method = match known {
            Err(CallError::Api(error)) if error.is_missing() => {
                return Ok(Verdict::Refused(error.as_refusal()));
            }
            other => done!(settle(other)?),
        };
        match &method.customer {
            Some(holder) if holder.id() == owner => return Ok(Verdict::Done(seen(&method))),
            Some(_) => {
                return Ok(Verdict::Refused(Refusal {
                    code: "payment_method_of_another_customer".to_owned(),
                    message: "The payment method belongs to another customer.".to_owned(),
                }));
            }
            None => {}
        }
    }
    attach(client, attempt, customer, &owner, id).await
}

/// The method that the customer had set up last.
pub(super) async fn last_used(
    client: &Client,
    mode: Mode,
    owner: &str,
) -> Result<Option<PaymentMethod>, CallError> {
    let path = ["customers", owner, "payment_methods"];
    let page: Page<PaymentMethod> = client.get(mode, &path, &First { limit: 1 }).await?;
    Ok(page.data.into_iter().next())
}

/// Whether the id is the sandbox's name of a card, not a method of anybody's.
pub(super) fn is_test_name(id: &str) -> bool {
    id.starts_with(TEST_METHODS)
}

async fn attach(
    client: &Client,
    attempt: &Attempt,
    customer: &ProcessorCustomer,
    owner: &str,
    id: &str,
) -> Result<Verdict<checkout::PaymentMethod>, Doubt> {
    let params = SetupParams {
        customer: owner,
        payment_method: id,
        usage: "off_session",
        confirm: true,
        automatic_payment_methods: AutomaticMethods::WITHOUT_REDIRECT,
        expand: ["payment_method"],
        metadata: Ids::default()
            .work(&attempt.idempotency_key)
            .customer(customer.id)
            .metadata(),
    };
    let work = Work {
        attempt,
        key: &attempt.idempotency_key,
        path: &["setup_intents"],
        params: &params,
    };
    let find = || async {
        let query = SetupsOf {
            customer: owner,
            limit: 100,
            expand: ["data.payment_method"],
        };
        let page: Page<SetupIntent> = client.get(attempt.mode, &["setup_intents"], &query).await?;
        Ok(page
            .data
            .into_iter()
            .find(|setup| ids::is_of_work(&setup.metadata, &attempt.idempotency_key)))
    };
    let setup = done!(settle(once::make(client, work, find).await)?);
    match (&setup.status, &setup.payment_method) {
        (IntentStatus::Succeeded, Some(method)) => Ok(Verdict::Done(from_expandable(method))),
        (IntentStatus::RequiresAction, _) => Ok(Verdict::Refused(Refusal {
            code: "authentication_required".to_owned(),
            message: "The bank asks the customer to authenticate.".to_owned(),
        })),
        (IntentStatus::RequiresPaymentMethod | IntentStatus::Canceled, _) => {
            Ok(Verdict::Refused(refusal(setup.last_setup_error.as_ref())))
        }
        (other, _) => Err(Doubt::failed(format!("{} is {}", setup.id, other.as_str()))),
    }
}

/// Nobody said what pays.
pub(super) fn none_named() -> Refusal {
    Refusal {
        code: "payment_method_missing".to_owned(),
        message: "No payment method was given.".to_owned(),
    }
}

/// The method as people may see it.
pub(super) fn from_expandable(method: &Expandable<PaymentMethod>) -> checkout::PaymentMethod {
    match method {
        Expandable::Object(method) => seen(method),
        Expandable::Id(id) => checkout::PaymentMethod {
            id: id.clone(),
            kind: "card".to_owned(),
            brand: None,
            last4: None,
            exp_month: None,
            exp_year: None,
        },
    }
}

fn seen(method: &PaymentMethod) -> checkout::PaymentMethod {
    let card = method.card.as_ref();
    checkout::PaymentMethod {
        id: method.id.clone(),
        kind: method.kind.clone(),
        brand: card.and_then(|card| card.brand.clone()),
        last4: card.and_then(|card| card.last4.clone()),
        exp_month: card.and_then(|card| card.exp_month),
        exp_year: card.and_then(|card| card.exp_year),
    }
}
