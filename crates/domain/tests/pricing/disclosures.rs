//! The consumer lease forms, line by line.

use chrono::NaiveDate;
use lessor_domain::money::Currency;
use lessor_domain::percentage::Percentage;
use lessor_domain::pricing::disclosure::{
    DisclosureHeader, FurnitureCharges, FurnitureLeaseDisclosure, LeasedItem, MileageLimit,
    NamedAmount, PurchaseOption, VehicleCharges, VehicleLeaseDisclosure,
};
use lessor_domain::pricing::{LeaseTerms, Rate, RateCard, quote};

use crate::{eur, usd};

fn header(due_day: u8) -> DisclosureHeader {
    let date = NaiveDate::from_ymd_opt(2026, 11, 20).unwrap();
    DisclosureHeader {
        date,
        lessors: vec!["Example Leasing".to_owned()],
        lessees: vec!["J. Smith".to_owned()],
        first_payment_due: date,
        due_day,
    }
}

fn named(name: &str, minor: i64) -> NamedAmount {
    NamedAmount {
        name: name.to_owned(),
        amount: usd(minor),
    }
}

fn sofa() -> Vec<LeasedItem> {
    vec![LeasedItem {
        item: "Sofa".to_owned(),
        color: Some("grey".to_owned()),
        stock_number: Some("S-1".to_owned()),
        manufacturer: None,
        quantity: 2,
    }]
}

#[test]
fn every_line_of_the_furniture_form() {
    let card = RateCard {
        term: "24".parse().unwrap(),
        rate: Rate::MoneyFactor("0.0025".parse().unwrap()),
        residual: "45".parse().unwrap(),
        deposit: "10".parse().unwrap(),
        insurance: "6".parse().unwrap(),
    };
    let quote = quote(usd(129_900), Percentage::ZERO, &card).unwrap();
    let option = PurchaseOption {
        price: quote.residual_value,
        fee: usd(2_500),
    };
    let form = FurnitureLeaseDisclosure::of_quote(
        &quote,
        header(31),
        sofa(),
        FurnitureCharges {
            delivery_fee: usd(7_500),
            other_at_signing: vec![named("Stair carry", 1_000), named("Disposal", 500)],
            pick_up_fee: usd(5_000),
            other_charges: vec![named("Annual cleaning", 3_000)],
            purchase_option: Some(option),
        },
    )
    .unwrap();

    let due = &form.amount_due;
    assert_eq!(due.first_monthly_payment, quote.total_monthly_payment);
    assert_eq!(due.further_payments_in_advance, usd(0));
    assert_eq!(due.refundable_security_deposit, usd(12_990));
    assert_eq!(due.delivery_fee, usd(7_500));
    assert_eq!(due.capitalized_cost_reduction, usd(0));
    assert_eq!(due.total, usd(4_098 + 12_990 + 7_500 + 1_500));
    let payments = &form.monthly_payments;
    assert_eq!(
        (payments.payment, payments.further_payments),
        (usd(4_098), 23)
    );
    assert_eq!(payments.total, quote.total_of_payments);
    assert_eq!(form.other_charges.total, usd(8_000));
    // What is due and not the deposit, 23 payments, the other charges.
    assert_eq!(
        form.total_of_payments,
        usd(4_098 + 9_000 + 23 * 4_098 + 8_000)
    );
    assert_eq!(form.purchase_option, Some(option));
    assert_eq!(form.property, sofa());
    assert_eq!(form.header, header(31));
}

/// A lease with three payments in advance and one with none, on both forms.
#[test]
fn the_forms_count_payments_in_advance() {
    let terms = LeaseTerms::new(
        usd(2_000_000),
        usd(1_000_000),
        "36".parse().unwrap(),
        Rate::AnnualRate("6".parse().unwrap()),
    )
    .trade_in(usd(100_000))
    .rebate(usd(50_000))
    .cash_reduction(usd(25_000));
    for (advance, further, at_signing) in [(3, 33, 3), (1, 35, 1), (0, 35, 0)] {
        let lease = terms.payments_in_advance(advance).quote().unwrap();
        let payment = lease.monthly_payment.minor();
        let vehicle = VehicleLeaseDisclosure::new(
            &lease,
            header(1),
            VehicleCharges {
                security_deposit: usd(30_000),
                other_at_signing: vec![named("Documents", 10_000)],
                disposition_fee: usd(40_000),
                other_charges: vec![named("Annual tax", 20_000)],
                mileage_limit: Some(MileageLimit {
                    miles_per_year: 12_000,
                    charge_per_mile: usd(15),
                }),
                ..VehicleCharges::none(Currency::USD)
            },
        )
        .unwrap();
        let furniture = FurnitureLeaseDisclosure::of_lease(
            &lease,
            usd(30_000),
            header(1),
            sofa(),
            FurnitureCharges {
                other_at_signing: vec![named("Documents", 10_000)],
                pick_up_fee: usd(60_000),
                ..FurnitureCharges::none(Currency::USD)
            },
        )
        .unwrap();

        let due = usd(175_000 + 30_000 + 10_000 + at_signing * payment);
        assert_eq!(vehicle.amount_due.total, due);
        assert_eq!(furniture.amount_due.total, due);
        assert_eq!(
            furniture.amount_due.capitalized_cost_reduction,
            usd(175_000)
        );
        let first = usd(at_signing.min(1) * payment);
        assert_eq!(vehicle.amount_due.first_monthly_payment, first);
        let more = usd((at_signing - 1).max(0) * payment);
        assert_eq!(vehicle.amount_due.further_payments_in_advance, more);
        assert_eq!(furniture.amount_due.further_payments_in_advance, more);

        assert_eq!(vehicle.how_paid.net_trade_in_allowance, usd(100_000));
        assert_eq!(vehicle.how_paid.rebates_and_noncash_credits, usd(50_000));
        assert_eq!(vehicle.how_paid.cash, usd(due.minor() - 150_000));
        assert_eq!(vehicle.monthly_payments.further_payments, further);
        assert_eq!(vehicle.monthly_payments.total, usd(36 * payment));
        assert_eq!(vehicle.other_charges.total, usd(60_000));
        let total = usd(175_000 + 10_000 + 36 * payment + 60_000);
        assert_eq!(vehicle.total_of_payments, total);
        assert_eq!(furniture.total_of_payments, total);
        assert_eq!(vehicle.mileage_limit.unwrap().miles_per_year, 12_000);
    }
}

#[test]
fn the_forms_refuse_what_is_out_of_range() {
    let lease = LeaseTerms::new(
        usd(10_000),
        usd(5_000),
        "12".parse().unwrap(),
        Rate::AnnualRate("6".parse().unwrap()),
    )
    .quote()
    .unwrap();
    let none = || VehicleCharges::none(Currency::USD);
    let vehicle = |due_day, charges| {
        VehicleLeaseDisclosure::new(&lease, header(due_day), charges)
            .unwrap_err()
            .to_string()
    };
    for due_day in [0, 32] {
        assert_eq!(
            vehicle(due_day, none()),
            "the day of the month on which payments are due is from 1 to 31"
        );
    }
    let negative = usd(-1);
    let option = |price, fee| Some(PurchaseOption { price, fee });
    let limit = |charge_per_mile| {
        Some(MileageLimit {
            miles_per_year: 1,
            charge_per_mile,
        })
    };
    for (charges, figure) in [
        (
            VehicleCharges {
                security_deposit: negative,
                ..none()
            },
            "the security deposit",
        ),
        (
            VehicleCharges {
                title_fees: negative,
                ..none()
            },
            "the sum of title fees",
        ),
        (
            VehicleCharges {
                registration_fees: negative,
                ..none()
            },
            "the sum of registration fees",
        ),
        (
            VehicleCharges {
                disposition_fee: negative,
                ..none()
            },
            "the disposition fee",
        ),
        (
            VehicleCharges {
                other_at_signing: vec![named("x", -1)],
                ..none()
            },
            "the amount of a named line",
        ),
        (
            VehicleCharges {
                other_charges: vec![named("x", -1)],
                ..none()
            },
            "the amount of a named line",
        ),
        (
            VehicleCharges {
                purchase_option: option(negative, usd(0)),
                ..none()
            },
            "the price of the purchase option",
        ),
        (
            VehicleCharges {
                purchase_option: option(usd(0), negative),
                ..none()
            },
            "the fee of the purchase option",
        ),
        (
            VehicleCharges {
                mileage_limit: limit(negative),
                ..none()
            },
            "the charge per mile",
        ),
    ] {
        assert_eq!(
            vehicle(1, charges),
            format!("{figure} is from 0 to 999999999.99")
        );
    }
    for charges in [
        VehicleCharges {
            purchase_option: option(eur(1), usd(1)),
            ..none()
        },
        VehicleCharges {
            mileage_limit: limit(eur(1)),
            ..none()
        },
        VehicleCharges::none("EUR".parse().unwrap()),
    ] {
        assert!(vehicle(1, charges).contains("cannot be combined"));
    }
    let none = || FurnitureCharges::none(Currency::USD);
    for (deposit, charges, figure) in [
        (negative, none(), "the security deposit"),
        (
            usd(0),
            FurnitureCharges {
                delivery_fee: negative,
                ..none()
            },
            "the delivery fee",
        ),
        (
            usd(0),
            FurnitureCharges {
                pick_up_fee: negative,
                ..none()
            },
            "the pick-up fee",
        ),
    ] {
        let error = FurnitureLeaseDisclosure::of_lease(&lease, deposit, header(1), sofa(), charges);
        assert_eq!(
            error.unwrap_err().to_string(),
            format!("{figure} is from 0 to 999999999.99")
        );
    }
}
