//! What the processor took, held and paid back is what the checkouts' rows say, to the unit.

use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Balance, Entry};
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::Database;
use lessor_processor_double::{Account, Double};

/// A checkout's rows.
pub(crate) async fn rows(database: &dyn Database, id: CheckoutPubId) -> Vec<Entry> {
    let mut view = database.read().await.unwrap();
    view.ledger().of(id).await.unwrap()
}

/// Checks that both sides say the same of the checkout. Answers what the processor says.
pub(crate) async fn assert_agree(
    double: &Double,
    database: &dyn Database,
    id: CheckoutPubId,
) -> Account {
    let theirs = double.account_of(&id.to_string());
    let rows = rows(database, id).await;
    let ours = Balance::of(Money::zero(Currency::USD), &rows).unwrap();
    assert_eq!(
        (
            ours.held.minor(),
            ours.captured.minor(),
            ours.paid.minor(),
            ours.refunded.minor()
        ),
        (
            theirs.held,
            theirs.captured,
            theirs.invoiced(),
            theirs.refunded
        ),
        "held, captured, paid, refunded of {id}: the rows are not what the processor says\n\
         {rows:#?}\n{theirs:#?}"
    );
    theirs
}
