//! The consumer lease forms, line by line.

use chrono::NaiveDate;
use lessor_domain::money::Currency;
use lessor_domain::percentage::Percentage;
use lessor_domain::pricing::disclosure::{
    DisclosureHeader, FurnitureCharges, FurnitureLeaseDisclosure, InsuranceDisclosure, LeasedItem,
    MileageLimit, NamedAmount, NonsegregatedTerms, PurchaseOption, VehicleCharges,
    VehicleLeaseDisclosure,
};
use lessor_domain::pricing::{
    LeaseQuote, LeaseTerms, PaymentTax, Rate, RateCard, RentMethod, quote,
};

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
            nonsegregated: NonsegregatedTerms {
                further_official_fees_and_taxes: usd(2_000),
                insurance: InsuranceDisclosure::ByLessor {
                    coverage: vec![named("Damage and theft", 129_900)],
                    premium: usd(24 * 650),
                },
                late_payment_charge: Some(usd(1_500)),
                early_termination: Some(RentMethod::ConstantYield),
                early_purchase: Some(RentMethod::RuleOf78),
            },
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

    let second = &form.nonsegregated;
    assert_eq!(second.official_fees_and_taxes, usd(2_000));
    assert_eq!(
        second.insurance,
        InsuranceDisclosure::ByLessor {
            coverage: vec![named("Damage and theft", 129_900)],
            premium: quote.insurance.checked_mul(24).unwrap(),
        }
    );
    assert_eq!(second.late_payment_charge, Some(usd(1_500)));
    assert_eq!(second.early_termination, Some(RentMethod::ConstantYield));
    assert_eq!(second.early_purchase, Some(RentMethod::RuleOf78));
}

fn taxed_lease() -> LeaseQuote {
    LeaseTerms::new(
        usd(2_000_000),
        usd(1_000_000),
        "36".parse().unwrap(),
        Rate::AnnualRate("6".parse().unwrap()),
    )
    .tax(PaymentTax::Amount(usd(1_225)))
    .quote()
    .unwrap()
}

/// What the payment contains beside base payment and tax is part of every sum of payments.
#[test]
fn a_vehicle_lease_with_a_service_contract() {
    let lease = taxed_lease();
    let with = |other_monthly| {
        VehicleLeaseDisclosure::new(
            &lease,
            header(1),
            VehicleCharges {
                other_monthly,
                ..VehicleCharges::none(Currency::USD)
            },
        )
        .unwrap()
    };
    let services = vec![
        named("Service contract", 2_000),
        named("Roadside help", 500),
    ];
    let (plain, form) = (with(Vec::new()), with(services.clone()));
    assert_eq!(form.determination.other, services);
    assert_eq!(form.determination.base_payment, lease.base_payment);
    assert_eq!(form.determination.tax, usd(1_225));
    let payment = usd(lease.monthly_payment.minor() + 2_500);
    assert_eq!(form.determination.total_monthly_payment, payment);
    assert_eq!(form.monthly_payments.payment, payment);
    assert_eq!(form.amount_due.first_monthly_payment, payment);
    for (more, less) in [
        (form.monthly_payments.total, plain.monthly_payments.total),
        (form.total_of_payments, plain.total_of_payments),
    ] {
        assert_eq!(more.checked_sub(less), Ok(usd(36 * 2_500)));
    }
}

#[test]
fn official_fees_and_taxes_are_counted_wherever_they_are_paid() {
    let lease = taxed_lease();
    let terms = NonsegregatedTerms {
        further_official_fees_and_taxes: usd(700),
        insurance: InsuranceDisclosure::ByLessee {
            coverage: vec![named("Liability", 10_000_000)],
        },
        ..NonsegregatedTerms::none(Currency::USD)
    };
    let vehicle = VehicleLeaseDisclosure::new(
        &lease,
        header(1),
        VehicleCharges {
            title_fees: usd(7_500),
            registration_fees: usd(6_000),
            nonsegregated: terms.clone(),
            ..VehicleCharges::none(Currency::USD)
        },
    )
    .unwrap();
    let furniture = FurnitureLeaseDisclosure::of_lease(
        &lease,
        usd(0),
        header(1),
        sofa(),
        FurnitureCharges {
            nonsegregated: terms.clone(),
            ..FurnitureCharges::none(Currency::USD)
        },
    )
    .unwrap();
    let taxes = 36 * 1_225 + 700;
    assert_eq!(
        vehicle.nonsegregated.official_fees_and_taxes,
        usd(7_500 + 6_000 + taxes)
    );
    assert_eq!(furniture.nonsegregated.official_fees_and_taxes, usd(taxes));
    for second in [vehicle.nonsegregated, furniture.nonsegregated] {
        assert_eq!(second.insurance, terms.insurance);
        assert_eq!(
            (
                second.late_payment_charge,
                second.early_termination,
                second.early_purchase
            ),
            (None, None, None)
        );
    }
}

#[test]
fn the_second_part_refuses_what_is_out_of_range() {
    let lease = taxed_lease();
    let refused = |nonsegregated| {
        let charges = VehicleCharges {
            nonsegregated,
            ..VehicleCharges::none(Currency::USD)
        };
        VehicleLeaseDisclosure::new(&lease, header(1), charges)
            .unwrap_err()
            .to_string()
    };
    let none = || NonsegregatedTerms::none(Currency::USD);
    let by_lessor = |coverage, premium| InsuranceDisclosure::ByLessor { coverage, premium };
    for (terms, figure) in [
        (
            NonsegregatedTerms {
                further_official_fees_and_taxes: usd(-1),
                ..none()
            },
            "the sum of further official fees and taxes",
        ),
        (
            NonsegregatedTerms {
                insurance: by_lessor(Vec::new(), usd(-1)),
                ..none()
            },
            "the insurance premium",
        ),
        (
            NonsegregatedTerms {
                insurance: by_lessor(vec![named("x", -1)], usd(0)),
                ..none()
            },
            "the amount of a named line",
        ),
        (
            NonsegregatedTerms {
                insurance: InsuranceDisclosure::ByLessee {
                    coverage: vec![named("x", -1)],
                },
                ..none()
            },
            "the amount of a named line",
        ),
        (
            NonsegregatedTerms {
                late_payment_charge: Some(usd(-1)),
                ..none()
            },
            "the charge for a late payment",
        ),
    ] {
        assert_eq!(
            refused(terms),
            format!("{figure} is from 0 to 999999999.99")
        );
    }
    for terms in [
        NonsegregatedTerms::none("EUR".parse().unwrap()),
        NonsegregatedTerms {
            insurance: by_lessor(Vec::new(), eur(1)),
            ..none()
        },
        NonsegregatedTerms {
            late_payment_charge: Some(eur(1)),
            ..none()
        },
    ] {
        assert!(refused(terms).contains("cannot be combined"));
    }
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

/// A form is not filled in with figures that contradict each other.
#[test]
fn a_changed_quote_is_not_disclosed() {
    let message = "the rent charge contradicts the other figures, which give ";
    let mut lease = taxed_lease();
    lease.rent_charge = usd(0);
    let charges = VehicleCharges::none(Currency::USD);
    let error = VehicleLeaseDisclosure::new(&lease, header(1), charges).unwrap_err();
    assert!(error.to_string().starts_with(message), "{error}");

    let charges = || FurnitureCharges::none(Currency::USD);
    let error = FurnitureLeaseDisclosure::of_lease(&lease, usd(0), header(1), sofa(), charges())
        .unwrap_err();
    assert!(error.to_string().starts_with(message), "{error}");

    let card = RateCard::new(
        "24".parse().unwrap(),
        Rate::MoneyFactor("0.0025".parse().unwrap()),
        Percentage::ZERO,
    );
    let mut quote = quote(usd(129_900), Percentage::ZERO, &card).unwrap();
    quote.rent_charge = usd(0);
    let error =
        FurnitureLeaseDisclosure::of_quote(&quote, header(1), sofa(), charges()).unwrap_err();
    assert!(error.to_string().starts_with(message), "{error}");
}
