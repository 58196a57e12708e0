//! What follows from the payments of a lease: rate, schedule, ending early, buying, extending.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

use lessor_domain::money::{Currency, Money, MoneyError};
use lessor_domain::percentage::{AnnualRate, Percentage, RateFault};
use lessor_domain::pricing::{
    ExtensionTerms, ImplicitRate, PaymentPlan, PricingError, PurchaseCharges, Rate, RateCard,
    RentMethod, ScheduleLine, TerminationCharges, quote,
};

use crate::{eur, usd};
use RentMethod::{ConstantYield, RuleOf78};

fn plan(cost: i64, residual: i64, payment: i64, months: u16, advance: u16) -> PaymentPlan {
    PaymentPlan::new(
        usd(cost),
        usd(residual),
        usd(payment),
        months.try_into().unwrap(),
        advance,
    )
    .unwrap()
}

/// The lease of the Federal Reserve Board's early-termination table.
fn board_lease() -> PaymentPlan {
    plan(1_880_000, 1_235_000, 24_469, 48, 1)
}

fn lines(schedule: &[ScheduleLine]) -> Vec<[i64; 4]> {
    schedule
        .iter()
        .map(|line| [line.payment, line.rent, line.depreciation, line.balance].map(Money::minor))
        .collect()
}

#[test]
fn a_plan_knows_its_totals() {
    let plan = board_lease();
    assert_eq!(plan.total_of_payments(), Ok(usd(1_174_512)));
    assert_eq!(plan.depreciation(), Ok(usd(645_000)));
    assert_eq!(plan.rent_charge(), Ok(usd(529_512)));
    assert_eq!(plan.payment(), usd(24_469));
    assert_eq!(plan.payments_in_advance(), 1);
}

#[test]
fn a_plan_that_does_not_fit_together_is_refused() {
    let new = |cost, residual, payment, advance| {
        PaymentPlan::new(cost, residual, payment, "12".parse().unwrap(), advance)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        new(usd(-1), usd(0), usd(0), 1),
        "the capitalized cost is from 0 to 999999999.99"
    );
    assert_eq!(
        new(usd(10), usd(-1), usd(0), 1),
        "the residual value is from 0 to 999999999.99"
    );
    assert_eq!(
        new(usd(10), usd(0), usd(-1), 1),
        "the payment is from 0 to 999999999.99"
    );
    assert_eq!(
        new(usd(10), usd(0), usd(1), 13),
        "the number of payments in advance is from 0 to 12"
    );
    for message in [
        new(usd(10), eur(0), usd(1), 1),
        new(usd(10), usd(0), eur(1), 1),
    ] {
        assert_eq!(message, "amounts of USD and EUR cannot be combined");
    }
}

#[test]
fn an_implicit_rate_is_found() {
    for (plan, rate) in [
        // Exact rates: interest alone, in advance v = 1 − P/C and in arrears i = P/C.
        (plan(10_000, 10_000, 100, 12, 0), "12"),
        (plan(10_000, 10_000, 0, 12, 1), "0"),
        (plan(1_200, 0, 100, 12, 1), "0"),
        (plan(3, 3, 1, 2, 1), "600"),
        (plan(10_000, 10_000, 400, 24, 1), "50"),
        // What a rate of zero rounds to, 33.33 × 3 for 100, is no rate; a cent beside it is one.
        (plan(10_000, 0, 3_333, 3, 1), "0"),
        (plan(10_000, 0, 3_332, 3, 1), "-0.479936017064"),
        (plan(10_000, 0, 3_334, 3, 1), "0.240016002133"),
        (plan(3, 2, 0, 17, 0), "0"),
        // Half a cent a month is rounded up: 0.01 × 12 for 0.06.
        (plan(6, 0, 1, 12, 1), "0"),
        // Half of the cost is never paid.
        (plan(10_000, 5_000, 0, 12, 0), "-67.350824781968"),
        (plan(30, 2, 1, 17, 0), "-51.39074606011"),
        // Nothing is charged and nothing financed: every rate fits.
        (plan(0, 0, 0, 12, 1), "0"),
        (plan(1_000, 0, 1_000, 1, 1), "0"),
        (plan(1_200, 0, 100, 12, 12), "0"),
        // The limits: v = 1/(1 + 1,000,000/1,200) leaves 1 of 834.33.
        (
            plan(100_000_000, 100_000_000, 83_333_333, 1, 0),
            "999.999996",
        ),
        (board_lease(), "8.497144383085"),
    ] {
        let found = plan.implicit_rate().unwrap();
        assert_eq!(found.to_string(), rate, "{plan:?}");
        assert_eq!(plan.payment_at(found), Ok(plan.payment()), "{plan:?}");
    }
}

#[test]
fn a_plan_without_a_rate_says_why() {
    for (plan, error) in [
        // More is paid at signing than is financed.
        (
            plan(1_000, 500, 1_000, 12, 1),
            PricingError::NothingFinanced,
        ),
        (plan(1_000, 0, 1_000, 12, 1), PricingError::NothingFinanced),
        (plan(1_000, 500, 500, 2, 2), PricingError::NothingFinanced),
        (plan(1_000, 0, 600, 12, 2), PricingError::NothingFinanced),
        (plan(0, 0, 1, 12, 1), PricingError::NothingFinanced),
        // Nothing comes back, or nearly everything at once.
        (plan(1_000, 0, 0, 12, 1), PricingError::RateOutOfRange),
        (plan(1_000, 1, 0, 12, 0), PricingError::RateOutOfRange),
        (
            plan(100_000_000, 100_000_000, 99_999_999, 12, 1),
            PricingError::RateOutOfRange,
        ),
    ] {
        assert_eq!(plan.implicit_rate(), Err(error), "{plan:?}");
        assert!(plan.schedule(ConstantYield).is_ok());
        assert!(plan.schedule(RuleOf78).is_ok());
        let extend = |terms| plan.extend(1, "1".parse().unwrap(), terms);
        assert_eq!(extend(ExtensionTerms::SamePayment), Err(error));
        let residual_value = usd(0);
        assert_eq!(
            extend(ExtensionTerms::SameRate { residual_value }),
            Err(error)
        );
        let rate = Rate::AnnualRate(AnnualRate::ZERO);
        assert!(
            extend(ExtensionTerms::NewRate {
                residual_value,
                rate
            })
            .is_ok()
        );
    }
}

/// What can be sold can be printed, ended and bought, whether it has a rate or not.
#[test]
fn a_lease_of_one_month_has_a_line() {
    let card = RateCard::new(
        "1".parse().unwrap(),
        Rate::MoneyFactor("0.0025".parse().unwrap()),
        Percentage::ZERO,
    );
    let quote = quote(usd(10_000), Percentage::ZERO, &card).unwrap();
    let plan = quote.plan().unwrap();
    assert_eq!(plan.implicit_rate(), Err(PricingError::NothingFinanced));
    for method in [ConstantYield, RuleOf78] {
        let schedule = plan.schedule(method).unwrap();
        assert_eq!(lines(&schedule), [[10_025, 25, 10_000, 0]]);
        let none = TerminationCharges::none(Currency::USD);
        let ended = plan.termination_quote(1, method, none).unwrap();
        assert_eq!((ended.payoff, ended.unearned_rent), (usd(0), usd(0)));
        let none = PurchaseCharges::none(Currency::USD);
        let bought = plan.purchase_quote(1, method, none).unwrap();
        assert_eq!(bought.total, usd(0));
    }
}

#[test]
fn what_is_paid_beyond_the_depreciation_is_rent_where_nothing_is_financed() {
    // A factor near one: the first payment is more than the cost.
    let schedule = plan(1_000, 400, 1_250, 3, 1)
        .schedule(ConstantYield)
        .unwrap();
    assert_eq!(
        lines(&schedule),
        [
            [1_250, 650, 600, 400],
            [1_250, 1_250, 0, 400],
            [1_250, 1_250, 0, 400],
        ]
    );
    // Paid at once; nothing is left to be paid.
    let schedule = plan(1_000, 500, 500, 2, 2).schedule(ConstantYield).unwrap();
    assert_eq!(lines(&schedule), [[1_000, 500, 500, 500], [0, 0, 0, 500]]);
    // Nearly all of it: a rate beyond a million percent.
    let schedule = plan(10_000, 0, 9_999, 3, 1)
        .schedule(ConstantYield)
        .unwrap();
    assert_eq!(
        lines(&schedule),
        [
            [9_999, 0, 9_999, 1],
            [9_999, 9_998, 1, 0],
            [9_999, 9_999, 0, 0]
        ]
    );
    // A loss is where it is known: at the end.
    let schedule = plan(1_000, 1, 0, 2, 0).schedule(ConstantYield).unwrap();
    assert_eq!(lines(&schedule), [[0, 0, 0, 1_000], [0, -999, 999, 1]]);

    let none = TerminationCharges::none(Currency::USD);
    let ended = plan(1_000, 400, 1_250, 3, 1)
        .termination_quote(1, ConstantYield, none)
        .unwrap();
    assert_eq!((ended.payoff, ended.unearned_rent), (usd(400), usd(2_500)));
}

#[test]
fn a_payment_at_a_rate_that_no_payment_reaches_is_refused() {
    assert_eq!(
        plan(1_000, 1_000, 0, 12, 1).payment_at(ImplicitRate::MIN),
        Err(PricingError::RateOutOfRange)
    );
}

#[test]
fn an_implicit_rate_prints_and_rounds() {
    let rate = board_lease().implicit_rate().unwrap();
    assert_eq!(rate.to_annual_rate().unwrap().to_string(), "8.497144");
    assert_eq!(format!("{rate:?}"), "ImplicitRate(8.497144383085)");
    assert!(ImplicitRate::MIN < ImplicitRate::ZERO && ImplicitRate::ZERO < rate);
    assert_eq!(ImplicitRate::MIN.to_string(), "-100");
    assert_eq!(ImplicitRate::MAX.to_string(), "1000000");
    assert_eq!(
        ImplicitRate::MAX.to_annual_rate().unwrap_err().fault,
        RateFault::OutOfRange
    );
    assert_eq!(
        ImplicitRate::MIN.to_annual_rate().unwrap_err().fault,
        RateFault::OutOfRange
    );
    let annual: AnnualRate = "7.25".parse().unwrap();
    assert_eq!(ImplicitRate::from(annual).to_annual_rate(), Ok(annual));
}

#[test]
fn a_schedule_in_advance_and_in_arrears() {
    // 1 % a month on 10,000 that are due at the end.
    let interest = plan(10_000, 10_000, 100, 3, 0)
        .schedule(ConstantYield)
        .unwrap();
    assert_eq!(lines(&interest), [[100, 100, 0, 10_000]; 3]);

    // 50 % a month on what the first payment leaves.
    let advance = plan(3, 3, 1, 2, 1).schedule(ConstantYield).unwrap();
    assert_eq!(lines(&advance), [[1, 1, 0, 3], [1, 1, 0, 3]]);

    // Three of six in advance: three later, at the end of months 1 to 3, and nothing for the last two.
    let three = plan(60_000, 0, 11_000, 6, 3);
    let schedule = three.schedule(ConstantYield).unwrap();
    let payments: Vec<i64> = schedule.iter().map(|line| line.payment.minor()).collect();
    assert_eq!(payments, [33_000, 11_000, 11_000, 11_000, 0, 0]);
    let rents: i64 = schedule.iter().map(|line| line.rent.minor()).sum();
    assert_eq!(rents, 6_000);
    assert_eq!(schedule[3].balance, usd(0));
    assert_eq!(schedule[5].balance, usd(0));

    // A residual value goes on earning rent after the last payment.
    let residual = plan(60_000, 10_000, 10_000, 6, 3)
        .schedule(ConstantYield)
        .unwrap();
    assert_eq!(residual[5].payment, usd(0));
    assert!(residual[5].rent > usd(0) && residual[5].depreciation < usd(0));
    assert_eq!(residual[5].balance, usd(10_000));
}

#[test]
fn at_a_rate_of_zero_the_last_month_takes_the_remainder() {
    for method in [ConstantYield, RuleOf78] {
        let schedule = |plan: PaymentPlan| lines(&plan.schedule(method).unwrap());
        // 33.33 × 3 for 100: a cent is missing, and nobody's rent.
        let short = plan(10_000, 0, 3_333, 3, 1);
        assert_eq!(short.rent_charge(), Ok(usd(-1)));
        assert_eq!(
            schedule(short),
            [
                [3_333, 0, 3_333, 6_667],
                [3_333, 0, 3_333, 3_334],
                [3_333, 0, 3_334, 0],
            ]
        );
        // 66.67 × 3 for 200: a cent too many is rent.
        assert_eq!(
            schedule(plan(25_000, 5_000, 6_667, 3, 0)),
            [
                [6_667, 0, 6_667, 18_333],
                [6_667, 0, 6_667, 11_666],
                [6_667, 1, 6_666, 5_000],
            ]
        );
        // Two in advance: the last month has no payment, and the missing cent all the same.
        assert_eq!(
            schedule(plan(10_000, 0, 3_333, 3, 2)),
            [[6_666, 0, 6_666, 3_334], [3_333, 0, 3_333, 1], [0, 0, 1, 0],]
        );
        // Payments of a cent pay 2 cents off in two months, and then go on.
        assert_eq!(
            schedule(plan(3, 1, 1, 4, 1)),
            [[1, 0, 1, 2], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 0, 1]]
        );

        let none = TerminationCharges::none(Currency::USD);
        for (month, balance) in [(1, 6_667), (2, 3_334), (3, 0)] {
            let ended = short.termination_quote(month, method, none).unwrap();
            assert_eq!((ended.balance, ended.unearned_rent), (usd(balance), usd(0)));
        }
        let ended = plan(3, 1, 1, 4, 1).termination_quote(3, method, none);
        assert_eq!(ended.unwrap().unearned_rent, usd(1));
    }
    // An extension goes on at a rate of zero, from what the last month leaves.
    let extension = plan(20_000, 10_000, 3_333, 3, 1)
        .extend(3, "2".parse().unwrap(), ExtensionTerms::SamePayment)
        .unwrap();
    assert_eq!(extension.plan.residual_value(), usd(3_334));
}

#[test]
fn the_rule_of_78_earns_by_the_months_that_remain() {
    // 780 of rent over twelve months: 120, 110, … 10.
    let plan = plan(100_000, 40_000, 5_065, 12, 1);
    assert_eq!(plan.rent_charge(), Ok(usd(780)));
    let schedule = plan.schedule(RuleOf78).unwrap();
    let rents: Vec<i64> = schedule.iter().map(|line| line.rent.minor()).collect();
    assert_eq!(rents, [120, 110, 100, 90, 80, 70, 60, 50, 40, 30, 20, 10]);
    assert_eq!(schedule[0].balance, usd(100_000 - 5_065 + 120));
    assert_eq!(schedule[11].balance, usd(40_000));
    // With three payments in advance the first month is paid for three times.
    let three = PaymentPlan::new(usd(100_000), usd(40_000), usd(5_065), plan.term(), 3).unwrap();
    assert_eq!(
        three.balance_after(1, RuleOf78),
        Ok(usd(100_000 - 3 * 5_065 + 120))
    );
}

#[test]
fn a_balance_is_known_at_every_month_of_the_term() {
    for method in [ConstantYield, RuleOf78] {
        let plan = board_lease();
        assert_eq!(plan.balance_after(0, method), Ok(usd(1_880_000)));
        assert_eq!(plan.balance_after(48, method), Ok(usd(1_235_000)));
        assert_eq!(
            plan.balance_after(49, method).unwrap_err().to_string(),
            "the month is from 0 to 48"
        );
    }
}

#[test]
fn every_figure_of_an_early_termination() {
    let charges = TerminationCharges {
        past_due: usd(24_469),
        termination_fee: usd(20_000),
        disposition_fee: usd(40_000),
        official_fees: usd(1_000),
        realized_value: usd(1_700_000),
        deposit: usd(35_000),
    };
    let ended = board_lease()
        .termination_quote(2, ConstantYield, charges)
        .unwrap();
    assert_eq!((ended.month, ended.method), (2, ConstantYield));
    assert_eq!(ended.balance, usd(1_857_260));
    assert_eq!(ended.remaining_payments, 46);
    assert_eq!(ended.total_of_remaining_payments, usd(46 * 24_469));
    // What the table earns after month 2: 5,295.12 − 131.39 − 130.59.
    assert_eq!(ended.unearned_rent, usd(503_314));
    assert_eq!(ended.payoff, usd(1_857_260 + 85_469));
    assert_eq!(ended.early_termination_charge, usd(242_729));
    assert_eq!(ended.due, usd(207_729));
    assert_eq!(ended.charges, charges);

    // What the property brings beyond the payoff is the lessor's; the deposit is refunded.
    let worth_more = TerminationCharges {
        realized_value: usd(2_000_000),
        ..charges
    };
    let ended = board_lease()
        .termination_quote(2, ConstantYield, worth_more)
        .unwrap();
    assert_eq!(ended.early_termination_charge, usd(0));
    assert_eq!(ended.due, usd(-35_000));

    // The rule of 78 has earned 48 and 47 of 1,176 parts.
    let none = TerminationCharges::none(Currency::USD);
    let ended = board_lease().termination_quote(2, RuleOf78, none).unwrap();
    assert_eq!(ended.balance, usd(1_880_000 - 2 * 24_469 + 42_775));
    assert_eq!(ended.due, ended.balance);
    let last = board_lease().termination_quote(48, RuleOf78, none).unwrap();
    assert_eq!((last.remaining_payments, last.unearned_rent), (0, usd(0)));
}

#[test]
fn every_figure_of_a_purchase() {
    let charges = PurchaseCharges {
        option_fee: usd(10_000),
        past_due: usd(24_469),
        tax: "8.25".parse().unwrap(),
        deposit: usd(35_000),
    };
    let bought = board_lease()
        .purchase_quote(48, ConstantYield, charges)
        .unwrap();
    assert_eq!((bought.month, bought.method), (48, ConstantYield));
    assert_eq!(bought.price, usd(1_235_000));
    assert_eq!(bought.tax, usd(102_713));
    assert_eq!(bought.total, usd(1_235_000 + 10_000 + 102_713 + 24_469));
    assert_eq!(bought.due, usd(1_372_182 - 35_000));
    assert_eq!(bought.charges, charges);

    let none = PurchaseCharges::none(Currency::USD);
    let early = board_lease()
        .purchase_quote(1, ConstantYield, none)
        .unwrap();
    assert_eq!((early.price, early.due), (usd(1_868_670), usd(1_868_670)));
}

#[test]
fn ending_and_buying_refuse_what_is_out_of_range() {
    let plan = board_lease();
    let none = TerminationCharges::none(Currency::USD);
    for month in [0, 49, u16::MAX] {
        let month_error = "the month is from 1 to 48";
        let ended = plan.termination_quote(month, ConstantYield, none);
        assert_eq!(ended.unwrap_err().to_string(), month_error);
        let none = PurchaseCharges::none(Currency::USD);
        let bought = plan.purchase_quote(month, ConstantYield, none);
        assert_eq!(bought.unwrap_err().to_string(), month_error);
    }
    let negative = usd(-1);
    for (charges, figure) in [
        (
            TerminationCharges {
                past_due: negative,
                ..none
            },
            "the amount past due",
        ),
        (
            TerminationCharges {
                termination_fee: negative,
                ..none
            },
            "the termination fee",
        ),
        (
            TerminationCharges {
                disposition_fee: negative,
                ..none
            },
            "the disposition fee",
        ),
        (
            TerminationCharges {
                official_fees: negative,
                ..none
            },
            "the sum of official fees",
        ),
        (
            TerminationCharges {
                realized_value: negative,
                ..none
            },
            "the realized value",
        ),
        (
            TerminationCharges {
                deposit: negative,
                ..none
            },
            "the deposit",
        ),
    ] {
        let error = plan
            .termination_quote(2, ConstantYield, charges)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{figure} is from 0 to 999999999.99")
        );
    }
    let none = PurchaseCharges::none(Currency::USD);
    for (charges, figure) in [
        (
            PurchaseCharges {
                option_fee: negative,
                ..none
            },
            "the option fee",
        ),
        (
            PurchaseCharges {
                past_due: negative,
                ..none
            },
            "the amount past due",
        ),
        (
            PurchaseCharges {
                deposit: negative,
                ..none
            },
            "the deposit",
        ),
    ] {
        let error = plan.purchase_quote(2, ConstantYield, charges).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{figure} is from 0 to 999999999.99")
        );
    }
    let foreign = TerminationCharges::none("EUR".parse().unwrap());
    assert!(matches!(
        plan.termination_quote(2, ConstantYield, foreign),
        Err(PricingError::Money(MoneyError::CurrencyMismatch { .. }))
    ));
}

#[test]
fn an_extension_at_the_same_payment() {
    let plan = board_lease();
    let extension = plan
        .extend(48, "6".parse().unwrap(), ExtensionTerms::SamePayment)
        .unwrap();
    assert_eq!((extension.month, extension.added.get()), (48, 6));
    assert_eq!(extension.plan.capitalized_cost(), usd(1_235_000));
    assert_eq!(extension.plan.payment(), usd(24_469));
    assert_eq!(extension.plan.term().get(), 6);
    assert_eq!(extension.plan.residual_value(), usd(1_137_912));

    // From the middle of the term it goes on where the schedule is.
    let extension = plan
        .extend(2, "6".parse().unwrap(), ExtensionTerms::SamePayment)
        .unwrap();
    assert_eq!(extension.plan.capitalized_cost(), usd(1_857_260));
    assert_eq!(extension.plan.term().get(), 52);
    assert_eq!(extension.plan.residual_value(), usd(1_137_912));

    // 1 % a month in arrears on 10,000 pays no more than the rent.
    let interest = self::plan(10_000, 10_000, 100, 12, 0)
        .extend(12, "12".parse().unwrap(), ExtensionTerms::SamePayment)
        .unwrap();
    assert_eq!(interest.plan.residual_value(), usd(10_000));
    assert_eq!(interest.plan.payments_in_advance(), 0);

    // After three payments in advance, one payment a month is below the rent.
    let growing = self::plan(100_000, 89_396, 6_875, 20, 3)
        .extend(20, "1".parse().unwrap(), ExtensionTerms::SamePayment)
        .unwrap();
    assert_eq!(growing.plan.residual_value(), usd(89_398));
    assert_eq!(growing.plan.depreciation(), Ok(usd(-2)));

    // Without a rate the balance falls by the payment, and is gone after two more.
    let free = self::plan(1_200, 200, 100, 10, 1);
    let extend =
        |months: &str| free.extend(10, months.parse().unwrap(), ExtensionTerms::SamePayment);
    assert_eq!(extend("1").unwrap().plan.residual_value(), usd(100));
    assert_eq!(extend("2").unwrap().plan.residual_value(), usd(0));
    assert_eq!(extend("3"), Err(PricingError::BalanceRunsOut));
}

#[test]
fn an_extension_with_a_new_payment() {
    let plan = board_lease();
    // The residual value that the same payment leaves gives that payment back.
    let residual_value = usd(1_137_912);
    let same = plan
        .extend(
            48,
            "6".parse().unwrap(),
            ExtensionTerms::SameRate { residual_value },
        )
        .unwrap();
    assert_eq!(same.plan.payment(), usd(24_469));

    let rate = Rate::MoneyFactor("0.0025".parse().unwrap());
    let extension = plan
        .extend(
            48,
            "10".parse().unwrap(),
            ExtensionTerms::NewRate {
                residual_value: usd(1_135_000),
                rate,
            },
        )
        .unwrap();
    // 100,000/10 + 2,370,000 × 0.0025
    assert_eq!(extension.plan.payment(), usd(15_925));
    assert_eq!(extension.plan.residual_value(), usd(1_135_000));

    // Several payments in advance become one.
    let three = self::plan(60_000, 10_000, 10_000, 6, 3);
    let free = Rate::AnnualRate(AnnualRate::ZERO);
    let terms = ExtensionTerms::NewRate {
        residual_value: usd(0),
        rate: free,
    };
    let extension = three.extend(6, "2".parse().unwrap(), terms).unwrap();
    assert_eq!(extension.plan.payments_in_advance(), 1);
    assert_eq!(extension.plan.payment(), usd(5_000));
}

#[test]
fn an_extension_out_of_range_is_refused() {
    let plan = board_lease();
    let six = "6".parse().unwrap();
    let extend = |month, added: &str, terms| {
        plan.extend(month, added.parse().unwrap(), terms)
            .unwrap_err()
            .to_string()
    };
    for month in [0, 49] {
        assert_eq!(
            extend(month, "6", ExtensionTerms::SamePayment),
            "the month is from 1 to 48"
        );
    }
    assert_eq!(
        extend(8, "81", ExtensionTerms::SamePayment),
        "the number of added months is from 1 to 80"
    );
    assert!(
        plan.extend(
            8,
            "80".parse().unwrap(),
            ExtensionTerms::SameRate {
                residual_value: usd(0)
            }
        )
        .is_ok()
    );
    for residual_value in [usd(-1), usd(1_235_001)] {
        assert_eq!(
            extend(48, "6", ExtensionTerms::SameRate { residual_value }),
            "the residual value is from 0 to 12350.00"
        );
    }
    let foreign = ExtensionTerms::SameRate {
        residual_value: eur(0),
    };
    assert!(matches!(
        plan.extend(48, six, foreign),
        Err(PricingError::Money(MoneyError::CurrencyMismatch { .. }))
    ));
}
