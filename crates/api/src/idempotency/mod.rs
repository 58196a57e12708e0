//! From a request to a unit of work and back.
//!
//! A handler takes a [`Call`], which knows who asks and what with. It reads by opening a view:
//!
//! ```ignore
//! let mut work = call.read().await?;
//! let product = catalog::get_product(&mut *work, &call.context(), id).await?;
//! ```
//!
//! and changes by giving the work away, with what it is done on:
//!
//! ```ignore
//! call.post(Permission::ProductWrite, &body.raw, input, |work, ctx, input| {
//!     Box::pin(async move {
//!         let product = catalog::create_product(work, &ctx, input).await?;
//!         Ok(ProductRecord::new(&product))
//!     })
//! })
//! .await
//! ```
//!
//! The work runs in a task that outlives its client, in a transaction that is committed when the
//! work succeeds. When it met another's work it is done again from the beginning, on another copy of
//! its input.
//!
//! - [`Call::mutate`] for PUT and DELETE: once or again, the end is the same.
//! - [`Call::post`] for POST: a request that carries an `Idempotency-Key` is carried out once, and
//!   its answer is kept with the work and given again (see [`idempotency`]).
//! - [`Call::post_in_two_phases`] where an answer gets better after the commit: what has to be asked
//!   of a provider is asked outside of the transaction.
//! - [`Call::run`] for whatever has its own order of transactions: bulk requests.

mod call;
mod once;
mod runner;

pub use call::Call;
pub use once::{MAX_KEY_LENGTH, Phase};
pub(crate) use runner::Tries;
pub use runner::{Runner, Work};

#[cfg(test)]
mod tests;
