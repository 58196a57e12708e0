//! Lease calculations that others published, reproduced to the cent.
//!
//! Where a source rounds in a way of its own, the test says how.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

use chrono::NaiveDate;
use lessor_domain::money::{Currency, Money};
use lessor_domain::pricing::disclosure::{
    DisclosureHeader, VehicleCharges, VehicleLeaseDisclosure,
};
use lessor_domain::pricing::{
    LeaseQuote, LeaseTerms, PaymentPlan, PaymentTax, Rate, RentMethod, ScheduleLine,
};

fn usd(amount: &str) -> Money {
    Money::parse(amount, Currency::USD).unwrap()
}

fn annual(rate: &str) -> Rate {
    Rate::AnnualRate(rate.parse().unwrap())
}

fn factor(factor: &str) -> Rate {
    Rate::MoneyFactor(factor.parse().unwrap())
}

/// The lease of the Federal Reserve Board's filled sample form.
fn board_sample(rate: Rate) -> LeaseQuote {
    LeaseTerms::new(usd("21500"), usd("12350"), "48".parse().unwrap(), rate)
        .capitalized_fees(usd("800"))
        .trade_in(usd("2500"))
        .cash_reduction(usd("1000"))
        .tax(PaymentTax::Amount(usd("12.25")))
        .quote()
        .unwrap()
}

/// Federal Reserve Board, "Keys to Vehicle Leasing": model form A-2 of Regulation M, filled in.
#[test]
fn the_boards_sample_lease_form() {
    // The form prints no rate. Both give its payment: the money factor, and the yield of the
    // Board's own early-termination table.
    for rate in [factor("0.0035414"), annual("8.4972"), annual("8.497")] {
        let lease = board_sample(rate);
        let disclosure = VehicleLeaseDisclosure::new(
            &lease,
            DisclosureHeader {
                date: NaiveDate::default(),
                lessors: vec!["Dealer or Leasing Company".to_owned()],
                lessees: vec!["J. Smith".to_owned()],
                first_payment_due: NaiveDate::default(),
                due_day: 1,
            },
            VehicleCharges {
                security_deposit: usd("350"),
                title_fees: usd("75"),
                registration_fees: usd("60"),
                disposition_fee: usd("400"),
                ..VehicleCharges::none(Currency::USD)
            },
        )
        .unwrap();

        let due = &disclosure.amount_due;
        assert_eq!(due.capitalized_cost_reduction, usd("3500"));
        assert_eq!(due.first_monthly_payment, usd("256.94"));
        assert_eq!(due.further_payments_in_advance, usd("0"));
        assert_eq!(due.refundable_security_deposit, usd("350"));
        assert_eq!(due.title_fees, usd("75"));
        assert_eq!(due.registration_fees, usd("60"));
        assert_eq!(due.total, usd("4241.94"));

        let paid = &disclosure.how_paid;
        assert_eq!(paid.net_trade_in_allowance, usd("2500"));
        assert_eq!(paid.rebates_and_noncash_credits, usd("0"));
        assert_eq!(paid.cash, usd("1741.94"));
        assert_eq!(paid.total, usd("4241.94"));

        let payments = &disclosure.monthly_payments;
        assert_eq!(payments.payment, usd("256.94"));
        assert_eq!(payments.further_payments, 47);
        assert_eq!(payments.due_day, 1);
        assert_eq!(payments.total, usd("12333.12"));

        assert_eq!(disclosure.other_charges.at_end, usd("400"));
        assert_eq!(disclosure.other_charges.total, usd("400"));
        assert_eq!(disclosure.total_of_payments, usd("16368.12"));

        let lines = &disclosure.determination;
        assert_eq!(lines.agreed_value, usd("21500"));
        assert_eq!(lines.gross_capitalized_cost, usd("22300"));
        assert_eq!(lines.capitalized_cost_reduction, usd("3500"));
        assert_eq!(lines.adjusted_capitalized_cost, usd("18800"));
        assert_eq!(lines.residual_value, usd("12350"));
        assert_eq!(lines.depreciation, usd("6450"));
        assert_eq!(lines.rent_charge, usd("5295.12"));
        assert_eq!(lines.total_of_base_payments, usd("11745.12"));
        assert_eq!(lines.number_of_payments, 48);
        assert_eq!(lines.base_payment, usd("244.69"));
        assert_eq!(lines.tax, usd("12.25"));
        assert_eq!(lines.total_monthly_payment, usd("256.94"));
    }
}

fn line(month: u16, rent: &str, depreciation: &str, balance: &str) -> ScheduleLine {
    ScheduleLine {
        month,
        payment: usd("244.69"),
        rent: usd(rent),
        depreciation: usd(depreciation),
        balance: usd(balance),
    }
}

/// Federal Reserve Board: the constant-yield table that shows what an early termination of the
/// same lease costs.
///
/// The table prints a yield of 8.497 %, which is rounded: with it the rent of month 2 is 130.58.
/// The implicit rate of the lease, 8.497144 %, gives every printed figure.
#[test]
fn the_boards_early_termination_table() {
    let plan = PaymentPlan::new(
        usd("18800"),
        usd("12350"),
        usd("244.69"),
        "48".parse().unwrap(),
        1,
    )
    .unwrap();
    let rate = plan.implicit_rate().unwrap().to_annual_rate().unwrap();
    assert_eq!(rate.to_string(), "8.497144");

    let schedule = plan.schedule(RentMethod::ConstantYield).unwrap();
    assert_eq!(schedule.len(), 48);
    assert_eq!(schedule[0], line(1, "131.39", "113.30", "18686.70"));
    assert_eq!(schedule[1], line(2, "130.59", "114.10", "18572.60"));
    assert_eq!(schedule[47].balance, usd("12350"));
    assert_eq!(
        Money::sum(schedule.iter().map(|line| line.rent), Currency::USD),
        Ok(usd("5295.12"))
    );
    assert_eq!(plan.rent_charge(), Ok(usd("5295.12")));
    // The quote of the sample form is the same plan.
    assert_eq!(board_sample(factor("0.0035414")).plan(), Ok(plan));
}

/// ErezNagar/lease-calculator (MIT): price 21,000, residual value 13,110, 36 months, money factor
/// 0.00125, sales tax 10.25 % of the payment.
///
/// The source rounds each figure at its end, so that it takes the tax of the unrounded payment.
#[test]
fn a_published_money_factor_calculator() {
    let terms = LeaseTerms::new(
        usd("21000"),
        usd("13110"),
        "36".parse().unwrap(),
        factor("0.00125"),
    );
    let unrounded = PaymentTax::PercentageOfUnrounded("10.25".parse().unwrap());
    let printed = PaymentTax::Percentage("10.25".parse().unwrap());

    let rebate = terms.rebate(usd("500"));
    let lease = rebate.tax(unrounded).quote().unwrap();
    assert_eq!(lease.depreciation_per_month(), Ok(usd("205.28")));
    assert_eq!(lease.rent_per_month(), Ok(usd("42.01")));
    assert_eq!(lease.base_payment, usd("247.29"));
    assert_eq!(lease.monthly_payment, usd("272.64"));
    assert_eq!(
        rebate.tax(printed).quote().unwrap().monthly_payment,
        usd("272.64")
    );

    let cash = terms.cash_reduction(usd("1700"));
    let lease = cash.tax(unrounded).quote().unwrap();
    assert_eq!(lease.monthly_payment, usd("234.23"));
    assert_eq!(
        (lease.base_payment, lease.payment_tax),
        (usd("212.46"), usd("21.77"))
    );
    // Taxed on what is printed, 212.46, the payment is a cent more.
    let lease = cash.tax(printed).quote().unwrap();
    assert_eq!(
        (lease.base_payment, lease.payment_tax, lease.monthly_payment),
        (usd("212.46"), usd("21.78"), usd("234.24"))
    );
}

/// HP-12C owner's handbook, leasing: advance payments, without and with a residual value.
#[test]
fn the_handbook_of_a_financial_calculator() {
    for (cost, residual, months, rate, advance, payment) in [
        ("750", "0", "12", "15", 1, "66.86"),
        ("750", "0", "12", "10", 3, "64.45"),
        ("750", "0", "12", "15", 3, "65.43"),
        ("22000", "6600", "48", "15", 4, "487.29"),
    ] {
        let lease = LeaseTerms::new(
            usd(cost),
            usd(residual),
            months.parse().unwrap(),
            annual(rate),
        )
        .payments_in_advance(advance)
        .quote()
        .unwrap();
        assert_eq!(
            lease.base_payment,
            usd(payment),
            "{cost} at {rate} %, {advance} in advance"
        );
    }
}

/// A published question and answer: 10,000 over 36 months at 7.2 %, in advance, no residual
/// value: 307.83918 unrounded.
#[test]
fn a_published_annuity_in_advance() {
    let lease = LeaseTerms::new(usd("10000"), usd("0"), "36".parse().unwrap(), annual("7.2"))
        .quote()
        .unwrap();
    assert_eq!(lease.base_payment, usd("307.84"));
}

/// A calculator of the web prints 641.651 for this lease, which its own inputs contradict.
#[test]
fn a_published_figure_that_is_wrong_is_not_matched() {
    let lease = LeaseTerms::new(
        usd("50000"),
        usd("30000"),
        "36".parse().unwrap(),
        factor("0.00186"),
    )
    .tax(PaymentTax::PercentageOfUnrounded("8.25".parse().unwrap()))
    .quote()
    .unwrap();
    assert_eq!(lease.monthly_payment, usd("762.46"));
}
