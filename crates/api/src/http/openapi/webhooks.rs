//! What is told of events, type by type: the record that each shows, and an example of it.

use lessor_domain::events::{EventSubjectKind, EventType};
use serde_json::{Map, Value, json};

use super::examples::Answers;

/// Puts the types into the document, where it describes events.
pub(super) fn insert(document: &mut Value) {
    if document.pointer("/components/schemas/Event").is_none() {
        return;
    }
    let answers = Answers::read();
    let webhooks: Map<String, Value> = EventType::ALL
        .iter()
        .zip(1_u64..)
        .map(|(event_type, sequence)| {
            (
                event_type.to_string(),
                webhook(*event_type, sequence, &answers),
            )
        })
        .collect();
    document["webhooks"] = webhooks.into();
}

fn webhook(event_type: EventType, sequence: u64, answers: &Answers) -> Value {
    let (schema, _) = shown(event_type.subject());
    json!({
        "post": {
            "operationId": event_type.as_str().replace('.', "_"),
            "tags": ["Events"],
            "summary": about(event_type),
            "description": "As `GET /v1/events/{id}` answers it.",
            "security": [],
            "requestBody": {
                "required": true,
                "content": {
                    "application/json": {
                        "schema": {
                            "allOf": [
                                { "$ref": "#/components/schemas/Event" },
                                {
                                    "type": "object",
                                    "properties": {
                                        "type": {
                                            "description": "What happened.",
                                            "const": event_type.as_str()
                                        },
                                        "subject": {
                                            "description": "To which record.",
                                            "type": "object",
                                            "properties": {
                                                "type": {
                                                    "description": "What it is.",
                                                    "const": event_type.subject().as_str()
                                                },
                                                "id": {
                                                    "description": "Its id.",
                                                    "type": "string"
                                                }
                                            }
                                        },
                                        "data": {
                                            "description": "What changed.",
                                            "type": "object",
                                            "properties": {
                                                "object": {
                                                    "description": "The record as its GET gave it then.",
                                                    "$ref": format!("#/components/schemas/{schema}")
                                                },
                                                "previous": {
                                                    "description": "What changed of it, as it was.",
                                                    "type": "object"
                                                }
                                            }
                                        }
                                    }
                                }
                            ]
                        },
                        "example": example(event_type, sequence, answers)
                    }
                }
            },
            "responses": { "2XX": { "description": "It was taken in." } }
        }
    })
}

/// The record that events about such a thing show: its schema, and whose answer is an example of it.
const fn shown(subject: EventSubjectKind) -> (&'static str, &'static str) {
    match subject {
        EventSubjectKind::Product => ("Product", "get_product"),
        EventSubjectKind::ProductVariant => ("ProductVariant", "get_product_variant"),
        EventSubjectKind::Customer => ("Customer", "get_customer"),
        EventSubjectKind::LeaseTerm => ("LeaseTerm", "create_lease_term"),
        EventSubjectKind::Checkout => ("Checkout", "get_checkout"),
        EventSubjectKind::WebhookEndpoint => ("WebhookEndpoint", "get_webhook_endpoint"),
    }
}

/// Whether there was no record before, or is none after.
fn is_new_or_gone(event_type: EventType) -> bool {
    let name = event_type.as_str();
    name.ends_with(".created") || name.ends_with(".deleted")
}

fn example(event_type: EventType, sequence: u64, answers: &Answers) -> Value {
    let subject = event_type.subject();
    let (_, operation) = shown(subject);
    let mut object = answers.to(operation);
    // The answers of the story have been given to one who may see whose page it is.
    if let Some(page) = object.get_mut("checkoutUrl")
        && let Some(end) = page.as_str().and_then(|url| url.rfind('/'))
    {
        *page = page.as_str().and_then(|url| url.get(..end)).into();
    }
    let mut event = answers.to("get_event");
    event["type"] = event_type.as_str().into();
    event["sequence"] = sequence.into();
    event["subject"] = json!({ "type": subject.as_str(), "id": object["id"] });
    event["data"] = match object.get("updatedAt") {
        Some(updated) if !is_new_or_gone(event_type) => {
            json!({ "object": object, "previous": { "updatedAt": updated } })
        }
        _ => json!({ "object": object }),
    };
    event
}

const fn about(event_type: EventType) -> &'static str {
    match event_type {
        EventType::ProductCreated => "A product was created.",
        EventType::ProductUpdated => "A product changed.",
        EventType::ProductArchived => "A product was archived.",
        EventType::ProductDeleted => "A product was deleted.",
        EventType::ProductVariantCreated => "A variant was created.",
        EventType::ProductVariantUpdated => "A variant changed, its stock included.",
        EventType::ProductVariantArchived => "A variant was archived.",
        EventType::ProductVariantDeleted => "A variant was deleted.",
        EventType::ProductVariantOutOfStock => "The last unit of a variant is taken in this mode.",
        EventType::ProductVariantBackInStock => "A variant can be had again in this mode.",
        EventType::CustomerCreated => "A customer became known.",
        EventType::CustomerUpdated => "A customer changed.",
        EventType::CustomerIdentityVerified => "A customer is who they say.",
        EventType::CustomerIdentityFailed => "A customer is not who they say.",
        EventType::LeaseTermCreated => "A lease term was created.",
        EventType::LeaseTermUpdated => "A lease term changed.",
        EventType::LeaseTermDeleted => "A lease term was deleted.",
        EventType::CheckoutCreated => "A checkout was created.",
        EventType::CheckoutUpdated => "A checkout changed in a way that has no name of its own.",
        EventType::CheckoutWaitlisted => "A checkout waits for stock or service.",
        EventType::CheckoutPromoted => "A checkout waits no more.",
        EventType::CheckoutQualificationRequired => {
            "A person has to decide about the customer's credit."
        }
        EventType::CheckoutQualified => "The customer's credit is approved.",
        EventType::CheckoutDeclined => "The customer's credit is declined.",
        EventType::CheckoutDepositAuthorized => "The deposit is held on the customer's method.",
        EventType::CheckoutDepositFailed => "The deposit could not be held, or not be taken.",
        EventType::CheckoutDepositPaid => "The deposit is taken.",
        EventType::CheckoutDepositReleased => "What was held of the deposit is let go.",
        EventType::CheckoutDepositRefunded => "The deposit is paid back.",
        EventType::CheckoutDocumentsReady => "The lease can be signed.",
        EventType::CheckoutDocumentsSigned => "The customer signed the lease.",
        EventType::CheckoutOrderConfirmed => "The order is confirmed.",
        EventType::CheckoutFulfilled => "The organization said that the goods are on their way.",
        EventType::CheckoutShipped => "The goods are on their way, with a tracking number.",
        EventType::CheckoutDelivered => "The goods are with the customer.",
        EventType::CheckoutFulfillmentException => {
            "Something went wrong with the order or the shipment."
        }
        EventType::CheckoutCompleted => "The lease is active.",
        EventType::CheckoutReturnInitiated => "The return began.",
        EventType::CheckoutReturned => "The goods are back.",
        EventType::CheckoutCancelled => "A checkout was called off.",
        EventType::CheckoutExpired => "A checkout that nobody touched has expired.",
        EventType::CheckoutNeedsAttention => "A person must look at a checkout.",
        EventType::PaymentSucceeded => "A monthly payment was made.",
        EventType::PaymentFailed => "A try to take a monthly payment failed.",
        EventType::PaymentRefunded => "A monthly payment is paid back.",
        EventType::PaymentDisputed => "The customer's bank contests a payment.",
        EventType::WebhookEndpointDisabled => {
            "A webhook endpoint is told of nothing any more: it answered 410, or failed for five days."
        }
    }
}
