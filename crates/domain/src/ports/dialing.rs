//! Phone numbers, read by the rules of their countries.

use crate::address::{Country, PhoneNumber};
use crate::text::Line;

/// Reads phone numbers: how each country writes its own, and how it writes others'.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait DialingPlan: Send + Sync {
    /// The number that the text is, dialled in the country; in international form (`+14155550100`)
    /// it is the same number in every country, and without a country that is the only form. It is
    /// told at once, from the text alone: nobody is asked, and it may be a number that nobody has.
    /// None when the text is no phone number.
    fn read(&self, country: Option<Country>, text: &Line) -> Option<PhoneNumber>;
}
