//! Quotes of catalog items and of general lease terms: figures worked out by hand, and refusals.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

use lessor_domain::money::{Currency, Money, MoneyError};
use lessor_domain::percentage::Percentage;
use lessor_domain::pricing::{LeaseTerms, PaymentTax, PricingError, Rate, RateCard, quote};

use crate::{eur, usd};

fn factor(factor: &str) -> Rate {
    Rate::MoneyFactor(factor.parse().unwrap())
}

fn annual(rate: &str) -> Rate {
    Rate::AnnualRate(rate.parse().unwrap())
}

fn card(months: &str, rate: Rate, residual: &str, deposit: &str, insurance: &str) -> RateCard {
    RateCard {
        term: months.parse().unwrap(),
        rate,
        residual: residual.parse().unwrap(),
        deposit: deposit.parse().unwrap(),
        insurance: insurance.parse().unwrap(),
    }
}

/// Every figure in minor units, computed apart from this code with 80 decimal digits.
#[test]
fn every_figure_of_a_quote() {
    let first_year = card("12", factor("0.0025"), "60", "10", "6");
    let two_years = card("24", factor("0.0025"), "45", "10", "6");
    let three_years = card("36", factor("0.0025"), "30", "10", "6");
    let by_rate = card("24", annual("7.25"), "45", "10", "6");
    let many_decimals = card("36", annual("19.999999"), "30", "12.3456", "1.2345");
    for (msrp, discount, card, figures) in [
        // cost, residual, depreciation, rent, payment, insurance, total, deposit, signing, payments
        (
            129_900,
            "0",
            first_year,
            [
                129_900, 77_940, 51_960, 6_240, 4_850, 650, 5_500, 12_990, 18_490, 66_000,
            ],
        ),
        (
            129_900,
            "12.5",
            two_years,
            [
                113_663, 58_455, 55_208, 10_336, 2_731, 650, 3_381, 12_990, 16_371, 81_144,
            ],
        ),
        (
            129_900,
            "12.5",
            three_years,
            [
                113_663, 38_970, 74_693, 13_723, 2_456, 650, 3_106, 12_990, 16_096, 111_816,
            ],
        ),
        (
            129_900,
            "12.5",
            by_rate,
            [
                113_663, 58_455, 55_208, 12_328, 2_814, 650, 3_464, 12_990, 16_454, 83_136,
            ],
        ),
        (
            99_999,
            "33.3333",
            many_decimals,
            [
                66_666, 30_000, 36_666, 29_286, 1_832, 103, 1_935, 12_345, 14_280, 69_660,
            ],
        ),
        // No rate: the rent is what rounding leaves, and may be below zero.
        (
            129_900,
            "0",
            card("24", annual("0"), "45", "0", "0"),
            [
                129_900, 58_455, 71_445, 3, 2_977, 0, 2_977, 0, 2_977, 71_448,
            ],
        ),
        (
            10_000,
            "0",
            card("3", annual("0"), "0", "0", "0"),
            [10_000, 0, 10_000, -1, 3_333, 0, 3_333, 0, 3_333, 9_999],
        ),
        (
            10_000,
            "0",
            card("3", factor("0"), "0", "0", "0"),
            [10_000, 0, 10_000, -1, 3_333, 0, 3_333, 0, 3_333, 9_999],
        ),
        // A discount below the residual value: the cost bounds it, and only rent is paid.
        (
            129_900,
            "60",
            card("12", factor("0.0025"), "45", "0", "0"),
            [51_960, 51_960, 0, 3_120, 260, 0, 260, 0, 260, 3_120],
        ),
        // Discounted to nothing: insurance and deposit follow the list price.
        (
            129_900,
            "100",
            card("12", annual("6"), "45", "10", "6"),
            [0, 0, 0, 0, 0, 650, 650, 12_990, 13_640, 7_800],
        ),
        (0, "0", first_year, [0; 10]),
        (
            1,
            "0",
            card("1", annual("100"), "0", "0", "0"),
            [1, 0, 1, 0, 1, 0, 1, 0, 1, 1],
        ),
        // A payment on a half: 20 − 8·15/16 = 12.5.
        (
            20,
            "0",
            card("1", annual("80"), "40", "0", "0"),
            [20, 8, 12, 1, 13, 0, 13, 0, 13, 13],
        ),
        // The limits.
        (
            99_999_999_999,
            "0",
            card("120", annual("100"), "50", "100", "100"),
            [
                99_999_999_999,
                50_000_000_000,
                49_999_999_999,
                873_108_024_761,
                7_692_566_873,
                8_333_333_333,
                16_025_900_206,
                99_999_999_999,
                116_025_900_205,
                1_923_108_024_720,
            ],
        ),
        (
            99_999_999_999,
            "0",
            card("1", factor("1"), "100", "100", "100"),
            [
                99_999_999_999,
                99_999_999_999,
                0,
                199_999_999_998,
                199_999_999_998,
                8_333_333_333,
                208_333_333_331,
                99_999_999_999,
                308_333_333_330,
                208_333_333_331,
            ],
        ),
    ] {
        let discount = discount.parse().unwrap();
        let quote = quote(usd(msrp), discount, &card).unwrap();
        assert_eq!(
            [
                quote.capitalized_cost,
                quote.residual_value,
                quote.depreciation,
                quote.rent_charge,
                quote.monthly_payment,
                quote.insurance,
                quote.total_monthly_payment,
                quote.deposit,
                quote.total_due_at_signing,
                quote.total_of_payments,
            ],
            figures.map(usd),
            "{msrp} less {discount} % for {card:?}"
        );
        assert_eq!(
            (quote.term, quote.currency, quote.msrp, quote.discount),
            (card.term, Currency::USD, usd(msrp), discount)
        );
        assert_eq!(quote.deposit_percentage, card.deposit);
    }
}

#[test]
fn a_quote_is_in_the_units_of_its_currency() {
    for (code, minor, payment) in [
        ("JPY", 150_000, "10390"),
        ("KWD", 150_000, "10.390"),
        ("CLF", 150_000, "1.0390"),
    ] {
        let msrp = Money::from_minor(minor, code.parse().unwrap());
        let card = card("12", annual("5.5"), "20", "10", "6");
        let quote = quote(msrp, Percentage::ZERO, &card).unwrap();
        assert_eq!(quote.monthly_payment.to_string(), payment);
        assert_eq!(quote.currency.code(), code);
    }
}

#[test]
fn a_list_price_outside_its_range_is_refused() {
    let card = card("12", factor("0.0025"), "60", "10", "6");
    for minor in [-1, 100_000_000_000, i64::MAX, i64::MIN] {
        let error = quote(usd(minor), Percentage::ZERO, &card).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the list price is from 0 to 999999999.99"
        );
    }
}

/// Of [`terms`], computed apart from this code: with two payments in advance (2831.4785…) and its
/// tax of 8.25 %, with none (2859.2366…), and with all of them (2688.0238…).
const BASE: i64 = 2831;
const TAX: i64 = 234;
const ARREARS: i64 = 2859;
const ALL_IN_ADVANCE: i64 = 2688;

fn terms() -> LeaseTerms {
    LeaseTerms::new(
        usd(100_000),
        usd(40_000),
        "24".parse().unwrap(),
        annual("6"),
    )
}

#[test]
fn every_figure_of_general_terms() {
    let lease = terms()
        .capitalized_fees(usd(5_000))
        .trade_in(usd(3_000))
        .rebate(usd(1_500))
        .cash_reduction(usd(500))
        .payments_in_advance(2)
        .tax(PaymentTax::Percentage("8.25".parse().unwrap()))
        .quote()
        .unwrap();
    for (figure, minor) in [
        (lease.agreed_value, 100_000),
        (lease.capitalized_fees, 5_000),
        (lease.gross_capitalized_cost, 105_000),
        (lease.trade_in, 3_000),
        (lease.rebate, 1_500),
        (lease.cash_reduction, 500),
        (lease.capitalized_cost_reduction, 5_000),
        (lease.adjusted_capitalized_cost, 100_000),
        (lease.residual_value, 40_000),
        (lease.depreciation, 60_000),
        (lease.rent_charge, BASE * 24 - 60_000),
        (lease.total_of_base_payments, BASE * 24),
        (lease.base_payment, BASE),
        (lease.payment_tax, TAX),
        (lease.monthly_payment, BASE + TAX),
        (lease.total_of_monthly_payments, (BASE + TAX) * 24),
    ] {
        assert_eq!(figure, usd(minor));
    }
    assert_eq!((lease.term.get(), lease.payments_in_advance), (24, 2));
    assert_eq!(lease.currency, Currency::USD);
    assert_eq!(lease.depreciation_per_month(), Ok(usd(2_500)));
    assert_eq!(lease.rent_per_month(), Ok(usd(BASE - 2_500)));
}

#[test]
fn payments_at_the_end_of_each_month() {
    let lease = terms().payments_in_advance(0).quote().unwrap();
    assert_eq!(lease.base_payment, usd(ARREARS));
    let all = terms().payments_in_advance(24).quote().unwrap();
    assert_eq!(all.base_payment, usd(ALL_IN_ADVANCE));
}

#[test]
fn taxes_of_every_kind() {
    let payment = |tax| {
        let lease = terms().tax(tax).quote().unwrap();
        assert_eq!(
            lease.base_payment.checked_add(lease.payment_tax),
            Ok(lease.monthly_payment)
        );
        lease.payment_tax
    };
    assert_eq!(payment(PaymentTax::None), usd(0));
    assert_eq!(payment(PaymentTax::Amount(usd(250))), usd(250));
    assert_eq!(
        payment(PaymentTax::Percentage(Percentage::MAX)),
        terms().quote().unwrap().base_payment
    );
    assert_eq!(
        payment(PaymentTax::PercentageOfUnrounded(Percentage::ZERO)),
        usd(0)
    );
}

#[test]
fn terms_outside_their_ranges_are_refused_by_name() {
    let too_much = usd(100_000_000_000);
    for (terms, message) in [
        (
            terms().capitalized_fees(usd(-1)),
            "the sum of capitalized fees is from 0 to 999999999.99",
        ),
        (
            terms().trade_in(too_much),
            "the trade-in allowance is from 0 to 999999999.99",
        ),
        (
            terms().rebate(usd(-1)),
            "the rebate is from 0 to 999999999.99",
        ),
        (
            terms().cash_reduction(usd(-1)),
            "the cash reduction is from 0 to 999999999.99",
        ),
        (
            terms().tax(PaymentTax::Amount(usd(-1))),
            "the tax on a payment is from 0 to 999999999.99",
        ),
        (
            terms().capitalized_fees(usd(99_999_999_999)),
            "the gross capitalized cost is from 0 to 999999999.99",
        ),
        (
            terms().trade_in(usd(100_001)),
            "the capitalized cost reduction is from 0 to 1000.00",
        ),
        (
            terms().cash_reduction(usd(60_001)),
            "the residual value is from 0 to 399.99",
        ),
        (
            terms().payments_in_advance(25),
            "the number of payments in advance is from 0 to 24",
        ),
        (
            LeaseTerms::new(usd(-1), usd(0), "24".parse().unwrap(), annual("6")),
            "the agreed value is from 0 to 999999999.99",
        ),
        (
            LeaseTerms::new(usd(1), usd(-1), "24".parse().unwrap(), annual("6")),
            "the residual value is from 0 to 0.01",
        ),
    ] {
        assert_eq!(terms.quote().unwrap_err().to_string(), message);
    }
    // The edges themselves are fine.
    assert!(terms().cash_reduction(usd(60_000)).quote().is_ok());
    assert!(terms().payments_in_advance(24).quote().is_ok());
}

#[test]
fn terms_of_two_currencies_are_refused() {
    let mismatch = |error| {
        matches!(
            error,
            PricingError::Money(MoneyError::CurrencyMismatch { .. })
        )
    };
    for terms in [
        terms().capitalized_fees(eur(1)),
        terms().trade_in(eur(1)),
        terms().rebate(eur(1)),
        terms().cash_reduction(eur(1)),
        terms().tax(PaymentTax::Amount(eur(1))),
        LeaseTerms::new(usd(1), eur(0), "24".parse().unwrap(), annual("6")),
    ] {
        assert!(mismatch(terms.quote().unwrap_err()), "{terms:?}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn a_quote_survives_its_stored_form() {
    let card = card("24", annual("7.25"), "45", "10", "6");
    let json = serde_json::to_value(card).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "term": 24,
            "rate": {"annualRate": "7.25"},
            "residual": "45",
            "deposit": "10",
            "insurance": "6",
        })
    );
    assert_eq!(serde_json::from_value::<RateCard>(json).unwrap(), card);
    let quote = quote(usd(129_900), "12.5".parse().unwrap(), &card).unwrap();
    let stored = serde_json::to_string(&quote).unwrap();
    assert_eq!(
        serde_json::from_str::<lessor_domain::pricing::Quote>(&stored).unwrap(),
        quote
    );
}

/// The table that the README shows is the one that its example prints.
#[test]
fn the_readme_shows_what_its_example_prints() {
    let readme = include_str!("../../README.md");
    let (_, shown) = readme.split_once("```text\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let rate = Rate::MoneyFactor("0.0025".parse().unwrap());
    let printed: String = [("12", "60"), ("24", "45"), ("36", "30")]
        .into_iter()
        .map(|(months, residual)| {
            let card = RateCard::new(months.parse().unwrap(), rate, residual.parse().unwrap());
            let quote = quote(usd(129_900), Percentage::ZERO, &card).unwrap();
            format!("{months} months: {} a month\n", quote.total_monthly_payment)
        })
        .collect();
    assert_eq!(shown, printed);
}
