//! What the processor took, held and paid back is what the checkouts' rows say, to the unit.

use std::collections::BTreeSet;

use lessor_adapters::testing::TestDatabase;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Balance, Entry};
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::{Database, Reach};
use lessor_processor_double::{Account, Double};

use crate::world::{LOOK_AGAIN, Patience};

/// A checkout's rows.
pub(crate) async fn rows(database: &dyn Database, id: CheckoutPubId) -> Vec<Entry> {
    let mut view = database.read(Reach::Server).await.unwrap();
    let Some(owner) = view.doors().owner_of_checkout(id).await.unwrap() else {
        return Vec::new();
    };
    view.enter(owner).await.unwrap();
    view.ledger().of(id).await.unwrap()
}

/// What the processor says of the checkout's money, if the rows say the same.
pub(crate) async fn compare(
    double: &Double,
    database: &dyn Database,
    id: CheckoutPubId,
) -> Result<Account, String> {
    let theirs = double.account_of(&id.to_string());
    let rows = rows(database, id).await;
    let ours = Balance::of(Money::zero(Currency::USD), &rows).unwrap();
    let ours = [ours.held, ours.captured, ours.paid, ours.refunded].map(Money::minor);
    let said = [
        theirs.held,
        theirs.captured,
        theirs.invoiced(),
        theirs.refunded,
    ];
    if ours == said {
        return Ok(theirs);
    }
    Err(format!(
        "held, captured, paid, refunded of {id}: the rows say {ours:?}, the processor {said:?}\n\
         {rows:#?}\n{theirs:#?}"
    ))
}

/// Checks that both sides say the same of the checkout. Answers what the processor says.
pub(crate) async fn assert_agree(
    double: &Double,
    database: &dyn Database,
    id: CheckoutPubId,
) -> Account {
    let compared = compare(double, database, id).await;
    compared.unwrap_or_else(|differs| panic!("{differs}"))
}

/// Checks that both sides say the same of every checkout that either knows, as soon as the messages
/// that are under way have come.
pub(crate) async fn until_all_agree(double: &Double, database: &TestDatabase) {
    // A session was opened under an id of ours, if it was opened at all.
    let known = "SELECT coalesce(session_id, id) FROM ledger_entries WHERE kind <> 'session' OR session_id IS NOT NULL";
    let known = database.query(known).await;
    for thing in known {
        assert!(
            double.object(&thing).is_some(),
            "{thing} is nothing that the processor has"
        );
    }
    let mut ids = BTreeSet::new();
    for kind in ["payment_intent", "subscription", "refund"] {
        ids.extend(double.ids_by(kind, "lessor_checkout").into_keys());
    }
    for id in ids {
        let id = id.parse().unwrap();
        let mut patience = Patience::default();
        while let Err(differs) = compare(double, database.database(), id).await {
            assert!(patience.lasts(), "{differs}");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}
