//! Decimal numbers: amounts of money, percentages, factors, months.

use lessor_domain::money::{Amount, Currency, Money};
use lessor_domain::percentage::{AnnualRate, MoneyFactor, Percentage, TermMonths};

use crate::reads_back;

/// Reads an amount and its kin. Each reads the same from its own text, and money has no other value than its amount.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    reads_back::<Percentage>(text);
    reads_back::<MoneyFactor>(text);
    reads_back::<AnnualRate>(text);
    reads_back::<TermMonths>(text);
    if let Ok(money) = Money::parse(text, Currency::USD) {
        let again = Money::parse(&money.to_string(), Currency::USD);
        assert_eq!(again, Ok(money), "{money:?}");
        assert!(!money.is_negative(), "{money:?}");
    }
    reads_back::<Amount>(text)
}
