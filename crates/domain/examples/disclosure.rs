//! The segregated disclosures of a vehicle lease: `cargo run -p lessor-domain --example disclosure`
//!
//! Fills in model form A-2 of 12 CFR 1013 with the sample lease that the Federal Reserve Board
//! published, and prints its lines.

#![expect(clippy::print_stdout, reason = "an example shows what it computed")]

use std::error::Error;

use chrono::NaiveDate;
use lessor_domain::money::{AmountError, Currency, Money};
use lessor_domain::pricing::disclosure::{
    DisclosureHeader, MileageLimit, PurchaseOption, VehicleCharges, VehicleLeaseDisclosure,
};
use lessor_domain::pricing::{LeaseTerms, PaymentTax, Rate};

fn main() -> Result<(), Box<dyn Error>> {
    let signing = NaiveDate::from_ymd_opt(2026, 11, 20).ok_or("no such day")?;
    let lease = LeaseTerms::new(
        usd("21500")?,
        usd("12350")?,
        "48".parse()?,
        Rate::MoneyFactor("0.0035414".parse()?),
    )
    .capitalized_fees(usd("800")?)
    .trade_in(usd("2500")?)
    .cash_reduction(usd("1000")?)
    .tax(PaymentTax::Amount(usd("12.25")?))
    .quote()?;
    let form = VehicleLeaseDisclosure::new(
        &lease,
        DisclosureHeader {
            date: signing,
            lessors: vec!["Example Leasing".to_owned()],
            lessees: vec!["J. Smith".to_owned()],
            first_payment_due: signing,
            due_day: 1,
        },
        VehicleCharges {
            security_deposit: usd("350")?,
            title_fees: usd("75")?,
            registration_fees: usd("60")?,
            disposition_fee: usd("400")?,
            mileage_limit: Some(MileageLimit {
                miles_per_year: 15_000,
                charge_per_mile: usd("0.15")?,
            }),
            purchase_option: Some(PurchaseOption {
                price: lease.residual_value,
                fee: usd("0")?,
            }),
            ..VehicleCharges::none(Currency::USD)
        },
    )?;
    print(&form);
    Ok(())
}

fn usd(amount: &str) -> Result<Money, AmountError> {
    Money::parse(amount, Currency::USD)
}

fn print(form: &VehicleLeaseDisclosure) {
    let payments = &form.monthly_payments;
    println!("Federal Consumer Leasing Act Disclosures");
    println!("Date {}", form.header.date);
    println!("Lessor(s) {}", form.header.lessors.join(", "));
    println!("Lessee(s) {}\n", form.header.lessees.join(", "));
    line(
        "Amount due at lease signing or delivery",
        form.amount_due.total,
    );
    println!(
        "Your first monthly payment of {} is due on {}, followed by {} payments of {} due on day {} of each month.",
        payments.payment,
        payments.first_due,
        payments.further_payments,
        payments.payment,
        payments.due_day,
    );
    line("Total of your monthly payments", payments.total);
    line("Disposition fee", form.other_charges.at_end);
    line("Total of other charges", form.other_charges.total);
    line("Total of payments", form.total_of_payments);

    println!("\nItemization of amount due");
    let due = &form.amount_due;
    line("Capitalized cost reduction", due.capitalized_cost_reduction);
    line("First monthly payment", due.first_monthly_payment);
    line(
        "Refundable security deposit",
        due.refundable_security_deposit,
    );
    line("Title fees", due.title_fees);
    line("Registration fees", due.registration_fees);
    line("Total", due.total);

    println!("\nHow the amount due will be paid");
    line(
        "Net trade-in allowance",
        form.how_paid.net_trade_in_allowance,
    );
    line(
        "Rebates and noncash credits",
        form.how_paid.rebates_and_noncash_credits,
    );
    line("Amount to be paid in cash", form.how_paid.cash);
    line("Total", form.how_paid.total);

    println!("\nYour monthly payment is determined as shown below");
    let figures = &form.determination;
    line("Agreed upon value", figures.agreed_value);
    line("Gross capitalized cost", figures.gross_capitalized_cost);
    line(
        "- Capitalized cost reduction",
        figures.capitalized_cost_reduction,
    );
    line(
        "= Adjusted capitalized cost",
        figures.adjusted_capitalized_cost,
    );
    line("- Residual value", figures.residual_value);
    line(
        "= Depreciation and any amortized amounts",
        figures.depreciation,
    );
    line("+ Rent charge", figures.rent_charge);
    line(
        "= Total of base monthly payments",
        figures.total_of_base_payments,
    );
    println!(
        "{:<42}{:>12}",
        "/ Lease payments", figures.number_of_payments
    );
    line("= Base monthly payment", figures.base_payment);
    line("+ Monthly sales/use tax", figures.tax);
    line("= Total monthly payment", figures.total_monthly_payment);

    if let Some(limit) = form.mileage_limit {
        println!(
            "\nExcessive wear and use: {} for each mile over {} a year.",
            limit.charge_per_mile, limit.miles_per_year
        );
    }
    if let Some(option) = form.purchase_option {
        println!(
            "Purchase option at end of lease term: {} and a fee of {}.",
            option.price, option.fee
        );
    }
}

fn line(name: &str, amount: Money) {
    println!("{name:<42}{amount:>12}");
}
