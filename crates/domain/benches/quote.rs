//! What a quote costs. `cargo bench -p lessor-domain --bench quote`

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops where its own data is wrong"
)]

use divan::{AllocProfiler, Bencher, black_box};
use lessor_domain::money::{Currency, Money};
use lessor_domain::percentage::{Percentage, TermMonths};
use lessor_domain::pricing::{Rate, RateCard, quote};

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
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

fn price() -> (Money, Percentage) {
    (
        Money::from_minor(129_900, Currency::USD),
        "12.5".parse().unwrap(),
    )
}

#[divan::bench(args = [12, 24, 36, 120])]
fn by_money_factor(bencher: Bencher<'_, '_>, months: u16) {
    let card = card(months, Rate::MoneyFactor("0.0025".parse().unwrap()));
    let (msrp, discount) = price();
    bencher.bench(|| quote(black_box(msrp), black_box(discount), black_box(&card)));
}

#[divan::bench(args = [12, 24, 36, 120])]
fn by_annual_rate(bencher: Bencher<'_, '_>, months: u16) {
    let card = card(months, Rate::AnnualRate("7.25".parse().unwrap()));
    let (msrp, discount) = price();
    bencher.bench(|| quote(black_box(msrp), black_box(discount), black_box(&card)));
}
