//! How many of a variant are leased together.

use std::fmt;

use crate::money::{Money, MoneyError};

/// How many of one variant a checkout leases: 1 to 50.
///
/// Amounts of several are the amount of one, rounded as it is billed, times their number: the price
/// list times the number is what is paid.
///
/// ```
/// use lessor_domain::money::{Currency, Money};
/// use lessor_domain::quantity::Quantity;
///
/// let three = Quantity::new(3)?;
/// let each = Money::parse("40.98", Currency::USD)?;
/// let all = three.of(each)?;
/// assert_eq!(all.to_string(), "122.94");
/// assert_eq!(three.each_of(all), Some(each));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u32", into = "u32"))]
pub struct Quantity(u8);

impl Quantity {
    /// One.
    pub const ONE: Self = Self(1);
    /// The most.
    pub const MAX: Self = Self(50);

    /// Takes a number.
    ///
    /// # Errors
    /// [`QuantityError`] outside 1 to 50.
    pub fn new(number: u32) -> Result<Self, QuantityError> {
        match u8::try_from(number) {
            Ok(number @ 1..=50) => Ok(Self(number)),
            _ => Err(QuantityError),
        }
    }

    /// As many as a list is long.
    ///
    /// # Errors
    /// [`QuantityError`] outside 1 to 50.
    pub fn of_list<T>(list: &[T]) -> Result<Self, QuantityError> {
        Self::new(u32::try_from(list.len()).map_err(|_| QuantityError)?)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0 as u32
    }

    /// Whether it is more than one.
    #[must_use]
    pub const fn is_several(self) -> bool {
        self.0 > 1
    }

    /// What so many come to.
    ///
    /// # Errors
    /// [`MoneyError`] when it is more than can be counted.
    pub fn of(self, each: Money) -> Result<Money, MoneyError> {
        each.checked_mul(self.get())
    }

    /// What one comes to where so many come to this; none where it is no multiple.
    #[must_use]
    pub fn each_of(self, all: Money) -> Option<Money> {
        let number = i64::from(self.0);
        let rest = all.minor().checked_rem(number)?;
        let each = all.minor().checked_div(number)?;
        (rest == 0).then(|| Money::from_minor(each, all.currency()))
    }
}

impl TryFrom<u32> for Quantity {
    type Error = QuantityError;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        Self::new(number)
    }
}

impl From<Quantity> for u32 {
    fn from(quantity: Quantity) -> Self {
        quantity.get()
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number is not one that is leased together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a quantity is a whole number from 1 to 50")]
pub struct QuantityError;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Currency;

    fn usd(minor: i64) -> Money {
        Money::from_minor(minor, Currency::USD)
    }

    #[test]
    fn one_to_fifty_are_leased_together() {
        for number in [1, 2, 49, 50] {
            assert_eq!(Quantity::new(number).map(Quantity::get), Ok(number));
        }
        for number in [0, 51, 256, 257, u32::MAX] {
            assert_eq!(Quantity::new(number), Err(QuantityError), "{number}");
        }
        assert_eq!(Quantity::of_list(&[(); 50]), Ok(Quantity::MAX));
        assert_eq!(Quantity::of_list::<u8>(&[]), Err(QuantityError));
        assert_eq!(Quantity::of_list(&[(); 51]), Err(QuantityError));
    }

    #[test]
    fn amounts_are_multiplied_and_taken_apart_to_the_minor_unit() {
        for number in 1..=50 {
            let quantity = Quantity::new(number).unwrap();
            for each in [-7, 0, 1, 3_333, 99_999_999_999] {
                let all = quantity.of(usd(each)).unwrap();
                assert_eq!(all.minor(), each * i64::from(number));
                assert_eq!(quantity.each_of(all), Some(usd(each)));
            }
        }
        let three = Quantity::new(3).unwrap();
        assert_eq!(three.each_of(usd(100)), None);
        assert_eq!(three.of(usd(i64::MAX)), Err(MoneyError::Overflow));
        assert!(three.is_several() && !Quantity::ONE.is_several());
    }
}
