//! The checkout: a customer's way to a lease.
//!
//! [`Checkout::open`] begins one and [`Checkout::apply`] is the rest of it: given a
//! checkout, something that happened and the circumstances, it changes the checkout and
//! returns the moves it made and the [`Effect`]s that somebody has to carry out. It reads
//! no clock, calls nobody and stores nothing. What else changes has a method with a name,
//! such as [`Checkout::choose_term`]; nobody writes a field.
//!
//! Which moves there are is one table, [`transition`], told by the stages: each owns its
//! events whole, with their rows, guards, records and effects. What there is to know of a
//! state (its phase, whether it has ended) is one row of the states.

mod apply;
mod attention;
mod diagram;
mod due;
mod effect;
mod event;
mod parts;
mod progress;
mod rule;
mod snapshot;
mod stage;
mod state;
mod step;
mod table;

pub use diagram::{dot, markdown_table, mermaid};
pub use due::{Due, FirstPaymentDue};
pub use effect::Effect;
pub use event::{Actor, Event, EventKind};
pub use parts::{
    Acceptance, Attention, AttentionReason, Billing, CheckoutAddress, CheckoutItem, ChosenTerm,
    Deposit, Hold, InsuranceStatus, Invoice, InvoiceOutcome, InvoiceTally, LeaseDates,
    MilestoneTimes, PaymentFailure, PaymentMethod, PurchaseItem, Recurring, RecurringPaymentStatus,
    Redirects, Refusal, Renewals, Return, Shipment, Standing, Tracking, Waitlist, WaitlistReason,
    WayOut,
};
pub use progress::{Milestone, MilestoneName, Progress, STEPS};
pub use rule::Move;
pub use snapshot::{CANCELLED_BY_ERASURE, Checkout, Snapshot, Unfit};
pub use stage::opening::{NewCheckout, Opening};
pub use stage::shipment::{MissingStep, serial_number_twice};
pub use state::{Lifecycle, Phase, State};
pub use step::{Applied, Circumstances, Facts, Obstacle, Outcome, Transition, TransitionError};
pub use table::{Arrow, arrows, arrows_from, moves_of, transition};
