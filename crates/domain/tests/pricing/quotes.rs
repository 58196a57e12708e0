//! Quotes of catalog items and of general lease terms: figures worked out by hand, and refusals.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

use lessor_domain::money::{Currency, Money, MoneyError};
use lessor_domain::percentage::Percentage;
use lessor_domain::pricing::{
    LeaseQuote, LeaseTerms, PaymentTax, PricingError, Quote, Rate, RateCard, quote,
};
use lessor_domain::quantity::Quantity;

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

fn several(number: u32) -> Quantity {
    Quantity::new(number).unwrap()
}

/// The price list times the number is what is billed: 27.31 a month is rounded for one, and three are
/// 81.93, where the payment of three times the price would be 81.92.
#[test]
fn several_cost_what_one_costs_times_their_number() {
    let card = card("24", factor("0.0025"), "45", "10", "6");
    let discount = "12.5".parse().unwrap();
    let one = quote(usd(129_900), discount, &card).unwrap();
    let by_sum = quote(usd(389_700), discount, &card).unwrap();
    assert_eq!(one.monthly_payment, usd(2_731));
    assert_eq!(by_sum.monthly_payment, usd(8_192));
    for (number, figures) in [
        // cost, residual, depreciation, rent, payment, insurance, total, deposit, signing, payments
        (
            1,
            [
                113_663, 58_455, 55_208, 10_336, 2_731, 650, 3_381, 12_990, 16_371, 81_144,
            ],
        ),
        (
            3,
            [
                340_989, 175_365, 165_624, 31_008, 8_193, 1_950, 10_143, 38_970, 49_113, 243_432,
            ],
        ),
        (
            50,
            [
                5_683_150, 2_922_750, 2_760_400, 516_800, 136_550, 32_500, 169_050, 649_500,
                818_550, 4_057_200,
            ],
        ),
    ] {
        let all = one.times(several(number)).unwrap();
        let found = [
            all.capitalized_cost,
            all.residual_value,
            all.depreciation,
            all.rent_charge,
            all.monthly_payment,
            all.insurance,
            all.total_monthly_payment,
            all.deposit,
            all.total_due_at_signing,
            all.total_of_payments,
        ];
        assert_eq!(found.map(Money::minor), figures, "{number}");
        assert_eq!(all.msrp.minor(), 129_900 * i64::from(number));
        assert_eq!(
            (all.term, all.discount, all.deposit_percentage),
            (one.term, one.discount, one.deposit_percentage)
        );
        assert_eq!(all.plan().unwrap().payment(), all.monthly_payment);
        assert_eq!(all.one_of(several(number)).unwrap(), one);
    }
}

#[test]
fn what_is_no_multiple_is_not_the_price_of_several() {
    let card = card("24", factor("0.0025"), "45", "10", "6");
    let one = quote(usd(129_900), Percentage::ZERO, &card).unwrap();
    let three = one.times(several(3)).unwrap();
    assert_eq!(
        three.one_of(several(50)).unwrap_err().to_string(),
        "the amounts are not 50 times those of one"
    );
    assert!(three.one_of(Quantity::ONE).unwrap() == three);
}

#[test]
fn several_that_cost_more_than_an_amount_are_refused() {
    let card = card("24", factor("0.0025"), "45", "10", "6");
    let most = Money::largest_amount(Currency::USD);
    // 50 times 19,999,999.99 are 999,999,999.50.
    let dear = quote(usd(1_999_999_999), Percentage::ZERO, &card).unwrap();
    assert_eq!(dear.times(Quantity::MAX).unwrap().msrp, usd(99_999_999_950));
    let too_dear = quote(usd(2_000_000_000), Percentage::ZERO, &card).unwrap();
    assert_eq!(
        too_dear.times(Quantity::MAX),
        Err(PricingError::AmountOutOfRange {
            figure: "the list price of all of them",
            max: most,
        })
    );
    assert!(
        quote(most, Percentage::ZERO, &card)
            .unwrap()
            .times(Quantity::ONE)
            .is_ok()
    );
    let mut overflowing = dear;
    overflowing.total_of_payments = usd(i64::MAX);
    assert_eq!(
        overflowing.times(several(2)),
        Err(PricingError::Money(MoneyError::Overflow))
    );
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

/// A change of one figure, and the message that names what does not fit.
type Change<Q> = (fn(&mut Q), &'static str);

/// Whatever is changed in a quote, what it was agreed to be is not computed from the rest.
#[test]
fn a_changed_quote_has_no_plan() {
    let card = card("24", annual("7.25"), "45", "10", "6");
    let untouched = quote(usd(129_900), "12.5".parse().unwrap(), &card).unwrap();
    assert!(untouched.plan().is_ok());
    let changes: [Change<Quote>; 26] = [
        (
            |quote| quote.residual_value = Money::from_minor(58_455, "JPY".parse().unwrap()),
            "the residual value is in JPY, and the quote in USD",
        ),
        (
            |quote| quote.currency = "EUR".parse().unwrap(),
            "the list price is in USD, and the quote in EUR",
        ),
        (
            |quote| quote.msrp = eur(129_900),
            "the list price is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.capitalized_cost = eur(0),
            "the capitalized cost is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.depreciation = eur(0),
            "the depreciation is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.rent_charge = eur(0),
            "the rent charge is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.monthly_payment = eur(0),
            "the monthly payment is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.insurance = eur(0),
            "the insurance is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.total_monthly_payment = eur(0),
            "the total monthly payment is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.deposit = eur(0),
            "the deposit is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.total_due_at_signing = eur(0),
            "the total due at signing is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.total_of_payments = eur(0),
            "the total of payments is in EUR, and the quote in USD",
        ),
        (
            |quote| quote.term = "12".parse().unwrap(),
            "the rent charge contradicts the other figures, which give -214.40",
        ),
        (
            |quote| quote.msrp = usd(-1),
            "the list price is from 0 to 999999999.99",
        ),
        (
            |quote| quote.msrp = usd(113_662),
            "the capitalized cost is from 0 to 1136.62",
        ),
        (
            |quote| quote.residual_value = usd(113_664),
            "the residual value is from 0 to 1136.63",
        ),
        (
            |quote| quote.monthly_payment = usd(-3_442),
            "the monthly payment is from 0 to 2273.26",
        ),
        (
            |quote| quote.monthly_payment = usd(227_327),
            "the monthly payment is from 0 to 2273.26",
        ),
        (
            |quote| quote.insurance = usd(-1),
            "the insurance is from 0 to 1299.00",
        ),
        (
            |quote| quote.deposit = usd(129_901),
            "the deposit is from 0 to 1299.00",
        ),
        (
            |quote| quote.depreciation = usd(55_209),
            "the depreciation contradicts the other figures, which give 552.08",
        ),
        (
            |quote| quote.rent_charge = usd(12_327),
            "the rent charge contradicts the other figures, which give 123.28",
        ),
        (
            |quote| quote.insurance = usd(651),
            "the total monthly payment contradicts the other figures, which give 34.65",
        ),
        (
            |quote| quote.deposit = usd(0),
            "the total due at signing contradicts the other figures, which give 34.64",
        ),
        (
            |quote| quote.total_of_payments = usd(83_137),
            "the total of payments contradicts the other figures, which give 831.36",
        ),
        (
            |quote| quote.capitalized_cost = usd(113_662),
            "the depreciation contradicts the other figures, which give 552.07",
        ),
    ];
    for (change, message) in changes {
        let mut changed = untouched;
        change(&mut changed);
        assert_eq!(changed.plan().unwrap_err().to_string(), message);
        #[cfg(feature = "serde")]
        assert_eq!(refusal::<Quote>(&changed), message);
    }
}

#[test]
fn a_changed_lease_has_no_plan() {
    let untouched = terms()
        .capitalized_fees(usd(5_000))
        .trade_in(usd(3_000))
        .rebate(usd(1_500))
        .cash_reduction(usd(500))
        .payments_in_advance(2)
        .tax(PaymentTax::Percentage("8.25".parse().unwrap()))
        .quote()
        .unwrap();
    assert!(untouched.plan().is_ok());
    let changes: [Change<LeaseQuote>; 37] = [
        (
            |lease| lease.currency = "EUR".parse().unwrap(),
            "the agreed value is in USD, and the quote in EUR",
        ),
        (
            |lease| lease.agreed_value = eur(0),
            "the agreed value is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.capitalized_fees = eur(0),
            "the sum of capitalized fees is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.gross_capitalized_cost = eur(0),
            "the gross capitalized cost is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.trade_in = eur(0),
            "the trade-in allowance is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.rebate = eur(0),
            "the rebate is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.cash_reduction = eur(0),
            "the cash reduction is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.capitalized_cost_reduction = eur(0),
            "the capitalized cost reduction is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.adjusted_capitalized_cost = eur(0),
            "the adjusted capitalized cost is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.residual_value = eur(0),
            "the residual value is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.depreciation = eur(0),
            "the depreciation is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.rent_charge = eur(0),
            "the rent charge is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.total_of_base_payments = eur(0),
            "the total of base payments is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.base_payment = eur(0),
            "the base payment is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.payment_tax = eur(0),
            "the tax on a payment is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.monthly_payment = eur(0),
            "the monthly payment is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.total_of_monthly_payments = eur(0),
            "the total of monthly payments is in EUR, and the quote in USD",
        ),
        (
            |lease| lease.payments_in_advance = 25,
            "the number of payments in advance is from 0 to 24",
        ),
        (
            |lease| lease.agreed_value = usd(-1),
            "the agreed value is from 0 to 999999999.99",
        ),
        (
            |lease| lease.capitalized_fees = usd(-1),
            "the sum of capitalized fees is from 0 to 999999999.99",
        ),
        (
            |lease| lease.trade_in = usd(-1),
            "the trade-in allowance is from 0 to 999999999.99",
        ),
        (
            |lease| lease.rebate = usd(-1),
            "the rebate is from 0 to 999999999.99",
        ),
        (
            |lease| lease.cash_reduction = usd(-1),
            "the cash reduction is from 0 to 999999999.99",
        ),
        (
            |lease| {
                lease.agreed_value = usd(99_999_999_999);
                lease.gross_capitalized_cost = usd(100_000_004_999);
            },
            "the gross capitalized cost is from 0 to 999999999.99",
        ),
        (
            |lease| {
                lease.trade_in = usd(103_001);
                lease.capitalized_cost_reduction = usd(105_001);
            },
            "the capitalized cost reduction is from 0 to 1050.00",
        ),
        (
            |lease| lease.residual_value = usd(100_001),
            "the residual value is from 0 to 1000.00",
        ),
        (
            |lease| lease.base_payment = usd(-BASE),
            "the base payment is from 0 to 2000.00",
        ),
        (
            |lease| lease.payment_tax = usd(-TAX),
            "the tax on a payment is from 0 to 1999999999.98",
        ),
        (
            |lease| lease.capitalized_fees = usd(0),
            "the gross capitalized cost contradicts the other figures, which give 1000.00",
        ),
        (
            |lease| lease.rebate = usd(0),
            "the capitalized cost reduction contradicts the other figures, which give 35.00",
        ),
        (
            |lease| lease.adjusted_capitalized_cost = usd(0),
            "the adjusted capitalized cost contradicts the other figures, which give 1000.00",
        ),
        (
            |lease| lease.residual_value = usd(0),
            "the depreciation contradicts the other figures, which give 1000.00",
        ),
        (
            |lease| lease.rent_charge = usd(0),
            "the rent charge contradicts the other figures, which give 79.44",
        ),
        (
            |lease| lease.base_payment = usd(2_500),
            "the total of base payments contradicts the other figures, which give 600.00",
        ),
        (
            |lease| lease.term = "12".parse().unwrap(),
            "the total of base payments contradicts the other figures, which give 339.72",
        ),
        (
            |lease| lease.payment_tax = usd(0),
            "the monthly payment contradicts the other figures, which give 28.31",
        ),
        (
            |lease| lease.total_of_monthly_payments = usd(0),
            "the total of monthly payments contradicts the other figures, which give 735.60",
        ),
    ];
    for (change, message) in changes {
        let mut changed = untouched;
        change(&mut changed);
        assert_eq!(changed.plan().unwrap_err().to_string(), message);
        #[cfg(feature = "serde")]
        assert_eq!(refusal::<LeaseQuote>(&changed), message);
    }
}

/// Why the stored form of a quote is not read.
#[cfg(feature = "serde")]
fn refusal<Q: serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug>(
    quote: &Q,
) -> String {
    let stored = serde_json::to_value(quote).unwrap();
    serde_json::from_value::<Q>(stored).unwrap_err().to_string()
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
    assert_eq!(serde_json::from_str::<Quote>(&stored).unwrap(), quote);
    let lease = terms().payments_in_advance(2).quote().unwrap();
    let stored = serde_json::to_string(&lease).unwrap();
    assert_eq!(serde_json::from_str::<LeaseQuote>(&stored).unwrap(), lease);
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
