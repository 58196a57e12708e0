//! What an item costs to lease: `cargo run -p lessor-domain --example quote -- 1299.00 12.5`
//!
//! Prices a list price (and a discount in percent) for the three terms that a new organization
//! has, then follows the 24 months' payments: the schedule, the rate, and leaving after a year.

#![expect(clippy::print_stdout, reason = "an example shows what it computed")]

use std::error::Error;

use lessor_domain::money::{Currency, Money};
use lessor_domain::percentage::Percentage;
use lessor_domain::pricing::{
    ExtensionTerms, PurchaseCharges, Rate, RateCard, RentMethod, TerminationCharges, quote,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let msrp = arguments.next().unwrap_or_else(|| "1299.00".to_owned());
    let discount = arguments.next().unwrap_or_else(|| "0".to_owned());
    let msrp = Money::parse(&msrp, Currency::USD)?;
    let discount: Percentage = discount.parse()?;

    println!("list price {msrp}, discount {discount} %\n");
    println!("months   residual   monthly  insurance     total   at signing  all payments");
    for (months, residual) in [("12", "60"), ("24", "45"), ("36", "30")] {
        let quote = quote(msrp, discount, &card(months, residual)?)?;
        println!(
            "{:>6} {:>10} {:>9} {:>10} {:>9} {:>12} {:>13}",
            quote.term,
            quote.residual_value,
            quote.monthly_payment,
            quote.insurance,
            quote.total_monthly_payment,
            quote.total_due_at_signing,
            quote.total_of_payments,
        );
    }

    let plan = quote(msrp, discount, &card("24", "45")?)?.plan()?;
    println!("\n24 months at {} % a year", plan.implicit_rate()?);
    println!(" month   payment      rent  depreciation    balance");
    for line in plan.schedule(RentMethod::ConstantYield)? {
        println!(
            "{:>6} {:>9} {:>9} {:>13} {:>10}",
            line.month, line.payment, line.rent, line.depreciation, line.balance
        );
    }

    let none = TerminationCharges::none(Currency::USD);
    for method in [RentMethod::ConstantYield, RentMethod::RuleOf78] {
        let ended = plan.termination_quote(12, method, none)?;
        println!(
            "\nended after 12 months by {method:?}: balance {}, rent not charged {}",
            ended.balance, ended.unearned_rent
        );
    }
    let charges = PurchaseCharges {
        tax: "8.25".parse()?,
        ..PurchaseCharges::none(Currency::USD)
    };
    let bought = plan.purchase_quote(24, RentMethod::ConstantYield, charges)?;
    println!(
        "bought at the end: {} and {} tax, {}",
        bought.price, bought.tax, bought.total
    );
    let extension = plan.extend(24, "6".parse()?, ExtensionTerms::SamePayment)?;
    println!(
        "six months more at {}: residual value {}",
        extension.plan.payment(),
        extension.plan.residual_value()
    );
    Ok(())
}

fn card(months: &str, residual: &str) -> Result<RateCard, Box<dyn Error>> {
    Ok(RateCard {
        term: months.parse()?,
        rate: Rate::MoneyFactor("0.0025".parse()?),
        residual: residual.parse()?,
        deposit: "10".parse()?,
        insurance: "6".parse()?,
    })
}
