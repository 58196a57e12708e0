//! What becomes of a provider's message.

use crate::ids::CheckoutPubId;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Concern {
    /// It concerned this checkout.
    Checkout(CheckoutPubId),
    /// It concerned nothing that Lessor keeps, or changed nothing.
    Nothing,
    /// What it is about is not known yet: it is to be handled again later.
    NotYet,
}
