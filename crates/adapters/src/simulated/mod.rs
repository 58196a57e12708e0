//! Providers of sandbox mode that need no account anywhere.
//!
//! They are durable: what they were asked for and what they answered lies in the
//! database, so that a checkout survives a restart in any state. It is the organization's in
//! whose name they were asked, and nobody else's is there for them. They decide by the
//! local part of the customer's e-mail address, so that a test can ask for an
//! outcome:
//!
//! | e-mail | outcome |
//! |---|---|
//! | `…+identityfail@` | the identity verification is refused |
//! | `…+creditfail@` | the credit check is refused |
//! | `…+depositfail@` | the first authorization of each checkout is refused |
//! | `…+depositdecline@` | every authorization is refused |
//! | `…+capturefail@` | the first capture of each checkout is refused |
//! | `…+capturedecline@` | every capture is refused |
//! | `…+firstpaymentfail@` | the first payment of each checkout's first subscription fails |
//! | `…+paymentfail@` | every recurring payment after the first fails |
//!
//! Whatever the address asks for, a payment that failed is made when its invoice is paid with
//! another method. The test card `pm_card_chargeCustomerFail` can be named and is always declined.
//!
//! Nothing here opens a real lease: a call of live mode is refused.

mod billing;
mod deposits;
mod desk;
mod email_tags;
mod invoices;
mod methods;
mod processor;
mod refunds;
mod screening;
mod subscriptions;

use std::sync::Arc;

use lessor_domain::ports::{Entropy, Providers};

pub use self::invoices::SimulatedInvoice;
pub use self::processor::SimulatedProcessor;
pub use self::screening::{SimulatedCredit, SimulatedIdentity};
use crate::postgres::PgDatabase;

/// All three of them.
#[must_use]
pub fn providers(database: &PgDatabase, entropy: &Arc<dyn Entropy>) -> Providers {
    Providers {
        processor: Arc::new(SimulatedProcessor::new(
            database.clone(),
            Arc::clone(entropy),
        )),
        identity: Arc::new(SimulatedIdentity::new(
            database.clone(),
            Arc::clone(entropy),
        )),
        credit: Arc::new(SimulatedCredit::new(database.clone(), Arc::clone(entropy))),
    }
}
