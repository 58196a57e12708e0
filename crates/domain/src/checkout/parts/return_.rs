//! The way of the goods back.

use crate::text::{Line, Notes};
use crate::time::Timestamp;

/// The way of the goods back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Return {
    /// When it began.
    pub initiated_at: Option<Timestamp>,
    /// When the goods were back.
    pub completed_at: Option<Timestamp>,
    /// When it was called off.
    pub cancelled_at: Option<Timestamp>,
    /// Why.
    pub reason: Option<Line>,
    /// What else there is to say.
    pub notes: Option<Notes>,
}
