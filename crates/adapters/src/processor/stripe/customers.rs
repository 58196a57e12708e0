//! Customers.

use lessor_domain::ports::{Attempt, Doubt, ProcessorCustomer, Verdict};
use serde::Serialize;

use super::client::Client;
use super::error::{CallError, done, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::wire::{Customer, Metadata, Page};

#[derive(Serialize)]
struct CustomerParams<'a> {
    email: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<&'a str>,
    metadata: Metadata,
}

#[derive(Serialize)]
struct ByEmail<'a> {
    email: &'a str,
    limit: u8,
}

#[derive(Serialize)]
struct Search {
    query: String,
    limit: u8,
}

/// Makes the customer known, or brings what is known up to date; answers its id.
pub(super) async fn push(
    client: &Client,
    attempt: &Attempt,
    customer: &ProcessorCustomer,
) -> Result<Verdict<String>, Doubt> {
    if let Some(id) = &customer.processor_id {
        return update(client, attempt, id, customer).await;
    }
    let made = done!(settle(create(client, attempt, customer).await)?);
    if made.is_outdated(customer) {
        return update(client, attempt, &made.id, customer).await;
    }
    Ok(Verdict::Done(made.id))
}

/// The customer's id; makes the customer when there is none yet.
pub(super) async fn id_of(
    client: &Client,
    attempt: &Attempt,
    customer: &ProcessorCustomer,
) -> Result<Verdict<String>, Doubt> {
    if let Some(id) = &customer.processor_id {
        return Ok(Verdict::Done(id.clone()));
    }
    let made = done!(settle(create(client, attempt, customer).await)?);
    Ok(Verdict::Done(made.id))
}

/// The key is the customer's, not the call's, so that a deposit and a subscription
/// which need the customer at the same time as it is made known get the same one.
async fn create(
    client: &Client,
    attempt: &Attempt,
    customer: &ProcessorCustomer,
) -> Result<Customer, CallError> {
    let params = params(customer);
    let work = Work {
        attempt,
        key: &format!("customer-{}", customer.id),
        path: &["customers"],
        params: &params,
    };
    once::make(client, work, || find(client, attempt, customer)).await
}

async fn update(
    client: &Client,
    attempt: &Attempt,
    id: &str,
    customer: &ProcessorCustomer,
) -> Result<Verdict<String>, Doubt> {
    let path = ["customers", id];
    let updated: Result<Customer, _> = once::set(client, attempt, &path, &params(customer)).await;
    let updated = done!(settle(updated)?);
    Ok(Verdict::Done(updated.id))
}

/// By e-mail address in the list, which is up to date; then by our id in the search,
/// which lags, for a customer whose address changed.
async fn find(
    client: &Client,
    attempt: &Attempt,
    customer: &ProcessorCustomer,
) -> Result<Option<Customer>, CallError> {
    let query = ByEmail {
        email: &customer.email,
        limit: 100,
    };
    let page: Page<Customer> = client.get(attempt.mode, &["customers"], &query).await?;
    let of_ours = |known: &Customer| ids::is_of_customer(&known.metadata, customer.id);
    if let Some(found) = page.data.into_iter().find(of_ours) {
        return Ok(Some(found));
    }
    let query = Search {
        query: ids::search_for_customer(customer.id),
        limit: 1,
    };
    let page: Page<Customer> = client
        .get(attempt.mode, &["customers", "search"], &query)
        .await?;
    Ok(page.data.into_iter().find(of_ours))
}

fn params(customer: &ProcessorCustomer) -> CustomerParams<'_> {
    CustomerParams {
        email: &customer.email,
        name: customer.name.as_deref(),
        phone: customer.phone.as_deref(),
        metadata: Ids::default().customer(customer.id).metadata(),
    }
}

impl Customer {
    /// Whether the processor knows something else of the customer than we do.
    fn is_outdated(&self, customer: &ProcessorCustomer) -> bool {
        let differs = |theirs: &Option<String>, ours: Option<&str>| {
            ours.is_some() && theirs.as_deref() != ours
        };
        differs(&self.email, Some(&customer.email))
            || differs(&self.name, customer.name.as_deref())
            || differs(&self.phone, customer.phone.as_deref())
    }
}
