//! Agreements as PDF documents, read by programs of others.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::io::Write as _;
use std::process::{Command, Stdio};

use chrono::{DateTime, Datelike as _};
use lessor_adapters::agreement::PdfRenderer;
use lessor_domain::access::Mode;
use lessor_domain::address::Address;
use lessor_domain::agreement::{
    Agreement, AgreementTerms, Contact, Figures, Good, Handover, Lessee, Lessor, SignerKind,
};
use lessor_domain::catalog::OptionSelection;
use lessor_domain::checkout::{FirstPaymentDue, PurchaseItem};
use lessor_domain::ids::{AgreementPubId, CheckoutPubId};
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::AgreementRenderer as _;
use lessor_domain::pricing::disclosure::DisclosureHeader;
use lessor_domain::pricing::{Rate, RateCard, quote};
use lessor_domain::quantity::Quantity;
use uuid::Uuid;

/// An address that is complete.
fn address(country: &str, state: Option<&str>) -> Address {
    Address {
        first_name: "Grace".parse().ok(),
        last_name: "Hopper".parse().ok(),
        company: None,
        address1: "1 Market Street".parse().unwrap(),
        address2: "Floor 3".parse().ok(),
        city: "San Francisco".parse().unwrap(),
        state: state.and_then(|state| state.parse().ok()),
        zip: "94105".parse().unwrap(),
        country: country.parse().unwrap(),
        phone: None,
    }
}

/// A lease of one bicycle for so many months.
fn lease(months: &str, lessee: &str) -> Agreement {
    let at = DateTime::from_timestamp(1_795_000_000, 123_000_000).unwrap();
    let card = RateCard {
        term: months.parse().unwrap(),
        rate: Rate::MoneyFactor("0.0025".parse().unwrap()),
        residual: "45".parse().unwrap(),
        deposit: "10".parse().unwrap(),
        insurance: "6".parse().unwrap(),
    };
    let price = Money::parse("2499.00", Currency::USD).unwrap();
    let quote = quote(price, "5".parse().unwrap(), &card).unwrap();
    let goods = vec![Good {
        product: "Trail bike".parse().unwrap(),
        name: "Trail bike, forest, M".parse().unwrap(),
        sku: "TRAIL-FOREST-M".parse().unwrap(),
        options: vec![OptionSelection {
            name: "Color".parse().unwrap(),
            value: "Forest".parse().unwrap(),
        }],
        quantity: 1,
        serial_numbers: Vec::new(),
    }];
    let purchases = vec![PurchaseItem {
        name: "Helmet".parse().unwrap(),
        amount: Money::parse("89.50", Currency::USD).unwrap(),
        quantity: 2,
        variant_id: None,
    }];
    let header = DisclosureHeader {
        date: at.date_naive(),
        lessors: vec!["Forest Bikes".to_owned()],
        lessees: vec![lessee.to_owned()],
        first_payment_due: at.date_naive(),
        due_day: u8::try_from(at.day()).unwrap(),
    };
    let bought = Money::parse("179.00", Currency::USD).unwrap();
    Agreement {
        id: AgreementPubId::from_uuid(Uuid::from_u128(7)),
        checkout: CheckoutPubId::from_uuid(Uuid::from_u128(8)),
        external_order_id: "order-1001".parse().ok(),
        mode: Mode::Live,
        created_at: at,
        lessor: Lessor {
            name: "Forest Bikes".parse().unwrap(),
            contact: Some(Contact {
                email: "help@forest.example".parse().ok(),
                phone: "+14155550100".parse().ok(),
            }),
        },
        lessee: Lessee {
            name: lessee.to_owned(),
            email: "grace@example.com".parse().unwrap(),
            address: Some(address("US", Some("CA"))),
        },
        figures: Figures::new(quote, Quantity::ONE, header, &goods, bought).unwrap(),
        goods,
        purchases,
        handover: Handover::Shipped(Some(address("US", Some("CA")))),
        first_payment_due: FirstPaymentDue::OnDelivery,
        terms: None,
        signer: SignerKind::Builtin,
    }
}

fn terms(text: &str) -> Option<AgreementTerms> {
    Some(AgreementTerms {
        version: 3,
        text: text.parse().unwrap(),
        created_at: DateTime::from_timestamp(1_794_000_000, 0).unwrap(),
    })
}

fn pdf(agreement: &Agreement) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let pdf = runtime.block_on(PdfRenderer.render(agreement)).unwrap();
    assert!(pdf.starts_with(b"%PDF-"));
    // `LESSOR_KEEP_AGREEMENTS=folder` leaves the documents there, to be looked at.
    if let Some(folder) = std::env::var_os("LESSOR_KEEP_AGREEMENTS") {
        let name = format!("{}-{}.pdf", agreement.lessee.name, pdf.len());
        std::fs::write(std::path::Path::new(&folder).join(name), &pdf).unwrap();
    }
    pdf
}

/// What the program says of the document on its standard input; none where it is not installed, which is said.
fn told(program: &str, arguments: &[&str], pdf: &[u8]) -> Option<String> {
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        let required = std::env::var("LESSOR_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "{program} is not installed");
        // Not by a macro, whose output is captured when a test passes.
        let said = format!("SKIPPED what {program} says of agreements: it is not installed\n");
        std::io::stderr().write_all(said.as_bytes()).unwrap();
        return None;
    };
    let mut line = child.stdin.take().unwrap();
    let bytes = pdf.to_vec();
    let writer = std::thread::spawn(move || line.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program}: {said}");
    Some(said)
}

/// The text with one space wherever there is white space.
fn text(pdf: &[u8]) -> Option<String> {
    let said = told("pdftotext", &["-layout", "-", "-"], pdf)?;
    Some(said.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn the_same_content_is_the_same_bytes() {
    let mut agreement = lease("24", "Grace Hopper");
    agreement.terms = terms("# Use\n\nNo **racing**.\n\n1. Lock it.\n2. Oil it.");
    let first = pdf(&agreement);
    assert_eq!(pdf(&agreement.clone()), first);
    agreement.lessee.name = "Grace Hoppe".to_owned();
    assert_ne!(pdf(&agreement), first);
}

#[test]
fn it_is_sound() {
    for agreement in [lease("24", "Grace Hopper"), lease("60", "Ada")] {
        // Standard input cannot be looked at twice.
        let path = std::env::temp_dir().join(format!(
            "lessor-agreement-{}-{}.pdf",
            std::process::id(),
            agreement.lessee.name.len()
        ));
        std::fs::write(&path, pdf(&agreement)).unwrap();
        let said = told("qpdf", &["--check", path.to_str().unwrap()], &[]);
        std::fs::remove_file(&path).unwrap();
        let Some(said) = said else { return };
        assert!(
            said.contains("No syntax or stream encoding errors"),
            "{said}"
        );
    }
}

#[test]
fn every_figure_can_be_read() {
    let agreement = lease("24", "Grace Hopper");
    let figures = &agreement.figures;
    let quote = &figures.quote;
    let Some(text) = text(&pdf(&agreement)) else {
        return;
    };
    let grouped = |amount: Money| {
        let digits = amount.to_string();
        let (whole, decimals) = digits.split_once('.').unwrap();
        match whole.len() {
            0..=3 => digits.clone(),
            long => format!("{},{}.{decimals}", &whole[..long - 3], &whole[long - 3..]),
        }
    };
    let mut amounts = vec![
        quote.msrp,
        quote.capitalized_cost,
        quote.residual_value,
        quote.depreciation,
        quote.rent_charge,
        quote.monthly_payment,
        quote.insurance,
        quote.total_monthly_payment,
        quote.deposit,
        figures.disclosure.amount_due.total,
        figures.disclosure.total_of_payments,
        figures.disclosure.monthly_payments.total,
        figures.insurance_premium,
        figures.purchases,
        figures.authorized_at_signing,
        agreement.purchases[0].amount,
    ];
    for line in &figures.schedule {
        amounts.extend([line.rent, line.depreciation, line.balance]);
    }
    for amount in amounts {
        assert!(text.contains(&grouped(amount)), "{amount} is not in {text}");
    }
    for said in [
        "Forest Bikes",
        "help@forest.example",
        "Grace Hopper",
        "grace@example.com",
        "1 Market Street",
        "TRAIL-FOREST-M",
        "Color: Forest",
        "Helmet",
        "order-1001",
        &agreement.id.to_string(),
        &agreement.checkout.to_string(),
        "Amount due at lease signing or delivery, itemized",
        "Monthly payments",
        // It goes on in the next line of its column.
        "Other charges (not part of",
        "Total of payments",
        "Residual value",
        "Early end",
        "Purchase option",
        "in a box of its own",
    ] {
        assert!(text.contains(said), "{said:?} is not in {text}");
    }
    assert!(!text.contains("This is a test"), "{text}");
}

#[test]
fn a_test_binds_nobody_and_a_signer_is_named() {
    let mut agreement = lease("12", "Grace Hopper");
    agreement.mode = Mode::Sandbox;
    agreement.signer = SignerKind::Http;
    let Some(text) = text(&pdf(&agreement)) else {
        return;
    };
    assert!(text.contains("This is a test"), "{text}");
    assert!(text.contains("signing service of Forest Bikes"), "{text}");
    assert!(!text.contains("in a box of its own"), "{text}");
}

#[test]
fn long_terms_run_over_their_pages_and_lose_nothing() {
    let mut agreement = lease("24", "Grace Hopper");
    let clauses: String = (1..=160)
        .map(|number| {
            format!(
                "## Clause {number}\n\nThe lessee keeps the goods of clause{number} dry, locked and oiled, and tells \
                 the lessor without delay whatever happens to them, be it theft, fire, water or the passing of time.\n\n\
                 - first of {number}\n- second of {number}, **bold{number}**\n\n"
            )
        })
        .collect();
    agreement.terms = terms(&clauses);
    let bytes = pdf(&agreement);
    let Some(text) = text(&bytes) else { return };
    for number in 1..=160 {
        for said in [
            format!("Clause {number} "),
            format!("clause{number} dry"),
            format!("first of {number} "),
            format!("bold{number}"),
        ] {
            assert!(text.contains(&said), "{said:?} is lost");
        }
    }
    let pages = told("pdftotext", &["-", "-"], &bytes).unwrap();
    assert!(pages.matches('\u{c}').count() >= 10, "ten pages and more");
    let long = "x".repeat(3_000);
    agreement.terms = terms(&format!(
        "{long}\n\n# {}\n\n> quoted\n\n```\ncode\n```\n",
        "y ".repeat(400)
    ));
    pdf(&agreement);
}

/// Names of every script that European languages are written in, and one that the fonts do not have.
#[test]
fn names_are_written_as_they_are_or_by_numbers() {
    for name in [
        "Zoë Łukasiewicz-Ærøskøbing",
        "Þórður Guðmundsson",
        "Şükrü Çelik Ğ İ ı",
        "Nguyễn Thị Ánh Tuyết",
        "Žofie Ďuríková Ťǎ",
        "Ẹniọlá Ọ̀ṣun",
        "Юлия Щербакова",
        "Ελένη Παπαδοπούλου",
        "Ōtani Mārtiņš Ģirts",
    ] {
        let Some(text) = text(&pdf(&lease("12", name))) else {
            return;
        };
        assert!(text.contains(name), "{name}: {text}");
        assert!(!text.contains("[U+"), "{name}");
    }
    for (name, shown) in [
        ("李小龍", "[U+674E][U+5C0F][U+9F8D]"),
        ("Grace 🚲 Hopper", "Grace [U+1F6B2] Hopper"),
        ("أحمد", "[U+0623]"),
    ] {
        let Some(text) = text(&pdf(&lease("12", name))) else {
            return;
        };
        let joined: String = text.split_whitespace().collect();
        let shown: String = shown.split_whitespace().collect();
        assert!(joined.contains(&shown), "{name}: {text}");
    }
}
