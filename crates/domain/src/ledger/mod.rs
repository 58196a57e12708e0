//! The ledger: whatever was made at the payment processor for a checkout, a row for each thing.
//!
//! A row outlives what the checkout has become, so that a late message finds it, money that nobody
//! needs any more is let go of, and what was taken and paid back adds up.

mod balance;
mod entry;
mod statement;
mod told;

pub use balance::{Balance, paid_by, refunded_of};
pub use entry::{Entry, EntryKind, Thing};
pub use statement::{Instalment, Payment, PaymentFor, PaymentStanding, Statement};
pub use told::{
    Authorization, Dispute, HoldState, HostedSession, Refund, RefundState, SessionPurpose,
    SessionState, Subscription, SubscriptionState,
};
