//! What pricing costs: `cargo bench -p lessor-domain --bench quote`
//!
//! The allocation columns appear only for what allocates: a quote does not.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops where its own data is wrong"
)]

use divan::{AllocProfiler, Bencher, black_box};
use lessor_domain::money::{Currency, Money};
use lessor_domain::percentage::{Percentage, TermMonths};
use lessor_domain::pricing::{
    LeaseTerms, PaymentPlan, Rate, RateCard, RentMethod, TerminationCharges, quote,
};

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

fn usd(minor: i64) -> Money {
    Money::from_minor(minor, Currency::USD)
}

fn by_money_factor() -> Rate {
    Rate::MoneyFactor("0.0025".parse().unwrap())
}

fn by_annual_rate() -> Rate {
    Rate::AnnualRate("7.25".parse().unwrap())
}

fn card(months: u16, rate: Rate) -> RateCard {
    RateCard {
        term: TermMonths::new(months).unwrap(),
        rate,
        residual: "45".parse().unwrap(),
        deposit: "10".parse().unwrap(),
        insurance: "6".parse().unwrap(),
    }
}

fn bench_quote(bencher: Bencher<'_, '_>, card: RateCard) {
    let discount: Percentage = "12.5".parse().unwrap();
    bencher.bench(|| {
        quote(
            black_box(usd(129_900)),
            black_box(discount),
            black_box(&card),
        )
    });
}

#[divan::bench(args = [12, 24, 36, 120])]
fn quote_by_money_factor(bencher: Bencher<'_, '_>, months: u16) {
    bench_quote(bencher, card(months, by_money_factor()));
}

#[divan::bench(args = [12, 24, 36, 120])]
fn quote_by_annual_rate(bencher: Bencher<'_, '_>, months: u16) {
    bench_quote(bencher, card(months, by_annual_rate()));
}

/// A payment that lies on a half, which big integers decide.
#[divan::bench]
fn quote_on_a_half(bencher: Bencher<'_, '_>) {
    let card = RateCard {
        residual: "40".parse().unwrap(),
        ..card(1, Rate::AnnualRate("80".parse().unwrap()))
    };
    bencher.bench(|| quote(black_box(usd(20)), Percentage::ZERO, black_box(&card)));
}

#[divan::bench(args = [0, 1, 3])]
fn lease_terms_by_annual_rate(bencher: Bencher<'_, '_>, payments_in_advance: u16) {
    let terms = LeaseTerms::new(
        usd(2_150_000),
        usd(1_235_000),
        TermMonths::new(48).unwrap(),
        by_annual_rate(),
    )
    .payments_in_advance(payments_in_advance);
    bencher.bench(|| black_box(&terms).quote());
}

fn plan() -> PaymentPlan {
    let card = card(48, by_money_factor());
    quote(usd(129_900), Percentage::ZERO, &card)
        .unwrap()
        .plan()
        .unwrap()
}

#[divan::bench]
fn implicit_rate(bencher: Bencher<'_, '_>) {
    let plan = plan();
    bencher.bench(|| black_box(&plan).implicit_rate());
}

#[divan::bench]
fn schedule_of_48_months(bencher: Bencher<'_, '_>) {
    let plan = plan();
    bencher.bench(|| black_box(&plan).schedule(RentMethod::ConstantYield));
}

#[divan::bench]
fn termination_quote(bencher: Bencher<'_, '_>) {
    let plan = plan();
    let none = TerminationCharges::none(Currency::USD);
    bencher.bench(|| black_box(&plan).termination_quote(12, RentMethod::ConstantYield, none));
}
