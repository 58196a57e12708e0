//! The way of a lease, walked by a client that does not give up.

use serde_json::{Value, json};

use crate::world::{LOOK_AGAIN, Patience, World, until};

/// A number of the form that UPS gives.
pub(crate) const TRACKING: &str = "1Z999AA10123456784";

/// The states on the way, in their order.
const WAY: &[&str] = &[
    "created",
    "profilePending",
    "identityRequired",
    "identityVerifying",
    "identityProcessing",
    "qualificationPending",
    "shippingAddressPending",
    "leaseReviewPending",
    "depositPending",
    "depositProcessing",
    "recurringPaymentMethodPending",
    "documentsPending",
    "orderConfirmed",
    "shipped",
    "leaseActive",
    "returnPending",
    "returned",
];

fn place(state: &str) -> usize {
    WAY.iter()
        .position(|known| *known == state)
        .unwrap_or_else(|| panic!("{state} is not on the way"))
}

impl World {
    /// How far the checkout is.
    pub(crate) async fn lifecycle(&self, id: &str) -> String {
        let checkout = self.get(&format!("/v1/checkouts/{id}")).await;
        checkout["lifecycle"].as_str().unwrap().to_owned()
    }

    /// Leads the checkout to the state, or finds it there or beyond.
    pub(crate) async fn reach(&self, id: &str, state: &str) {
        let path = format!("/v1/sandbox/checkouts/{id}/advance");
        until(&format!("{id} is {state}"), async || {
            if place(&self.lifecycle(id).await) >= place(state) {
                return Some(());
            }
            // Refused when it got there meanwhile: the next look tells.
            self.ask("POST", &path, None, Some(&json!({ "to": state })))
                .await;
            None
        })
        .await;
    }

    /// Waits until the checkout is in the state.
    pub(crate) async fn until_state(&self, id: &str, state: &str) {
        let mut patience = Patience::default();
        while self.lifecycle(id).await != state {
            if !patience.lasts() {
                let checkout = self.get(&format!("/v1/checkouts/{id}")).await;
                let jobs = "SELECT to_jsonb(job)::text FROM jobs job ORDER BY created_at";
                let jobs = self.database.query(jobs).await;
                let asked = self.double.requests("POST", "/v1/subscriptions");
                panic!("it never became {state}: {checkout:#}\n{jobs:#?}\n{asked:#?}");
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Leads the checkout to a confirmed order; the customer proves who they are at the double.
    pub(crate) async fn confirm(&self, id: &str) {
        self.identify(id).await;
        self.reach(id, "orderConfirmed").await;
    }

    /// Leads the checkout behind the identity check.
    pub(crate) async fn identify(&self, id: &str) {
        self.reach(id, "identityVerifying").await;
        let customer = self.get(&format!("/v1/checkouts/{id}")).await["customerId"].clone();
        let customer = customer.as_str().unwrap();
        let session = self.get(&format!("/v1/customers/{customer}")).await;
        let session = session["processorVerificationSessionId"]
            .as_str()
            .unwrap()
            .to_owned();
        self.double
            .decide_identity(&session, "verified", None)
            .unwrap();
    }

    /// Fulfills the checkout, under one idempotency key.
    pub(crate) async fn fulfill(&self, id: &str, tracking: Option<&str>) -> Value {
        let body = match tracking {
            Some(number) => json!({ "trackingNumber": number, "trackingCarrier": "ups" }),
            None => json!({}),
        };
        self.post_once(
            &format!("/v1/checkouts/{id}/fulfill"),
            &format!("fulfill-{id}"),
            &body,
        )
        .await
    }

    /// Calls the checkout off, under one idempotency key.
    pub(crate) async fn cancel(&self, id: &str) {
        let path = format!("/v1/checkouts/{id}/cancel");
        self.post_once(&path, &format!("cancel-{id}"), &json!({}))
            .await;
    }

    /// The carrier delivers; told until it is taken in.
    pub(crate) async fn carry_out(&self, id: &str) {
        self.post_once(
            &format!("/v1/sandbox/checkouts/{id}/tracking-event"),
            &format!("delivered-{id}"),
            &json!({ "status": "delivered" }),
        )
        .await;
    }

    /// Moves the checkout as an operator does, until it is there.
    pub(crate) async fn put(&self, id: &str, state: &str) {
        let path = format!("/v1/checkouts/{id}");
        let (status, answer) = self
            .ask("PUT", &path, None, Some(&json!({ "lifecycle": state })))
            .await;
        assert_eq!(status, 200, "{answer}");
    }

    /// The ids of what the double has of a kind for the checkout.
    pub(crate) fn made(&self, kind: &str, id: &str) -> Vec<String> {
        self.double
            .ids_by(kind, "lessor_checkout")
            .remove(id)
            .unwrap_or_default()
    }

    /// Checks that the lease is billed once, rightly, and that nothing else was paid or held.
    pub(crate) fn assert_billed_once(&self, id: &str) {
        let subscriptions = self.made("subscription", id);
        assert_eq!(
            subscriptions.len(),
            1,
            "{id} is billed by {subscriptions:?}"
        );
        assert_eq!(
            self.double.prorations(),
            Vec::<Value>::new(),
            "a month was cut"
        );
        self.assert_paid_once(id);
    }

    /// Checks that one deposit was paid for the checkout, and no other money is held.
    pub(crate) fn assert_paid_once(&self, id: &str) {
        let held = self
            .double
            .held_by("lessor_checkout")
            .remove(id)
            .unwrap_or_default();
        assert_eq!(held, Vec::<String>::new(), "{id} still has money held");
        let paid: Vec<Value> = self
            .made("payment_intent", id)
            .iter()
            .filter_map(|intent| self.double.object(intent))
            .filter(|intent| intent["status"] == "succeeded")
            .collect();
        assert_eq!(paid.len(), 1, "{id} paid its deposit as {paid:?}");
    }
}
