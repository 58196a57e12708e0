//! What answers are taken for: refusals, doubts, things nobody has heard of.

use lessor_domain::cause::chain;
use lessor_domain::ports::{Doubt, PaymentProcessor as _, Verdict};
use lessor_processor_double::{Fault, Rule};
use serde_json::{Value, json};

use crate::support::{Op, Rig, done, each, refused, scope, usd};

fn answer(status: u16, error: &Value) -> Fault {
    Fault::Answer {
        status,
        headers: vec![("Request-Id".to_owned(), "req_told".to_owned())],
        body: json!({ "error": error }).to_string(),
    }
}

/// Does the work, which has to fail, and answers why, with all causes.
async fn failure(op: Op, rig: &Rig) -> String {
    match op.run(rig, &rig.attempt("work")).await {
        Err(doubt @ Doubt::Failed(_)) => chain(&doubt).to_string(),
        other => panic!("{op:?} has not failed: {other:?}"),
    }
}

/// A decline is told by its status, its type or its code; what else will never do is refused too.
#[tokio::test]
async fn declines_are_values() {
    for (status, error, code) in [
        (402, json!({}), "payment_refused"),
        (
            402,
            json!({ "type": "card_error", "code": "card_declined" }),
            "card_declined",
        ),
        (
            402,
            json!({ "type": "card_error", "code": "never_heard_of" }),
            "never_heard_of",
        ),
        (
            400,
            json!({ "type": "card_error", "code": "expired_card" }),
            "expired_card",
        ),
        (
            400,
            json!({ "type": "invalid_request_error", "code": "card_declined" }),
            "card_declined",
        ),
        (
            400,
            json!({ "type": "invalid_request_error", "code": "amount_too_small" }),
            "amount_too_small",
        ),
        // A request that will not do is the same one the next time.
        (
            400,
            json!({ "type": "invalid_request_error", "code": "parameter_unknown" }),
            "parameter_unknown",
        ),
        (
            404,
            json!({ "type": "invalid_request_error", "message": "No such thing" }),
            "invalid_request_error",
        ),
    ] {
        let rig = Op::Authorize.prepare(Rig::new()).await;
        let fault = answer(status, &error);
        rig.double
            .fault(Rule::always("POST", "/v1/payment_intents", fault));
        let call = rig.attempt("work");
        assert_eq!(
            refused(Op::Authorize.run(&rig, &call).await),
            code,
            "{status} {error}"
        );
        assert_eq!(
            rig.double.journal().len(),
            1,
            "a refusal is not asked for again"
        );
    }
}

#[tokio::test]
async fn other_errors_are_doubts_that_say_what_support_asks_for() {
    for (status, kind, code) in [
        (400, "invalid_request_error", "testmode_charges_only"),
        (401, "invalid_request_error", "api_key_expired"),
        (403, "invalid_request_error", "more_permissions_required"),
        (424, "invalid_request_error", "external"),
        (500, "api_error", "own"),
    ] {
        let rig = Op::Authorize.prepare(Rig::new()).await;
        let error = json!({ "type": kind, "code": code, "param": "amount", "message": "No." });
        let fault = answer(status, &error);
        rig.double
            .fault(Rule::always("POST", "/v1/payment_intents", fault));
        let text = failure(Op::Authorize, &rig).await;
        for part in [&status.to_string(), kind, code, "amount", "req_told", "No."] {
            assert!(text.contains(part), "{text}: {part}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_names_the_place() {
    for (op, members, path) in [
        (Op::Authorize, json!({ "status": 5 }), "status"),
        (
            Op::Authorize,
            json!({ "latest_charge": { "id": 5 } }),
            "latest_charge.id",
        ),
        (Op::PushCustomer, json!({ "id": null }), "id"),
        (
            Op::StartIdentity,
            json!({ "metadata": { "a": [] } }),
            "metadata.a",
        ),
    ] {
        let rig = op.prepare(Rig::new()).await;
        rig.double
            .fault(Rule::always("POST", "/v1/**", Fault::Merge { members }));
        let text = failure(op, &rig).await;
        assert!(text.contains(&format!("at {path}:")), "{text}");
        assert!(text.contains("req_"), "{text}");
        // What cannot be read was done all the same: it is in doubt, and not undone.
        rig.double.clear_faults();
        done(op.run(&rig, &rig.attempt("work")).await);
        assert_eq!(op.effects(&rig), op.once());
    }
    let rig = Rig::new();
    let cut = Fault::Answer {
        status: 200,
        headers: Vec::new(),
        body: "{\"id\":".to_owned(),
    };
    rig.double.fault(Rule::always("POST", "/v1/**", cut));
    let doubt = Op::PushCustomer.run(&rig, &rig.attempt("work")).await;
    assert!(matches!(doubt, Err(Doubt::Failed(_))), "{doubt:?}");
}

/// The processor adds members at any time.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_nobody_knows_are_ignored() {
    each(Op::ALL.to_vec(), |op| async move {
        let rig = op.prepare(Rig::new()).await;
        let members =
            json!({ "brand_new": { "deep": [1, "two", null] }, "object": 5, "livemode": "?" });
        rig.double
            .fault(Rule::always("*", "/v1/**", Fault::Merge { members }));
        done(op.run(&rig, &rig.attempt("work")).await);
        assert_eq!(op.effects(&rig), op.once());
    })
    .await;
}

/// And values: what cannot be acted on is a doubt that says it.
#[tokio::test]
async fn values_that_nobody_knows_are_kept() {
    for op in [
        Op::Authorize,
        Op::Capture,
        Op::Void,
        Op::Refund,
        Op::SetUpMethod,
    ] {
        let rig = op.prepare(Rig::new()).await;
        let members = json!({ "status": "brand_new" });
        rig.double
            .fault(Rule::always("POST", "/v1/**", Fault::Merge { members }));
        let text = failure(op, &rig).await;
        assert!(text.contains("brand_new"), "{op:?}: {text}");
    }
    // What bills is no success as long as nobody knows what it does.
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    let members = json!({ "status": "brand_new" });
    rig.double.fault(Rule::always(
        "POST",
        "/v1/subscriptions",
        Fault::Merge { members },
    ));
    let text = failure(Op::Subscribe, &rig).await;
    assert!(text.contains("brand_new"), "{text}");
}

#[tokio::test]
async fn what_is_not_there_is_refused() {
    let rig = Op::Capture.prepare(Rig::new()).await;
    let processor = &rig.processor;
    let call = rig.attempt("work");
    assert_eq!(
        refused(processor.capture_deposit(&call, "pi_none").await),
        "resource_missing"
    );
    assert_eq!(
        refused(processor.void_deposit(&call, "pi_none").await),
        "resource_missing"
    );
    let refund = processor.refund(&call, "pi_none", usd(1)).await;
    assert_eq!(refused(refund), "resource_missing");
    let method = processor
        .payment_method(&call, &rig.customer, Some("pm_none".to_owned()))
        .await;
    assert_eq!(refused(method), "resource_missing");
    let (call, request) = (rig.attempt("deposit"), rig.deposit("pm_none", true));
    let deposit = processor.authorize_deposit(&call, &request).await;
    assert_eq!(refused(deposit), "resource_missing");
    let ended = processor.cancel_subscription(&call, "sub_none").await;
    assert_eq!(refused(ended), "resource_missing");
    let paid = processor.pay_invoices(&call, "sub_none", "pm_none").await;
    assert_eq!(refused(paid), "resource_missing");
    let end = processor.set_end(&call, "sub_none", rig.double.now()).await;
    assert_eq!(refused(end), "resource_missing");
    let scope = scope();
    assert_eq!(processor.payment_failure(scope, "in_none").await, Ok(None));
    assert_eq!(
        processor.invoice_of_payment(scope.mode, "pi_none").await,
        Ok(None)
    );
    assert_eq!(processor.subscription(scope, "sub_none").await, Ok(None));
}

/// Ids are parts of paths: one that is none is never asked for.
#[tokio::test]
async fn what_is_no_id_is_not_asked_for() {
    let rig = Rig::new();
    let call = rig.attempt("work");
    for id in ["", "..", "pi_1/capture", "pi_1?x=1", "pi 1", "pi_1%2f"] {
        let answer = rig.processor.capture_deposit(&call, id).await;
        assert!(matches!(answer, Err(Doubt::Failed(_))), "{id}: {answer:?}");
    }
    assert!(rig.double.journal().is_empty());
}

#[tokio::test]
async fn amounts_that_cannot_be_charged_are_refused() {
    let rig = Op::Authorize.prepare(Rig::new()).await;
    let mut request = rig.deposit("pm_card_visa", false);
    let money =
        |minor, code: &str| lessor_domain::money::Money::from_minor(minor, code.parse().unwrap());
    for (amount, sent) in [
        (money(1_000, "JPY"), Some(1_000)),
        (money(1_000, "ISK"), Some(100_000)),
        (money(1_230, "KWD"), Some(1_230)),
        (money(1_234, "KWD"), None),
    ] {
        request.amount = amount;
        rig.double.clear_journal();
        let key = format!("{amount:?}");
        let answer = rig
            .processor
            .authorize_deposit(&rig.attempt(&key), &request)
            .await;
        let asked = rig.double.requests("POST", "/v1/payment_intents");
        let units = asked
            .first()
            .and_then(|entry| entry.params["amount"].as_i64());
        assert_eq!(units, sent, "{amount:?}");
        assert_eq!(
            matches!(answer, Ok(Verdict::Done(_))),
            sent.is_some(),
            "{answer:?}"
        );
    }
}
