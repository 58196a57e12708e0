//! What becomes of a term whose payments fail: first payments, later ones, second subscriptions.

use chrono::TimeDelta;
use lessor_domain::checkout::InvoiceOutcome;
use lessor_domain::ledger::{Subscription, SubscriptionState};
use lessor_domain::ports::PaymentProcessor as _;
use lessor_processor_double::Decline;

use crate::support::{Op, Rig, checkout, done, refused, scope, time};

/// A subscription whose first payment was declined.
async fn incomplete() -> (Rig, Subscription) {
    let mut rig = Op::Subscribe.prepare(Rig::new()).await;
    let card = rig.method.clone().unwrap();
    rig.double
        .decline(&card, Some(Decline::INSUFFICIENT_FUNDS))
        .unwrap();
    let (mut call, request) = (rig.attempt("work"), rig.subscription_of(1, 12));
    call.first_tried_at -= TimeDelta::minutes(1);
    let made = done(rig.processor.create_subscription(&call, &request).await);
    rig.subscription.clone_from(&made.id);
    (rig, made)
}

async fn another_card(rig: &Rig) -> String {
    let name = Some("pm_card_mastercard".to_owned());
    let call = rig.attempt("another card");
    let made = rig.processor.payment_method(&call, &rig.customer, name);
    done(made.await).id
}

/// The processor refuses every change of it: none is asked for, and it ends all the same.
#[tokio::test]
async fn a_first_payment_that_fails_leaves_what_ends_by_itself() {
    let (rig, made) = incomplete().await;
    assert_eq!(made.state, SubscriptionState::Incomplete);
    assert_eq!(made.ends_at, Some(time("2027-01-31T11:59:00Z")));
    let [first] = made.invoices.as_slice() else {
        panic!("{made:#?}");
    };
    let InvoiceOutcome::Failed { attempts, refusal } = &first.outcome else {
        panic!("{first:?}");
    };
    assert_eq!((*attempts, refusal.code.as_str()), (1, "card_declined"));
    assert!(
        rig.double
            .requests("POST", "/v1/subscriptions/*")
            .is_empty()
    );
    // Asked for again, it is answered as it stands.
    let (call, request) = (rig.attempt("anew"), rig.subscription_of(1, 12));
    let again = done(rig.processor.create_subscription(&call, &request).await);
    assert_eq!(again, made);
    let end = time("2027-01-31T12:00:00Z");
    let answer = rig
        .processor
        .set_end(&rig.attempt("end"), &rig.subscription, end)
        .await;
    assert_eq!(refused(answer), "invalid_request_error");
}

#[tokio::test]
async fn a_first_payment_is_made_with_another_card() {
    let (rig, made) = incomplete().await;
    let call = rig.attempt("same card");
    let same = rig.method.clone().unwrap();
    let answer = rig.processor.pay_invoices(&call, &made.id, &same).await;
    assert_eq!(refused(answer), "card_declined");
    let card = another_card(&rig).await;
    let call = rig.attempt("pay");
    let paid = done(rig.processor.pay_invoices(&call, &made.id, &card).await);
    assert_eq!(paid.state, SubscriptionState::Active);
    assert_eq!(paid.invoices[0].outcome, InvoiceOutcome::Paid);
    let known = rig.double.object(&made.id).unwrap();
    assert_eq!(known["default_payment_method"], card.as_str());
    // Its end can be set by now, and the months go on.
    let end = time("2027-01-31T12:00:00Z");
    done(
        rig.processor
            .set_end(&rig.attempt("end"), &made.id, end)
            .await,
    );
    rig.double.advance(TimeDelta::days(400));
    assert!(rig.double.prorations().is_empty());
    let account = rig.double.account_of(&checkout(1).to_string());
    assert_eq!(account.paid_invoices.len(), 12);
}

/// It was given up, and another is made for the same lease: by another piece of work, never by the
/// one that made the first.
#[tokio::test]
async fn a_second_subscription_comes_only_after_the_first() {
    let (rig, made) = incomplete().await;
    rig.double.advance(TimeDelta::hours(24));
    let card = another_card(&rig).await;
    let mut request = rig.subscription_of(1, 12);
    request.payment_method = Some(card);
    // A late try of the first work finds what it made.
    let late = rig.later(&rig.attempt("work"));
    let found = done(rig.processor.create_subscription(&late, &request).await);
    assert_eq!(
        (found.id, found.state),
        (made.id.clone(), SubscriptionState::Ended)
    );
    assert_eq!(found.invoices[0].outcome, InvoiceOutcome::Void);
    assert_eq!(rig.double.objects("subscription").len(), 1);
    let call = rig.attempt("second");
    let second = done(rig.processor.create_subscription(&call, &request).await);
    assert_ne!(second.id, made.id);
    assert_eq!(second.state, SubscriptionState::Active);
    // While that one runs there is no third.
    let third = rig
        .processor
        .create_subscription(&rig.attempt("third"), &request)
        .await;
    assert_eq!(done(third).id, second.id);
    let all = rig
        .processor
        .subscriptions_of(scope(), &rig.customer, checkout(1))
        .await
        .unwrap();
    let ids: Vec<_> = all.iter().map(|known| known.id.as_str()).collect();
    assert_eq!(ids, [second.id.as_str(), made.id.as_str()]);
    let other = rig
        .processor
        .subscriptions_of(scope(), &rig.customer, checkout(2))
        .await;
    assert_eq!(other, Ok(Vec::new()));
}

#[tokio::test]
async fn one_that_was_ended_is_not_replaced_by_its_own_work() {
    let rig = Op::EndSubscription.prepare(Rig::new()).await;
    for key in ["end", "again"] {
        let call = rig.attempt(key);
        done(
            rig.processor
                .cancel_subscription(&call, &rig.subscription)
                .await,
        );
    }
    rig.double.advance(TimeDelta::days(2));
    let request = rig.subscription_of(1, 12);
    let late = rig.later(&rig.attempt("prepare-sub"));
    let found = done(rig.processor.create_subscription(&late, &request).await);
    assert_eq!((&found.id, found.has_ended()), (&rig.subscription, true));
    assert_eq!(rig.double.objects("subscription").len(), 1);
    assert!(rig.double.prorations().is_empty());
}

/// What is open is paid, oldest first; a bank that declines one is not asked for the next.
#[tokio::test]
async fn later_payments_are_made_with_another_card() {
    let rig = Rig::new().with_subscription().await;
    let card = rig.method.clone().unwrap();
    rig.double.decline(&card, Some(Decline::LOST)).unwrap();
    rig.double.advance(TimeDelta::days(61));
    rig.double.clear_journal();
    let call = rig.attempt("lost");
    let answer = rig
        .processor
        .pay_invoices(&call, &rig.subscription, &card)
        .await;
    assert_eq!(refused(answer), "card_declined");
    assert_eq!(rig.double.requests("POST", "/v1/invoices/*/pay").len(), 1);
    let fresh = another_card(&rig).await;
    let call = rig.attempt("pay");
    let paid = done(
        rig.processor
            .pay_invoices(&call, &rig.subscription, &fresh)
            .await,
    );
    assert_eq!(paid.state, SubscriptionState::Active);
    assert_eq!(paid.invoices.len(), 3);
    assert!(
        paid.invoices
            .iter()
            .all(|invoice| invoice.outcome == InvoiceOutcome::Paid)
    );
    // Nothing is open: nothing is paid twice.
    let call = rig.attempt("once more");
    done(
        rig.processor
            .pay_invoices(&call, &rig.subscription, &fresh)
            .await,
    );
    let account = rig.double.account_of(&checkout(1).to_string());
    assert_eq!(account.invoiced(), 3 * 4_999);
    let stranger = rig
        .processor
        .pay_invoices(&rig.attempt("stranger"), &rig.subscription, "pm_none")
        .await;
    assert_eq!(refused(stranger), "resource_missing");
}
