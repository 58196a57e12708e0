//! What commits, and what calls providers: each of these takes its own units of work, and several
//! of them may run at once, in one process or in many.
//!
//! - [`jobs`] carries out what the job queue holds;
//! - [`inbox`] takes in what the processor tells by itself;
//! - [`housekeeping`] brings about what time does;
//! - [`couriers`] tells endpoints what happened, and [`mailers`] sends mails;
//! - [`reconcile`] compares leases with what the processor bills;
//! - [`sandbox`] plays the customer and the providers for a test.

pub mod couriers;
mod engine;
pub mod housekeeping;
pub mod inbox;
pub mod jobs;
pub mod mailers;
pub mod reconcile;
mod rounds;
pub mod sandbox;

pub use engine::Engine;
pub use rounds::Round;
