//! From a request to a unit of work and back.
//!
//! A handler reads the request, runs a [use case](lessor_domain::services::UseCase) by a [`Call`],
//! which knows who asks and what with, and renders what came of it:
//!
//! ```ignore
//! let product = call.read(GetProduct { id }).await?;
//! Ok(Json(ProductRecord::from(&product)))
//! ```
//!
//! Where an answer is kept it is rendered with the work:
//!
//! ```ignore
//! call.post(create, &body.raw, |product, _| ProductRecord::from(&product)).await
//! ```
//!
//! What changes something runs in a task that outlives its client, in a transaction that is committed
//! when it succeeds and rolled back when it is refused. When it met another's work it is run again from
//! the beginning, from another copy.
//!
//! - [`Call::read`] for GET of a record, [`Call::list`] for GET of a list.
//! - [`Call::mutate`] for PUT and DELETE: once or again, the end is the same.
//! - [`Call::post`] for POST: a request that carries an `Idempotency-Key` is carried out once, and
//!   its answer is kept with the work and given again.
//! - [`Call::post_in_two_phases`] where an answer gets better after the commit: see [`TwoPhases`].
//! - [`Call::run`] for whatever has its own order of transactions: bulk requests.

mod call;
mod once;
mod position;
mod runner;
mod sealed;

pub use call::Call;
pub use once::{FirstPhase, MAX_KEY_LENGTH, TwoPhases};
pub use runner::{Runner, Viewer};
pub(crate) use runner::{Tries, close};

#[cfg(test)]
mod tests;
