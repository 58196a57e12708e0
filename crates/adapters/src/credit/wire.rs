//! Decision requests and their answers, as they are on the wire.

use lessor_domain::access::Mode;
use lessor_domain::address::Address;
use lessor_domain::credit::{AdverseReason, CreditDecision};
use lessor_domain::ports::{CreditAnswer, CreditRequest};
use lessor_domain::services::qualifications::check_reasons;
use lessor_domain::text::Line;
use serde::{Deserialize, Serialize};

/// A decision request. Its members stand in this order: the same question is the same bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    r#type: &'static str,
    checkout_id: String,
    organization_id: String,
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    term_in_months: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_monthly_payment: Option<String>,
    customer: Customer,
    items: Vec<Item>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Customer {
    id: String,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    birth_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<Place>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    address1: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    address2: Option<String>,
    city: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    zip: String,
    country: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    id: String,
    product_variant_id: String,
    sku: String,
    name: String,
}

impl From<&Address> for Place {
    fn from(address: &Address) -> Self {
        let text = |line: Option<&Line>| line.map(ToString::to_string);
        Self {
            address1: address.address1.to_string(),
            address2: text(address.address2.as_ref()),
            city: address.city.to_string(),
            state: text(address.state.as_ref()),
            zip: address.zip.to_string(),
            country: address.country.to_string(),
        }
    }
}

/// The body of the request.
pub(super) fn request(mode: Mode, asked: &CreditRequest) -> Result<Vec<u8>, serde_json::Error> {
    let person = &asked.person;
    let quote = asked.quote.as_ref();
    serde_json::to_vec(&Request {
        r#type: "qualification.requested",
        checkout_id: asked.checkout.to_string(),
        organization_id: asked.organization.to_string(),
        mode: mode.as_str(),
        amount: asked.amount.map(|amount| amount.to_string()),
        currency: quote.map(|quote| quote.currency.to_string()),
        term_in_months: quote.map(|quote| quote.term.get()),
        total_monthly_payment: quote.map(|quote| quote.total_monthly_payment.to_string()),
        customer: Customer {
            id: person.id.to_string(),
            email: person.email.clone(),
            first_name: person.first_name.clone(),
            last_name: person.last_name.clone(),
            birth_date: person.birth_date.map(|born| born.to_string()),
            address: person.address.as_ref().map(Place::from),
        },
        items: asked
            .items
            .iter()
            .map(|item| Item {
                id: item.id.to_string(),
                product_variant_id: item.variant_id.to_string(),
                sku: item.sku.to_string(),
                name: item.name.to_string(),
            })
            .collect(),
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Decided {
    decision: String,
    reference: Option<String>,
    reasons: Option<Vec<String>>,
}

/// Why an answer is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error("the endpoint's answer is not of the agreed form")]
    Form(#[from] serde_json::Error),
    #[error("the endpoint's answer has a {member} that is none: {problem}")]
    Member {
        member: &'static str,
        problem: String,
    },
}

fn no(member: &'static str, problem: &dyn std::fmt::Display) -> NoAnswer {
    NoAnswer::Member {
        member,
        problem: problem.to_string(),
    }
}

/// What the body says. Members that nobody asked for say nothing.
pub(super) fn answer(body: &[u8]) -> Result<CreditAnswer, NoAnswer> {
    let told: Decided = serde_json::from_slice(body)?;
    if told.decision == "pending" {
        return Ok(CreditAnswer::Pending);
    }
    let decision: CreditDecision = told
        .decision
        .parse()
        .map_err(|error| no("decision", &error))?;
    let reasons: Vec<AdverseReason> = told
        .reasons
        .unwrap_or_default()
        .iter()
        .map(|reason| reason.parse().map_err(|error| no("reasons", &error)))
        .collect::<Result<_, _>>()?;
    check_reasons(decision, &reasons).map_err(|problem| no("reasons", &problem))?;
    let reference = told
        .reference
        .map(|text| Line::parse(&text).map_err(|error| no("reference", &error)))
        .transpose()?;
    Ok(CreditAnswer::Decided {
        decision,
        reasons,
        reference,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_of_the_agreed_form_or_none() {
        let decided = |decision, reasons: &[AdverseReason], reference: Option<&str>| {
            Some(CreditAnswer::Decided {
                decision,
                reasons: reasons.to_vec(),
                reference: reference.map(|text| Line::parse(text).unwrap()),
            })
        };
        let table = [
            (
                r#"{"decision":"approved"}"#,
                decided(CreditDecision::Approved, &[], None),
            ),
            (
                r#"{"decision":"approved","reference":"r 1","score":700}"#,
                decided(CreditDecision::Approved, &[], Some("r 1")),
            ),
            (
                r#"{"decision":"declined","reasons":["bankruptcy","other"]}"#,
                decided(
                    CreditDecision::Declined,
                    &[AdverseReason::Bankruptcy, AdverseReason::Other],
                    None,
                ),
            ),
            (
                r#"{"decision":"declined"}"#,
                decided(CreditDecision::Declined, &[], None),
            ),
            (r#"{"decision":"pending"}"#, Some(CreditAnswer::Pending)),
            (r#"{"decision":"maybe"}"#, None),
            (r#"{"decision":"declined","reasons":["ugly"]}"#, None),
            (r#"{"decision":"approved","reasons":["other"]}"#, None),
            (
                r#"{"decision":"declined","reasons":["other","other"]}"#,
                None,
            ),
            (r#"{"decision":"approved","reference":""}"#, None),
            (r#"{"decision":7}"#, None),
            ("{}", None),
            ("", None),
            ("<html>", None),
        ];
        for (body, expected) in table {
            assert_eq!(answer(body.as_bytes()).ok(), expected, "{body}");
        }
    }
}
