//! What holds for every lease, whatever its figures.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

use bigdecimal::{BigDecimal, One, RoundingMode, Signed};
use lessor_domain::money::{Currency, Money};
use lessor_domain::percentage::{AnnualRate, MoneyFactor, Percentage, TermMonths};
use lessor_domain::pricing::{
    ExtensionTerms, ImplicitRate, LeaseTerms, PaymentPlan, PaymentTax, PricingError,
    PurchaseCharges, Rate, RateCard, RentMethod, TerminationCharges, quote,
};
use lessor_domain::quantity::Quantity;
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::usd;

const LARGEST: i64 = 99_999_999_999;

fn percentage() -> impl Strategy<Value = Percentage> {
    prop_oneof![
        (0_i64..=100).prop_map(|units| Percentage::new(Decimal::new(units, 0)).unwrap()),
        (0_i64..=1_000_000).prop_map(|units| Percentage::new(Decimal::new(units, 4)).unwrap()),
    ]
}

fn annual_rate() -> impl Strategy<Value = AnnualRate> {
    prop_oneof![
        // Rates whose discount factor has few digits make payments that lie on a half.
        prop::sample::select(vec!["0", "20", "30", "50", "60", "75", "80", "100"])
            .prop_map(|rate| rate.parse().unwrap()),
        (0_i64..=100_000_000).prop_map(|units| AnnualRate::new(Decimal::new(units, 6)).unwrap()),
    ]
}

fn money_factor() -> impl Strategy<Value = MoneyFactor> {
    prop_oneof![
        (0_i64..=1_000_000).prop_map(|units| MoneyFactor::new(Decimal::new(units, 8)).unwrap()),
        (0_i64..=100_000_000).prop_map(|units| MoneyFactor::new(Decimal::new(units, 8)).unwrap()),
    ]
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![
        money_factor().prop_map(Rate::MoneyFactor),
        annual_rate().prop_map(Rate::AnnualRate),
    ]
}

fn term() -> impl Strategy<Value = TermMonths> {
    (1_u16..=120).prop_map(|months| TermMonths::new(months).unwrap())
}

/// From a cent to the largest amount, small ones as often as large ones.
fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![0_i64..=100, 0_i64..=1_000_000, 0_i64..=LARGEST]
}

fn card() -> impl Strategy<Value = RateCard> {
    (term(), rate(), percentage(), percentage(), percentage()).prop_map(
        |(term, rate, residual, deposit, insurance)| RateCard {
            term,
            rate,
            residual,
            deposit,
            insurance,
        },
    )
}

/// A lease that can be priced: residual value up to the cost, payments in advance up to the term.
fn lease_terms() -> impl Strategy<Value = (LeaseTerms, i64, i64, TermMonths, u16)> {
    (amount(), term()).prop_flat_map(|(cost, term)| {
        (0..=cost, 0..=term.get(), rate()).prop_map(move |(residual, advance, rate)| {
            let terms =
                LeaseTerms::new(usd(cost), usd(residual), term, rate).payments_in_advance(advance);
            (terms, cost, residual, term, advance)
        })
    })
}

/// A lease by annual rate with one of the usual structures, whose implicit rate is near its own.
fn financed_plan() -> impl Strategy<Value = (PaymentPlan, AnnualRate)> {
    (100_000_i64..=LARGEST, 2_u16..=120, annual_rate()).prop_flat_map(|(cost, months, rate)| {
        (0..=cost / 10 * 9, 0..=(months / 4).min(3)).prop_map(move |(residual, advance)| {
            let term = TermMonths::new(months).unwrap();
            let lease = LeaseTerms::new(usd(cost), usd(residual), term, Rate::AnnualRate(rate))
                .payments_in_advance(advance)
                .quote()
                .unwrap();
            (lease.plan().unwrap(), rate)
        })
    })
}

/// The base payment of an annual rate, to a hundred digits and then rounded.
fn reference_payment(
    cost: i64,
    residual: i64,
    term: TermMonths,
    advance: u16,
    rate: AnnualRate,
) -> i64 {
    let one = BigDecimal::one();
    let rate: BigDecimal = rate.to_string().parse().unwrap();
    let v: BigDecimal = &one / (&one + rate / 1200);
    let mut factor = BigDecimal::from(advance);
    let mut power = one;
    for month in 1..=term.get() {
        let next: BigDecimal = power * &v;
        power = next.with_prec(100);
        if month <= term.get() - advance {
            factor += &power;
        }
    }
    let payment = (BigDecimal::from(cost) - power * residual) / factor;
    // A hundred digits leave a payment on a half just beside it.
    let nudged = payment + "1e-60".parse::<BigDecimal>().unwrap();
    let rounded = nudged.with_scale_round(0, RoundingMode::HalfUp);
    assert!(!rounded.is_negative());
    rounded.to_string().parse().unwrap()
}

proptest! {
    /// Whatever one costs, so many cost so many times that, sums stay sums, and one is had back.
    #[test]
    fn several_cost_so_many_times_what_one_does(
        msrp in prop_oneof![0_i64..=100, 0_i64..=1_000_000, 0_i64..=LARGEST / 50],
        discount in percentage(),
        card in card(),
        number in 1_u32..=50,
    ) {
        let one = quote(usd(msrp), discount, &card).unwrap();
        let quantity = Quantity::new(number).unwrap();
        let all = one.times(quantity).unwrap();
        let times = |each: Money| each.minor() * i64::from(number);
        prop_assert_eq!(all.msrp.minor(), times(one.msrp));
        prop_assert_eq!(all.deposit.minor(), times(one.deposit));
        prop_assert_eq!(all.insurance.minor(), times(one.insurance));
        prop_assert_eq!(all.residual_value.minor(), times(one.residual_value));
        prop_assert_eq!(all.total_monthly_payment.minor(), times(one.total_monthly_payment));
        prop_assert_eq!(all.total_of_payments.minor(), times(one.total_of_payments));
        // All the sums of a quote are looked at again.
        prop_assert!(all.plan().is_ok());
        prop_assert_eq!(all.one_of(quantity), Ok(one));
    }
}

proptest! {
    #[test]
    fn the_figures_of_a_quote_add_up(msrp in amount(), discount in percentage(), card in card()) {
        let quote = quote(usd(msrp), discount, &card).unwrap();
        let months = u32::from(card.term.get());
        let add = |a: Money, b: Money| a.checked_add(b).unwrap();

        prop_assert!(quote.residual_value <= quote.capitalized_cost);
        prop_assert!(quote.capitalized_cost <= quote.msrp);
        prop_assert!(!quote.residual_value.is_negative());
        prop_assert!(!quote.monthly_payment.is_negative());
        prop_assert_eq!(add(quote.residual_value, quote.depreciation), quote.capitalized_cost);
        prop_assert_eq!(
            add(quote.depreciation, quote.rent_charge),
            quote.monthly_payment.checked_mul(months).unwrap()
        );
        prop_assert_eq!(add(quote.monthly_payment, quote.insurance), quote.total_monthly_payment);
        prop_assert_eq!(add(quote.deposit, quote.total_monthly_payment), quote.total_due_at_signing);
        prop_assert_eq!(
            quote.total_monthly_payment.checked_mul(months).unwrap(),
            quote.total_of_payments
        );
        // Rounding takes at most half a minor unit of each payment.
        prop_assert!(quote.rent_charge.minor() * 2 >= -i64::from(months));
        prop_assert_eq!(quote.plan().and_then(|plan| plan.rent_charge()), Ok(quote.rent_charge));
    }

    #[test]
    fn a_higher_price_never_costs_less(msrp in 0..LARGEST, more in 1_i64..1_000, card in card()) {
        let more = (msrp + more).min(LARGEST);
        let (low, high) = (
            quote(usd(msrp), Percentage::ZERO, &card).unwrap(),
            quote(usd(more), Percentage::ZERO, &card).unwrap(),
        );
        prop_assert!(low.monthly_payment <= high.monthly_payment);
        prop_assert!(low.total_monthly_payment <= high.total_monthly_payment);
        prop_assert!(low.total_due_at_signing <= high.total_due_at_signing);
        prop_assert!(low.total_of_payments <= high.total_of_payments);
    }

    /// Cost and residual value are rounded apart, so that a discounted payment may fall by the
    /// minor unit that only the residual value has risen by, but never by more.
    #[test]
    fn a_higher_price_less_a_discount_never_costs_a_unit_less(
        msrp in 0..LARGEST, more in 1_i64..1_000, discount in percentage(), card in card(),
    ) {
        let more = (msrp + more).min(LARGEST);
        let (low, high) = (
            quote(usd(msrp), discount, &card).unwrap(),
            quote(usd(more), discount, &card).unwrap(),
        );
        prop_assert!(low.monthly_payment.minor() <= high.monthly_payment.minor() + 1);
    }

    #[test]
    fn a_payment_rises_with_the_rate(
        cost in amount(), term in term(), low in annual_rate(), high in annual_rate(),
    ) {
        let (low, high) = (low.min(high), low.max(high));
        let payment = |rate| {
            LeaseTerms::new(usd(cost), usd(cost / 3), term, Rate::AnnualRate(rate))
                .payments_in_advance(0)
                .quote()
                .unwrap()
                .base_payment
        };
        prop_assert!(payment(low) <= payment(high));
    }

    #[test]
    fn a_payment_is_the_reference_rounded_once(
        (_, cost, residual, term, advance) in lease_terms(), rate in annual_rate(),
    ) {
        let lease = LeaseTerms::new(usd(cost), usd(residual), term, Rate::AnnualRate(rate))
            .payments_in_advance(advance)
            .quote()
            .unwrap();
        let reference = reference_payment(cost, residual, term, advance, rate);
        prop_assert_eq!(lease.base_payment, usd(reference));
        if advance == 1 {
            let card = RateCard {
                term,
                rate: Rate::AnnualRate(rate),
                residual: "45".parse().unwrap(),
                deposit: Percentage::ZERO,
                insurance: Percentage::ZERO,
            };
            let quote = quote(usd(cost), Percentage::ZERO, &card).unwrap();
            let reference = reference_payment(cost, quote.residual_value.minor(), term, 1, rate);
            prop_assert_eq!(quote.monthly_payment, usd(reference));
        }
    }

    #[test]
    fn the_figures_of_a_lease_add_up(
        (terms, ..) in lease_terms(), fees in amount(), tax in percentage(), unrounded in any::<bool>(),
    ) {
        let tax = if unrounded {
            PaymentTax::PercentageOfUnrounded(tax)
        } else {
            PaymentTax::Percentage(tax)
        };
        let lease = match terms.capitalized_fees(usd(fees)).tax(tax).quote() {
            Ok(lease) => lease,
            Err(error) => {
                let too_much = matches!(error, PricingError::AmountOutOfRange { figure: "the gross capitalized cost", .. });
                prop_assert!(too_much, "{}", error);
                return Ok(());
            }
        };
        let add = |a: Money, b: Money| a.checked_add(b).unwrap();
        prop_assert_eq!(add(lease.agreed_value, lease.capitalized_fees), lease.gross_capitalized_cost);
        prop_assert_eq!(
            add(lease.adjusted_capitalized_cost, lease.capitalized_cost_reduction),
            lease.gross_capitalized_cost
        );
        prop_assert_eq!(add(lease.residual_value, lease.depreciation), lease.adjusted_capitalized_cost);
        prop_assert_eq!(add(lease.depreciation, lease.rent_charge), lease.total_of_base_payments);
        prop_assert_eq!(add(lease.base_payment, lease.payment_tax), lease.monthly_payment);
        prop_assert_eq!(
            add(lease.depreciation_per_month().unwrap(), lease.rent_per_month().unwrap()),
            lease.base_payment
        );
        prop_assert_eq!(lease.plan().and_then(|plan| plan.rent_charge()), Ok(lease.rent_charge));
        // The tax of the unrounded payment is at most a minor unit off that of the printed one.
        prop_assert!(!lease.payment_tax.is_negative());
        prop_assert!(lease.payment_tax <= add(lease.base_payment, usd(1)));
    }

    #[test]
    fn a_schedule_adds_up_and_ends_at_the_residual_value(
        (terms, ..) in lease_terms(), rule_of_78 in any::<bool>(),
    ) {
        let plan = terms.quote().unwrap().plan().unwrap();
        let method = if rule_of_78 { RentMethod::RuleOf78 } else { RentMethod::ConstantYield };
        let schedule = plan.schedule(method).unwrap();
        let total = |figure: fn(&lessor_domain::pricing::ScheduleLine) -> Money| {
            Money::sum(schedule.iter().map(figure), Currency::USD).map_err(PricingError::from)
        };
        // Only rounding makes a quote's payments fall short of the depreciation.
        let rent_charge = plan.rent_charge().unwrap();
        let shortfall = usd((-rent_charge.minor()).max(0));
        if !shortfall.is_zero() {
            prop_assert_eq!(plan.implicit_rate(), Ok(ImplicitRate::ZERO));
        }
        prop_assert_eq!(schedule.len(), usize::from(plan.term().get()));
        prop_assert_eq!(total(|line| line.payment), plan.total_of_payments());
        prop_assert_eq!(total(|line| line.rent), Ok(rent_charge.checked_add(shortfall).unwrap()));
        prop_assert_eq!(total(|line| line.depreciation), plan.depreciation());
        prop_assert_eq!(schedule.last().unwrap().balance, plan.residual_value());
        let mut before = plan.capitalized_cost();
        for (line, month) in schedule.iter().zip(1..) {
            prop_assert_eq!(line.month, month);
            let is_last = month == plan.term().get();
            let short = if is_last { shortfall } else { usd(0) };
            let covered = line.payment.checked_add(short).unwrap();
            prop_assert!(!line.rent.is_negative(), "month {}: {}", month, line.rent);
            // The rule of 78 still earns when several payments in advance have all been made.
            prop_assert!(rule_of_78 || !line.balance.is_negative(), "month {}: {}", month, line.balance);
            prop_assert_eq!(line.rent.checked_add(line.depreciation), Ok(covered));
            prop_assert_eq!(line.balance.checked_add(line.depreciation), Ok(before));
            prop_assert_eq!(plan.balance_after(month, method), Ok(line.balance));
            before = line.balance;
        }
    }

    /// No line carries the rounding of another: each rent is the rate on the balance before it,
    /// within the rounding of two balances.
    #[test]
    fn each_rent_is_the_rate_on_the_balance((plan, _) in financed_plan()) {
        let rate: BigDecimal = plan.implicit_rate().unwrap().to_string().parse().unwrap();
        let mut before = plan.capitalized_cost();
        for line in plan.schedule(RentMethod::ConstantYield).unwrap() {
            let financed = if plan.payments_in_advance() == 0 {
                before
            } else {
                before.checked_sub(line.payment).unwrap()
            };
            let exact = BigDecimal::from(financed.minor()) * &rate / 1200;
            // Both balances are within half a unit, and the rate is below 9 % a month.
            let off: BigDecimal = exact - BigDecimal::from(line.rent.minor());
            let off = off.abs();
            // At a rate of zero what rounding leaves is at the end.
            let is_remainder = plan.implicit_rate() == Ok(ImplicitRate::ZERO)
                && line.balance == plan.residual_value();
            prop_assert!(is_remainder || off <= "1.06".parse::<BigDecimal>().unwrap(), "month {}: {} off", line.month, off);
            before = line.balance;
        }
    }

    /// Small leases, most of which rounding decides: what is paid beyond the depreciation comes
    /// after it, and what is missing in the last month.
    #[test]
    fn at_a_rate_of_zero_only_the_end_is_not_depreciation(
        (cost, residual) in (0_i64..=500).prop_flat_map(|cost| (Just(cost), 0..=cost)),
        (months, advance) in (1_u16..=120).prop_flat_map(|months| (Just(months), 0..=months)),
        by_factor in any::<bool>(), rule_of_78 in any::<bool>(),
    ) {
        let term = TermMonths::new(months).unwrap();
        let rate = if by_factor {
            Rate::MoneyFactor("0".parse().unwrap())
        } else {
            Rate::AnnualRate(AnnualRate::ZERO)
        };
        let plan = LeaseTerms::new(usd(cost), usd(residual), term, rate)
            .payments_in_advance(advance)
            .quote()
            .and_then(|lease| lease.plan())
            .unwrap();
        prop_assert_eq!(plan.implicit_rate(), Ok(ImplicitRate::ZERO));
        prop_assert_eq!(plan.payment_at(ImplicitRate::ZERO), Ok(plan.payment()));
        let method = if rule_of_78 { RentMethod::RuleOf78 } else { RentMethod::ConstantYield };
        let schedule = plan.schedule(method).unwrap();
        let mut before = plan.capitalized_cost();
        for line in &schedule {
            prop_assert!(!line.rent.is_negative() && !line.depreciation.is_negative());
            prop_assert!(line.balance >= plan.residual_value());
            let reached = line.balance == plan.residual_value();
            prop_assert!(line.rent.is_zero() || reached, "month {}", line.month);
            prop_assert!(line.depreciation == line.payment || reached, "month {}", line.month);
            before = before.checked_sub(line.depreciation).unwrap();
            prop_assert_eq!(line.balance, before);
        }
        prop_assert_eq!(before, plan.residual_value());
    }

    #[test]
    fn an_implicit_rate_gives_the_payment_back((terms, ..) in lease_terms()) {
        let plan = terms.quote().unwrap().plan().unwrap();
        let at_signing = plan.payment().minor() * i64::from(plan.payments_in_advance());
        match plan.implicit_rate() {
            Ok(rate) => prop_assert_eq!(plan.payment_at(rate), Ok(plan.payment())),
            Err(PricingError::NothingFinanced) => {
                prop_assert!(at_signing >= plan.capitalized_cost().minor());
            }
            // A hundredth is financed for so short that it earns more than 1,000,000 % a year.
            Err(error) => {
                prop_assert_eq!(error, PricingError::RateOutOfRange);
                let financed = plan.capitalized_cost().minor() - at_signing;
                prop_assert!(financed * 100 < plan.capitalized_cost().minor());
            }
        }
    }

    /// The rate that a lease was quoted at is found again, up to what rounding the payment to a
    /// minor unit can move it.
    #[test]
    fn an_implicit_rate_is_the_rate_of_the_quote((plan, rate) in financed_plan()) {
        let found = plan.implicit_rate().unwrap();
        let bounds = [-1, 1].map(|cent| {
            let payment = usd((plan.payment().minor() + cent).max(0));
            let nearby = PaymentPlan::new(
                plan.capitalized_cost(),
                plan.residual_value(),
                payment,
                plan.term(),
                plan.payments_in_advance(),
            );
            nearby.unwrap().implicit_rate()
        });
        let rate = ImplicitRate::from(rate);
        if let Ok(below) = bounds[0] {
            prop_assert!(below <= found && below <= rate, "{:?} {:?} {:?}", below, found, rate);
        }
        if let Ok(above) = bounds[1] {
            prop_assert!(found <= above && rate <= above, "{:?} {:?} {:?}", found, rate, above);
        }
    }

    #[test]
    fn ending_early_forgoes_the_rent_that_is_left(
        (terms, ..) in lease_terms(), month in 1_u16..=120, rule_of_78 in any::<bool>(),
    ) {
        let plan = terms.quote().unwrap().plan().unwrap();
        let month = month.min(plan.term().get());
        let method = if rule_of_78 { RentMethod::RuleOf78 } else { RentMethod::ConstantYield };
        let none = TerminationCharges::none(Currency::USD);
        let ended = plan.termination_quote(month, method, none).unwrap();
        let schedule = plan.schedule(method).unwrap();
        let (gone, left) = schedule.split_at(usize::from(month));
        prop_assert_eq!(ended.balance, gone.last().unwrap().balance);
        prop_assert_eq!(
            Money::sum(left.iter().map(|line| line.rent), Currency::USD),
            Ok(ended.unearned_rent)
        );
        prop_assert_eq!(
            Money::sum(left.iter().map(|line| line.payment), Currency::USD),
            Ok(ended.total_of_remaining_payments)
        );
        let bought = plan.purchase_quote(month, method, PurchaseCharges::none(Currency::USD));
        prop_assert_eq!(bought.unwrap().price, ended.balance);
    }

    #[test]
    fn an_extension_goes_on_at_the_rate_of_the_lease(
        (plan, _) in financed_plan(), month in 1_u16..=120, added in 1_u16..=12,
    ) {
        let month = month.min(plan.term().get());
        let added = TermMonths::new(added).unwrap();
        let extension = match plan.extend(month, added, ExtensionTerms::SamePayment) {
            Ok(extension) => extension,
            Err(PricingError::BalanceRunsOut) => return Ok(()),
            Err(error) => {
                let too_long = plan.term().get() - month + added.get() > 120;
                prop_assert!(too_long, "{}", error);
                return Ok(());
            }
        };
        prop_assert_eq!(
            extension.plan.term().get(),
            plan.term().get() - month + added.get()
        );
        let balance = plan.balance_after(month, RentMethod::ConstantYield);
        prop_assert_eq!(Ok(extension.plan.capitalized_cost()), balance);
        // The residual value is rounded, and so is the payment that it gives back.
        let again = extension.plan.payment_at(plan.implicit_rate().unwrap()).unwrap();
        let difference = again.checked_sub(plan.payment()).unwrap();
        prop_assert!(difference.minor().abs() <= 1, "{:?}", difference);
    }

    /// Any numbers at all give a value or an error.
    #[test]
    fn nothing_panics(
        amounts in prop::array::uniform6(any::<i64>()),
        small in prop::array::uniform3(0_i64..1_000),
        months in 1_u16..=120, counts in prop::array::uniform3(any::<u16>()),
        rate in rate(), percentage in percentage(), currency in prop::sample::select(vec!["USD", "JPY", "CLF"]),
    ) {
        let currency: Currency = currency.parse().unwrap();
        let [a, b, c, d, e, f] = amounts.map(|minor| Money::from_minor(minor, currency));
        let [x, y, z] = small.map(|minor| Money::from_minor(minor, currency));
        let term = TermMonths::new(months).unwrap();
        let [advance, month, added] = counts;
        let card = RateCard { term, rate, residual: percentage, deposit: percentage, insurance: percentage };
        let _ = quote(a, percentage, &card);
        let wild = LeaseTerms::new(a, b, term, rate)
            .capitalized_fees(c).trade_in(d).rebate(e).cash_reduction(f)
            .payments_in_advance(advance).tax(PaymentTax::Amount(c)).quote();
        let tame = LeaseTerms::new(x, y, term, rate)
            .payments_in_advance(advance % 8).tax(PaymentTax::PercentageOfUnrounded(percentage)).quote();
        let wild_plan = PaymentPlan::new(a, b, c, term, advance);
        let tame_plan = PaymentPlan::new(x, y, z, term, advance % 8);
        let plans = [
            wild.and_then(|lease| lease.plan()), tame.and_then(|lease| lease.plan()), wild_plan, tame_plan,
        ];
        for plan in plans.into_iter().flatten() {
            let _ = plan.schedule(RentMethod::ConstantYield);
            let _ = plan.schedule(RentMethod::RuleOf78);
            for month in [month, month % 128] {
                let charges = TerminationCharges { realized_value: a, ..TerminationCharges::none(currency) };
                let _ = plan.termination_quote(month, RentMethod::RuleOf78, charges);
                let charges = PurchaseCharges { tax: percentage, ..PurchaseCharges::none(currency) };
                let _ = plan.purchase_quote(month, RentMethod::ConstantYield, charges);
                let added = TermMonths::new(added % 120 + 1).unwrap();
                for terms in [
                    ExtensionTerms::SamePayment,
                    ExtensionTerms::SameRate { residual_value: x },
                    ExtensionTerms::NewRate { residual_value: y, rate },
                ] {
                    let _ = plan.extend(month, added, terms);
                }
            }
        }
    }
}
