//! Every request of the client, as the official `stripe` npm package types it.
//!
//! The requests are those that the double recorded; they become calls of the package's
//! methods with literals as arguments, where TypeScript knows every parameter, refuses
//! those that are none, and compares values with the enumerations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use chrono::TimeDelta;
use lessor_adapters::processor::API_VERSION;
use lessor_domain::access::Mode;
use lessor_domain::ports::{IdentityVerifier as _, PaymentProcessor as _};
use lessor_processor_double::{Decline, Fault, Recorded, Rule};
use serde_json::Value;

use super::{folder, installed};
use crate::support::{Op, Rig, checkout, done, scope, usd, variant};

/// The package's method for an operation.
fn method(entry: &Recorded) -> &'static str {
    let operation = entry.operation.as_deref().unwrap_or_default();
    match (entry.method.as_str(), operation.trim_start_matches("/v1/")) {
        ("POST", "customers") => "customers.create",
        ("POST", "customers/*") => "customers.update",
        ("GET", "customers") => "customers.list",
        ("GET", "customers/search") => "customers.search",
        ("GET", "customers/*/payment_methods") => "customers.listPaymentMethods",
        ("GET", "identity/verification_sessions") => "identity.verificationSessions.list",
        ("GET", "identity/verification_sessions/*") => "identity.verificationSessions.retrieve",
        ("POST", "identity/verification_sessions") => "identity.verificationSessions.create",
        ("GET", "checkout/sessions") => "checkout.sessions.list",
        ("GET", "checkout/sessions/*") => "checkout.sessions.retrieve",
        ("POST", "checkout/sessions") => "checkout.sessions.create",
        ("POST", "checkout/sessions/*/expire") => "checkout.sessions.expire",
        ("GET", "events") => "events.list",
        ("GET", "invoice_payments") => "invoicePayments.list",
        ("GET", "invoices") => "invoices.list",
        ("GET", "invoices/*") => "invoices.retrieve",
        ("POST", "invoices/*/pay") => "invoices.pay",
        ("GET", "payment_intents") => "paymentIntents.list",
        ("GET", "payment_intents/*") => "paymentIntents.retrieve",
        ("POST", "payment_intents") => "paymentIntents.create",
        ("POST", "payment_intents/*/cancel") => "paymentIntents.cancel",
        ("POST", "payment_intents/*/capture") => "paymentIntents.capture",
        ("GET", "payment_methods/*") => "paymentMethods.retrieve",
        ("GET", "prices") => "prices.list",
        ("POST", "prices") => "prices.create",
        ("POST", "prices/*") => "prices.update",
        ("POST", "products") => "products.create",
        ("POST", "products/*") => "products.update",
        ("GET", "refunds") => "refunds.list",
        ("POST", "refunds") => "refunds.create",
        ("GET", "setup_intents") => "setupIntents.list",
        ("POST", "setup_intents") => "setupIntents.create",
        ("DELETE", "subscriptions/*") => "subscriptions.cancel",
        ("GET", "subscriptions") => "subscriptions.list",
        ("GET", "subscriptions/*") => "subscriptions.retrieve",
        ("POST", "subscriptions") => "subscriptions.create",
        ("POST", "subscriptions/*") => "subscriptions.update",
        other => panic!("no method of the package is named for {other:?}"),
    }
}

/// The call as TypeScript.
fn call(entry: &Recorded, params: &Value) -> String {
    let operation = entry.operation.as_deref().unwrap_or_default();
    let ids = operation
        .split('/')
        .zip(entry.path.split('/'))
        .filter(|(part, _)| *part == "*")
        .fold(String::new(), |ids, (_, id)| {
            ids + &format!("{}, ", Value::from(id))
        });
    let options = match &entry.idempotency_key {
        Some(key) => format!(", {{ idempotencyKey: {} }}", Value::from(key.as_str())),
        None => String::new(),
    };
    // An empty text is how a member is cleared; the double notes it as null.
    let params = params.to_string().replace(":null", ":\"\"");
    format!("await stripe.{}({ids}{params}{options});", method(entry))
}

/// Everything that the client asks for, each form of it once.
async fn recorded() -> Vec<Recorded> {
    let mut all = Vec::new();
    for op in Op::ALL {
        let rig = op.prepare(Rig::new()).await;
        let mut call = rig.attempt("work");
        done(op.run(&rig, &call).await);
        // The look-ups, when the key may be forgotten.
        rig.double.advance(TimeDelta::hours(25));
        call = rig.later(&call);
        done(op.run(&rig, &call).await);
        all.extend(rig.double.journal());
    }
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    let card = rig.method.clone().unwrap();
    rig.double.decline(&card, Some(Decline::GENERIC)).unwrap();
    let (call, request) = (rig.attempt("work"), rig.subscription_of(1, 12));
    let made = done(rig.processor.create_subscription(&call, &request).await);
    let (mode, id) = (Mode::Sandbox, &made.id);
    rig.double.decline(&card, None).unwrap();
    // Its answer is lost, so that it is looked at.
    rig.double.fault(Rule::once(
        "POST",
        "/v1/invoices/*/pay",
        Fault::FAILED_AFTER,
    ));
    let call = rig.attempt("pay");
    done(rig.processor.pay_invoices(&call, id, &card).await);
    let payment = made.invoices[0].payment_intent_id.clone().unwrap();
    let paid = rig
        .processor
        .invoice_of_payment(scope().mode, &payment)
        .await;
    assert!(paid.unwrap().is_some());
    let of = rig
        .processor
        .subscriptions_of(scope(), &rig.customer, checkout(1));
    assert_eq!(of.await.unwrap().len(), 1);
    let deposits = rig
        .processor
        .deposits_of(scope(), &rig.customer, checkout(1));
    assert_eq!(deposits.await, Ok(Vec::new()));
    let (since, after) = (rig.double.now(), || None);
    let walked = rig.processor.walk_subscriptions(mode, after()).await;
    assert_eq!(walked.unwrap().items.len(), 1);
    let walked = rig.processor.walk_invoices(mode, since, after()).await;
    assert_eq!(walked.unwrap().items.len(), 1);
    let walked = rig.processor.walk_deposits(mode, since, after()).await;
    assert!(walked.unwrap().items.is_empty());
    let walked = rig.processor.walk_messages(mode, since, after()).await;
    let last = walked
        .unwrap()
        .items
        .last()
        .map(|message| message.id.clone());
    let walked = rig.processor.walk_messages(mode, since, last).await;
    assert!(walked.unwrap().items.is_empty());
    for key in ["end", "again"] {
        let call = rig.attempt(key);
        done(rig.processor.cancel_subscription(&call, id).await);
    }
    let call = rig.attempt("known");
    done(
        rig.processor
            .payment_method(&call, &rig.customer, Some(card))
            .await,
    );
    let mut changed = variant();
    changed.product.description = String::new();
    done(
        rig.processor
            .push_variant(&rig.attempt("variant"), &changed)
            .await,
    );
    changed.monthly[0].1 = usd(1);
    done(
        rig.processor
            .push_variant(&rig.attempt("changed"), &changed)
            .await,
    );
    let identity = Op::StartIdentity;
    done(identity.run(&rig, &rig.attempt("identity")).await);
    let session = rig.double.objects("identity.verification_session")[0]["id"].clone();
    let result = rig
        .processor
        .result(scope(), session.as_str().unwrap())
        .await;
    assert!(result.is_ok());
    all.extend(rig.double.journal());
    let mut forms = BTreeMap::new();
    for entry in all {
        // The same members are the same form, but for the values that matter.
        let form = (method(&entry), shape(&entry.params));
        forms.entry(form).or_insert(entry);
    }
    forms.into_values().collect()
}

/// The names in the parameters, and the kinds of values.
fn shape(value: &Value) -> String {
    match value {
        Value::Object(members) => members.iter().fold(String::new(), |all, (name, member)| {
            all + name + &shape(member) + ";"
        }),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::String(_) => "t".to_owned(),
        other => other.to_string(),
    }
}

#[tokio::test]
async fn every_request_has_the_official_packages_types() {
    let Some(compiler) = installed("node_modules/.bin/tsc", "the types of npm's stripe") else {
        return;
    };
    let recorded = recorded().await;
    let methods: BTreeMap<_, _> = recorded
        .iter()
        .map(|entry| (method(entry), entry))
        .collect();
    assert!(
        methods.len() >= 31,
        "only {:?} were recorded",
        methods.keys()
    );
    let mut source = format!(
        "// Written by a test from what the double recorded.\n\
         import Stripe from 'stripe';\n\
         const stripe = new Stripe('sk_test_1', {{ apiVersion: '{API_VERSION}' }});\n\
         export async function requests() {{\n"
    );
    for entry in &recorded {
        writeln!(source, "  {}", call(entry, &entry.params)).unwrap();
        // What is wrong is noticed, or the line above says nothing.
        let mut wrong = entry.params.clone();
        wrong["lessor_was_here"] = "1".into();
        writeln!(source, "  // @ts-expect-error\n  {}", call(entry, &wrong)).unwrap();
    }
    source.push_str("}\n");
    let generated = folder().join("generated");
    std::fs::create_dir_all(&generated).unwrap();
    std::fs::write(generated.join("requests.ts"), &source).unwrap();
    let checked = Command::new(compiler)
        .arg("--project")
        .arg(folder().join("tsconfig.json"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{said}\n{source}");
}
