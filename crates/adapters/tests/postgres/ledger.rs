//! Rows of the ledger as no binary of ours writes them.

use lessor_domain::checkout::{Checkout, InvoiceOutcome, Refusal};
use lessor_domain::ledger::{
    Entry, HoldState, RefundState, SessionPurpose, SessionState, SubscriptionState, Thing,
};
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::StoreError;
use lessor_domain::time::Timestamp;

use super::leasing::Leasing;

/// One of each kind, and the invoice that failed, which has members of its own.
fn one_of_each(at: Timestamp) -> [(&'static str, Thing); 6] {
    let invoice = |outcome| Thing::Invoice {
        subscription_id: "sub_1".to_owned(),
        payment_intent_id: None,
        is_cycle: true,
        outcome,
    };
    [
        (
            "hold",
            Thing::Hold {
                state: HoldState::Held,
                ends_at: at,
            },
        ),
        (
            "subscription",
            Thing::Subscription {
                state: SubscriptionState::Active,
                anchor: at,
                payments: 12,
                ends_at: None,
            },
        ),
        ("invoice", invoice(InvoiceOutcome::Open)),
        (
            "failed",
            invoice(InvoiceOutcome::Failed {
                attempts: 1,
                refusal: Refusal {
                    code: "card_declined".to_owned(),
                    message: "Your card was declined.".to_owned(),
                },
            }),
        ),
        (
            "refund",
            Thing::Refund {
                payment_intent_id: "pi_1".to_owned(),
                state: RefundState::Pending,
                failure: None,
            },
        ),
        (
            "session",
            Thing::Session {
                session_id: Some("cs_1".to_owned()),
                purpose: SessionPurpose::Deposit,
                state: SessionState::Open,
                ends_at: at,
            },
        ),
    ]
}

async fn kept(leasing: &Leasing) -> Checkout {
    let checkout = leasing.kept(leasing.checkout()).await;
    let at = leasing.shop.make.tick();
    leasing
        .shop
        .run(async |uow| {
            for (id, thing) in one_of_each(at) {
                let entry = Entry {
                    id: id.to_owned(),
                    checkout: checkout.id,
                    amount: Money::from_minor(1, Currency::USD),
                    at,
                    thing,
                };
                uow.ledger().put(&entry).await?;
            }
            Ok(())
        })
        .await
        .unwrap();
    checkout
}

/// Each kind has its own members and states, and none of another's.
#[tokio::test]
async fn what_is_of_no_kind_is_refused() {
    let leasing = Leasing::open().await;
    kept(&leasing).await;
    for (id, changes) in [
        (
            "hold",
            &[
                "state = ''active''",
                "ends_at = null",
                "anchor = now()",
                "payments = 12",
                "subscription_id = ''sub_1''",
                "is_cycle = false",
                "payment_intent_id = ''pi_1''",
                "failed_attempts = 0",
                "failure_code = ''a''",
                "failure_message = ''a''",
            ][..],
        ),
        (
            "subscription",
            &[
                "state = ''held''",
                "anchor = null",
                "payments = null",
                "payments = -1",
                "subscription_id = ''sub_1''",
                "payment_intent_id = ''pi_1''",
                "failure_code = ''a''",
            ],
        ),
        (
            "invoice",
            &[
                "state = ''succeeded''",
                "state = ''failed''",
                "subscription_id = null",
                "is_cycle = null",
                "ends_at = now()",
                "payments = 12",
                "failure_code = ''a''",
            ],
        ),
        (
            "failed",
            &[
                "state = ''paid''",
                "failed_attempts = null",
                "failed_attempts = -1",
                "failure_message = null",
            ],
        ),
        (
            "refund",
            &[
                "state = ''paid''",
                "payment_intent_id = null",
                "subscription_id = ''sub_1''",
                "ends_at = now()",
                "failure_message = ''a''",
            ],
        ),
        (
            "session",
            &[
                "state = ''held''",
                "ends_at = null",
                "purpose = null",
                "purpose = ''gift''",
                "session_id = null",
                "payments = 12",
                "payment_intent_id = ''pi_1''",
            ],
        ),
        ("hold", &["session_id = ''cs_1''", "purpose = ''method''"]),
        ("refund", &["kind = ''gift''", "kind = ''hold''"]),
    ] {
        for change in changes {
            // Fails unless the change is refused.
            let sql = format!(
                "do $$ begin
                    execute 'update ledger_entries set {change} where id = ''{id}''';
                    raise exception using errcode = 'raise_exception', message = '{id}: accepted';
                exception when check_violation then null;
                end $$"
            );
            leasing.shop.test.execute(&sql).await;
        }
    }
}

#[tokio::test]
async fn corrupt_entries_are_named() {
    let leasing = Leasing::open().await;
    let checkout = kept(&leasing).await;
    for (id, change, column) in [
        ("hold", "state = 'gone'", "state"),
        ("subscription", "payments = 70000", "payments"),
        ("invoice", "is_cycle = null", "is_cycle"),
        ("failed", "failure_code = null", "state"),
        ("refund", "payment_intent_id = null", "payment_intent_id"),
        ("refund", "kind = 'gift'", "kind"),
        ("session", "purpose = 'gift'", "purpose"),
        ("session", "purpose = 'deposit', ends_at = null", "ends_at"),
    ] {
        let sql = format!(
            "do $$ declare named text; begin
                for named in select conname from pg_constraint
                    where conrelid = 'ledger_entries'::regclass and contype = 'c'
                loop execute format('alter table ledger_entries drop constraint %I', named); end loop;
            end $$;
            update ledger_entries set {change} where id = '{id}'"
        );
        leasing.shop.test.execute(&sql).await;
        let mut view = leasing.shop.view().await;
        match view.ledger().find(checkout.mode, id).await {
            Err(StoreError::Corrupt {
                table,
                column: named,
                row,
                ..
            }) => assert_eq!((table, named, row.as_str()), ("ledger_entries", column, id)),
            other => panic!("{id}, {change}: {other:?}"),
        }
    }
}
