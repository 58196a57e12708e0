//! What stands in the document.

use chrono::{Datelike, NaiveDate};
use lessor_domain::access::Mode;
use lessor_domain::address::{Address, Country};
use lessor_domain::agreement::{
    Agreement, CONSENT_TEXT, CONSENT_VERSION, Figures, Good, Handover, SignerKind,
};
use lessor_domain::checkout::FirstPaymentDue;
use lessor_domain::money::Money;
use lessor_domain::pricing::Quote;
use lessor_domain::pricing::disclosure::InsuranceDisclosure;
use lessor_domain::text::Line;
use lessor_domain::time::Timestamp;

use super::fonts::Weight;
use super::layout::Paper;
use super::markdown;

/// Words of one weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) weight: Weight,
}

/// How a column of a table stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    /// Of figures.
    Right,
}

/// A table, whose columns have shares of the width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) columns: Vec<(u16, Align)>,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) cells: Vec<String>,
    /// A sum.
    pub(super) weight: Weight,
}

/// What stands below each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    Title(String),
    /// Level 1 is the highest below the title.
    Heading {
        level: u16,
        text: String,
    },
    Paragraph(Vec<Span>),
    /// An item of a list.
    Item {
        label: String,
        /// From 1.
        depth: usize,
        spans: Vec<Span>,
    },
    Table(Table),
}

/// What a document says of itself.
pub(super) struct About {
    pub(super) title: String,
    pub(super) author: String,
    pub(super) id: String,
    pub(super) made_at: Timestamp,
    /// At the foot of every page.
    pub(super) foot: String,
}

pub(super) fn about(agreement: &Agreement) -> About {
    About {
        title: format!("Lease agreement {}", agreement.id),
        author: agreement.lessor.name.to_string(),
        id: agreement.id.to_string(),
        made_at: agreement.created_at,
        foot: match agreement.mode {
            Mode::Live => format!("Lease agreement {}", agreement.id),
            Mode::Sandbox => format!("TEST, binds nobody – Lease agreement {}", agreement.id),
        },
    }
}

/// The paper of the lessee's country.
pub(super) fn paper(agreement: &Agreement) -> Paper {
    let country = agreement.lessee.address.as_ref().map(|home| home.country);
    if country.is_some_and(|country| [Country::US, Country::CA].contains(&country)) {
        Paper::Letter
    } else {
        Paper::A4
    }
}

fn plain(text: impl Into<String>) -> Block {
    Block::Paragraph(vec![Span {
        text: text.into(),
        weight: Weight::Regular,
    }])
}

fn heading(text: &str) -> Block {
    Block::Heading {
        level: 1,
        text: text.to_owned(),
    }
}

fn row<const CELLS: usize>(cells: [String; CELLS]) -> Row {
    Row {
        cells: cells.into(),
        weight: Weight::Regular,
    }
}

fn sum<const CELLS: usize>(cells: [String; CELLS]) -> Row {
    Row {
        weight: Weight::Bold,
        ..row(cells)
    }
}

fn table<const CELLS: usize>(
    columns: [(u16, Align); CELLS],
    head: [&str; CELLS],
    rows: Vec<Row>,
) -> Block {
    Block::Table(Table {
        columns: columns.into(),
        head: head.into_iter().map(ToOwned::to_owned).collect(),
        rows,
    })
}

/// `USD 1,299.00`: the amount with its thousands apart.
fn money(amount: Money) -> String {
    format!("{} {}", amount.currency(), figure(amount))
}

/// The same without its currency, which the table names.
fn figure(amount: Money) -> String {
    let digits = amount.to_string();
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits.as_str()),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        let left = whole.len().saturating_sub(place);
        if place > 0 && left.is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if decimals.is_empty() {
        format!("{sign}{grouped}")
    } else {
        format!("{sign}{grouped}.{decimals}")
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// `20 November 2026`.
fn day(date: NaiveDate) -> String {
    let month = usize::try_from(date.month0()).unwrap_or_default();
    let month = MONTHS.get(month).copied().unwrap_or_default();
    format!("{} {month} {}", date.day(), date.year())
}

fn postal(address: &Address) -> String {
    let mut lines: Vec<String> = Vec::new();
    let name: Vec<String> = [&address.first_name, &address.last_name]
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    lines.push(name.join(" "));
    for line in [
        &address.company,
        &Some(address.address1.clone()),
        &address.address2,
    ] {
        lines.extend(line.iter().map(ToString::to_string));
    }
    let place = [
        Some(&address.city),
        address.state.as_ref(),
        Some(&address.zip),
    ];
    let place: Vec<String> = place
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    lines.push(place.join(" "));
    lines.push(address.country.to_string());
    lines.retain(|line| !line.is_empty());
    lines.join(", ")
}

/// All of it, in the order in which it is read.
pub(super) fn of(agreement: &Agreement) -> Vec<Block> {
    let mut blocks = vec![Block::Title("Lease agreement".to_owned())];
    if agreement.mode == Mode::Sandbox {
        blocks.push(Block::Paragraph(vec![Span {
            text:
                "This is a test. It was made in the sandbox, binds nobody, and nothing is charged."
                    .to_owned(),
            weight: Weight::Bold,
        }]));
    }
    let order = match &agreement.external_order_id {
        Some(order) => format!(", order {order}"),
        None => String::new(),
    };
    blocks.push(plain(format!(
        "Document {}, made on {} for checkout {}{order}.",
        agreement.id,
        day(agreement.created_at.date_naive()),
        agreement.checkout
    )));
    parties(agreement, &mut blocks);
    goods(agreement, &mut blocks);
    disclosure(agreement, &mut blocks);
    payment(&agreement.figures, &mut blocks);
    taken(agreement, &mut blocks);
    schedule(&agreement.figures, &mut blocks);
    rules(&agreement.figures, &mut blocks);
    own_terms(agreement, &mut blocks);
    signing(agreement, &mut blocks);
    blocks
}

fn parties(agreement: &Agreement, blocks: &mut Vec<Block>) {
    blocks.push(heading("Parties"));
    let lessor = &agreement.lessor;
    let mut reached: Vec<String> = Vec::new();
    if let Some(contact) = &lessor.contact {
        reached.extend(contact.email.iter().map(ToString::to_string));
        reached.extend(contact.phone.iter().map(ToString::to_string));
    }
    let lessee = &agreement.lessee;
    let mut home: Vec<String> = lessee
        .address
        .iter()
        .map(|home| {
            let home = Address {
                first_name: None,
                last_name: None,
                phone: None,
                ..home.clone()
            };
            postal(&home)
        })
        .collect();
    home.push(lessee.email.to_string());
    blocks.push(table(
        [(3, Align::Left), (5, Align::Left), (9, Align::Left)],
        ["", "Name", "Address"],
        vec![
            row([
                "Lessor (“we”)".to_owned(),
                lessor.name.to_string(),
                reached.join(", "),
            ]),
            row([
                "Lessee (“you”)".to_owned(),
                lessee.name.clone(),
                home.join(", "),
            ]),
        ],
    ));
}

fn described(good: &Good) -> String {
    let options: Vec<String> = good
        .options
        .iter()
        .map(|option| format!("{}: {}", option.name, option.value))
        .collect();
    let name = if good.name.as_str().contains(good.product.as_str()) {
        good.name.to_string()
    } else {
        format!("{}, {}", good.product, good.name)
    };
    if options.is_empty() {
        name
    } else {
        format!("{name} ({})", options.join(", "))
    }
}

fn one(agreement: &Agreement, blocks: &mut Vec<Block>) {
    let quote = &agreement.figures.quote;
    let rows = agreement
        .goods
        .iter()
        .map(|good| {
            row([
                described(good),
                good.sku.to_string(),
                good.quantity.to_string(),
                figure(quote.msrp),
            ])
        })
        .collect();
    let price = format!("List price, {}", quote.currency);
    blocks.push(table(
        [
            (9, Align::Left),
            (4, Align::Left),
            (2, Align::Right),
            (4, Align::Right),
        ],
        ["Goods", "Stock number", "Number", &price],
        rows,
    ));
    serial_numbers(agreement, blocks);
}

/// Several of one thing: what one costs, and what all do.
fn several(agreement: &Agreement, blocks: &mut Vec<Block>) {
    let Figures { quote, each, .. } = &agreement.figures;
    let rows = agreement
        .goods
        .iter()
        .map(|good| {
            let all = each.msrp.checked_mul(good.quantity);
            row([
                described(good),
                good.sku.to_string(),
                good.quantity.to_string(),
                figure(each.msrp),
                figure(all.unwrap_or(quote.msrp)),
            ])
        })
        .collect();
    let price = format!("List price, {}", quote.currency);
    blocks.push(table(
        [
            (8, Align::Left),
            (4, Align::Left),
            (2, Align::Right),
            (4, Align::Right),
            (5, Align::Right),
        ],
        ["Goods", "Stock number", "Number", "Each", &price],
        rows,
    ));
    blocks.push(plain(format!(
        "This is one lease of all {} of them: its amounts are those of one times {}. For one you pay {} a month, and \
         leave a deposit of {}.",
        agreement.figures.quantity,
        agreement.figures.quantity,
        money(each.total_monthly_payment),
        money(each.deposit),
    )));
    serial_numbers(agreement, blocks);
    if agreement
        .goods
        .iter()
        .all(|good| good.serial_numbers.is_empty())
    {
        blocks.push(plain(
            "Their serial numbers are noted when they are handed over, and shown on the page of your lease from then on.",
        ));
    }
}

/// Those that are known when the agreement is made.
fn serial_numbers(agreement: &Agreement, blocks: &mut Vec<Block>) {
    let known: Vec<&str> = agreement
        .goods
        .iter()
        .flat_map(|good| &good.serial_numbers)
        .map(Line::as_str)
        .collect();
    match known.as_slice() {
        [] => {}
        [one] => blocks.push(plain(format!("Serial number: {one}."))),
        several => blocks.push(plain(format!("Serial numbers: {}.", several.join(", ")))),
    }
}

fn goods(agreement: &Agreement, blocks: &mut Vec<Block>) {
    let quote = &agreement.figures.quote;
    blocks.push(heading("What you lease"));
    if agreement.figures.quantity.is_several() {
        several(agreement, blocks);
    } else {
        one(agreement, blocks);
    }
    blocks.push(plain(match &agreement.handover {
        Handover::Shipped(Some(address)) => format!("They are shipped to {}.", postal(address)),
        Handover::Shipped(None) => "They are shipped to your address.".to_owned(),
        Handover::PickedUp { name, address } => {
            format!("You pick them up at {name}, {}.", postal(address))
        }
    }));
    if agreement.purchases.is_empty() {
        return;
    }
    blocks.push(heading("What you buy"));
    blocks.push(plain(
        "These things are sold to you and are no part of the lease: you pay for them once, when you sign.",
    ));
    let amount = format!("Amount, {}", quote.currency);
    let mut rows: Vec<Row> = agreement
        .purchases
        .iter()
        .map(|item| {
            row([
                item.name.to_string(),
                item.quantity.to_string(),
                figure(item.amount),
                item.total().map(figure).unwrap_or_default(),
            ])
        })
        .collect();
    rows.push(sum([
        "Together".to_owned(),
        String::new(),
        String::new(),
        figure(agreement.figures.purchases),
    ]));
    blocks.push(table(
        [
            (9, Align::Left),
            (2, Align::Right),
            (4, Align::Right),
            (4, Align::Right),
        ],
        ["Thing", "Number", "Each", &amount],
        rows,
    ));
}

/// When the first payment is due, in a sentence.
const fn due(due: FirstPaymentDue) -> &'static str {
    match due {
        FirstPaymentDue::OnDelivery => "on the day on which the goods are delivered to you",
        FirstPaymentDue::OnShipment => "on the day on which the goods are handed over to you",
    }
}

/// The lines of model form A-3.
fn disclosure(agreement: &Agreement, blocks: &mut Vec<Block>) {
    let form = &agreement.figures.disclosure;
    let monthly = &form.monthly_payments;
    let payments = monthly.further_payments.saturating_add(1);
    let currency = agreement.figures.quote.currency;
    blocks.push(heading("Consumer lease disclosures"));
    blocks.push(table(
        [(6, Align::Left), (13, Align::Left), (4, Align::Right)],
        ["", "", &format!("Amount, {currency}")],
        vec![
            sum([
                "Amount due at lease signing or delivery".to_owned(),
                "Itemized below.".to_owned(),
                figure(form.amount_due.total),
            ]),
            sum([
                "Monthly payments".to_owned(),
                format!(
                    "Your first monthly payment of {} is due {}, followed by {} payments of {} due on the same day \
                     of each month. The total of your monthly payments is:",
                    money(monthly.payment),
                    due(agreement.first_payment_due),
                    monthly.further_payments,
                    money(monthly.payment)
                ),
                figure(monthly.total),
            ]),
            sum([
                "Other charges (not part of your monthly payment)".to_owned(),
                if form.other_charges.total.is_zero() {
                    "None.".to_owned()
                } else {
                    "Pick-up of the goods, and what is named below.".to_owned()
                },
                figure(form.other_charges.total),
            ]),
            sum([
                "Total of payments".to_owned(),
                format!("The amount you will have paid by the end of the lease, with all {payments} payments."),
                figure(form.total_of_payments),
            ]),
        ],
    ));
    let due = &form.amount_due;
    let mut rows = vec![
        row([
            "First monthly payment".to_owned(),
            figure(due.first_monthly_payment),
        ]),
        row([
            "Refundable security deposit".to_owned(),
            figure(due.refundable_security_deposit),
        ]),
        row([
            "Delivery and installation".to_owned(),
            figure(due.delivery_fee),
        ]),
    ];
    rows.extend(
        due.other
            .iter()
            .map(|line| row([line.name.clone(), figure(line.amount)])),
    );
    rows.push(sum(["Together".to_owned(), figure(due.total)]));
    blocks.push(table(
        [(19, Align::Left), (4, Align::Right)],
        [
            "Amount due at lease signing or delivery, itemized",
            &format!("Amount, {currency}"),
        ],
        rows,
    ));
}

/// The calculation of model form A-2, for goods.
fn payment(figures: &Figures, blocks: &mut Vec<Block>) {
    let quote = &figures.quote;
    blocks.push(heading("How your monthly payment is determined"));
    let months = quote.term.get();
    let lines = calculation(quote);
    let total = "Total monthly payment";
    let number = "Number of payments in your lease".to_owned();
    let amount = format!("Amount, {}", quote.currency);
    if !figures.quantity.is_several() {
        let mut rows: Vec<Row> = Vec::new();
        for (at, (what, all)) in lines.into_iter().enumerate() {
            if at == PAYMENTS_BEFORE {
                rows.push(row([number.clone(), months.to_string()]));
            }
            rows.push(row([what.to_owned(), figure(all)]));
        }
        rows.push(sum([total.to_owned(), figure(quote.total_monthly_payment)]));
        let widths = [(19, Align::Left), (4, Align::Right)];
        blocks.push(table(widths, ["", &amount], rows));
        return;
    }
    let each = &figures.each;
    let mut rows: Vec<Row> = Vec::new();
    for (at, ((what, all), (_, one))) in lines.into_iter().zip(calculation(each)).enumerate() {
        if at == PAYMENTS_BEFORE {
            rows.push(row([number.clone(), String::new(), months.to_string()]));
        }
        rows.push(row([what.to_owned(), figure(one), figure(all)]));
    }
    rows.push(sum([
        total.to_owned(),
        figure(each.total_monthly_payment),
        figure(quote.total_monthly_payment),
    ]));
    let widths = [(15, Align::Left), (4, Align::Right), (4, Align::Right)];
    blocks.push(table(widths, ["", "Each", &amount], rows));
}

/// How many lines of the calculation stand before the number of payments.
const PAYMENTS_BEFORE: usize = 6;

/// The lines that the total monthly payment is computed of.
fn calculation(quote: &Quote) -> [(&'static str, Money); 8] {
    let months = quote.term.get();
    let base = quote.monthly_payment.checked_mul(months.into());
    [
        ("List price of the goods", quote.msrp),
        (
            "Capitalized cost. The agreed value of the goods: the list price less your discount",
            quote.capitalized_cost,
        ),
        (
            "Residual value. The value of the goods at the end of the lease, used in calculating your payment",
            quote.residual_value,
        ),
        (
            "Depreciation. What the goods lose in value through normal use over the lease",
            quote.depreciation,
        ),
        (
            "Rent charge. What is charged in addition to the depreciation",
            quote.rent_charge,
        ),
        (
            "Total of base monthly payments. Depreciation and rent charge",
            base.unwrap_or(quote.total_of_payments),
        ),
        ("Base monthly payment", quote.monthly_payment),
        ("Insurance a month", quote.insurance),
    ]
}

fn taken(agreement: &Agreement, blocks: &mut Vec<Block>) {
    let figures = &agreement.figures;
    let monthly = &figures.disclosure.monthly_payments;
    blocks.push(heading("What is taken when"));
    let mut rows = vec![row([
        "When you sign".to_owned(),
        "Refundable security deposit".to_owned(),
        figure(figures.quote.deposit),
    ])];
    if !figures.purchases.is_zero() {
        rows.push(row([
            "When you sign".to_owned(),
            "What you buy".to_owned(),
            figure(figures.purchases),
        ]));
    }
    rows.push(sum([
        "When you sign".to_owned(),
        "Together".to_owned(),
        figure(figures.authorized_at_signing),
    ]));
    let handed_over = match agreement.first_payment_due {
        FirstPaymentDue::OnDelivery => "When the goods are delivered",
        FirstPaymentDue::OnShipment => "When the goods are handed over",
    };
    rows.push(row([
        handed_over.to_owned(),
        "First monthly payment".to_owned(),
        figure(monthly.payment),
    ]));
    rows.push(row([
        "On the same day of each month".to_owned(),
        format!(
            "{} further monthly payments, each",
            monthly.further_payments
        ),
        figure(monthly.payment),
    ]));
    blocks.push(table(
        [(8, Align::Left), (11, Align::Left), (4, Align::Right)],
        [
            "When",
            "What",
            &format!("Amount, {}", figures.quote.currency),
        ],
        rows,
    ));
}

fn schedule(figures: &Figures, blocks: &mut Vec<Block>) {
    let quote = &figures.quote;
    blocks.push(heading("Schedule of payments"));
    let rows = figures
        .schedule
        .iter()
        .map(|line| {
            row([
                line.month.to_string(),
                figure(quote.total_monthly_payment),
                figure(quote.insurance),
                figure(line.rent),
                figure(line.depreciation),
                figure(line.balance),
            ])
        })
        .collect();
    blocks.push(table(
        [
            (2, Align::Right),
            (4, Align::Right),
            (4, Align::Right),
            (4, Align::Right),
            (4, Align::Right),
            (5, Align::Right),
        ],
        [
            "Month",
            &format!("Payment, {}", quote.currency),
            "Insurance in it",
            "Rent in it",
            "Depreciation",
            "Balance afterwards",
        ],
        rows,
    ));
}

fn rules(figures: &Figures, blocks: &mut Vec<Block>) {
    let form = &figures.disclosure;
    blocks.push(heading("Deposit"));
    blocks.push(plain(format!(
        "The deposit of {} is authorized on your card before you sign, charged when you sign, and refunded when the \
         goods are back, less what you owe then.",
        money(figures.quote.deposit)
    )));
    blocks.push(heading("Insurance"));
    blocks.push(plain(match &form.nonsegregated.insurance {
        InsuranceDisclosure::ByLessor { premium, .. } => format!(
            "We provide the insurance of the goods, for a total premium of {}, which is part of your monthly payments.",
            money(*premium)
        ),
        InsuranceDisclosure::ByLessee { .. } => "You agree to insure the goods.".to_owned(),
        InsuranceDisclosure::None => "This lease neither requires insurance nor brings any.".to_owned(),
    }));
    blocks.push(heading("Early end"));
    blocks.push(plain(
        "You may have to pay a substantial charge if you end this lease early. The charge is the balance that the \
         schedule shows after the last month that has passed, and payments that were due until then, less what the \
         goods are worth when they are returned, and is never less than nothing. The balance falls by what each \
         payment exceeds the rent by, which is earned on the balance at a constant yield. The earlier you end the \
         lease, the greater this charge is likely to be.",
    ));
    blocks.push(heading("Purchase option"));
    blocks.push(plain(match form.purchase_option {
        Some(option) => format!(
            "You have an option to buy the goods at the end of the lease term for {}{}. Before the end you may buy \
             them for the balance that the schedule shows after the last month that has passed.",
            money(option.price),
            if option.fee.is_zero() {
                String::new()
            } else {
                format!(" and a fee of {}", money(option.fee))
            }
        ),
        None => "You have no option to buy the goods at the end of the lease term.".to_owned(),
    }));
    blocks.push(heading("Use, late payments, fees and taxes"));
    blocks.push(plain(
        "You may be charged for excessive wear based on our standards for normal use.",
    ));
    blocks.push(plain(match form.nonsegregated.late_payment_charge {
        Some(charge) => format!("The charge for a late payment is {}.", money(charge)),
        None => "There is no charge for a late payment.".to_owned(),
    }));
    blocks.push(plain(format!(
        "The total amount of official and license fees, registration, title and taxes that we charge over the lease \
         is {}.",
        money(form.nonsegregated.official_fees_and_taxes)
    )));
}

fn own_terms(agreement: &Agreement, blocks: &mut Vec<Block>) {
    let Some(terms) = &agreement.terms else {
        return;
    };
    blocks.push(heading(&format!("Terms of {}", agreement.lessor.name)));
    blocks.push(plain(format!(
        "Version {} of {}.",
        terms.version,
        day(terms.created_at.date_naive())
    )));
    blocks.append(&mut markdown::blocks_of(terms.text.as_str(), 1));
}

fn signing(agreement: &Agreement, blocks: &mut Vec<Block>) {
    blocks.push(heading("Electronic records and signature"));
    if agreement.signer == SignerKind::Http {
        blocks.push(plain(format!(
            "{} signs this document electronically with the signing service of {}, which tells who signed it and \
             when. When it was made, opened and signed is kept in a record that begins with this document’s SHA-256; \
             each entry is hashed with the one before it.",
            agreement.lessee.name, agreement.lessor.name
        )));
        return;
    }
    blocks.push(plain(format!(
        "“{CONSENT_TEXT}” (version {CONSENT_VERSION})"
    )));
    blocks.push(plain(format!(
        "{} signs this document electronically: by agreeing to the text above in a box of its own, and by typing the \
         name above. When it was made, opened and signed, and from where, is kept in a record that begins with this \
         document’s SHA-256; each entry is hashed with the one before it.",
        agreement.lessee.name
    )));
}

#[cfg(test)]
mod tests {
    use lessor_domain::agreement::{Lessee, Lessor};
    use lessor_domain::ids::{AgreementPubId, CheckoutPubId};
    use lessor_domain::money::Currency;
    use lessor_domain::pricing::disclosure::{
        DisclosureHeader, FurnitureCharges, FurnitureLeaseDisclosure,
    };
    use lessor_domain::pricing::{Rate, RateCard, RentMethod, quote};
    use lessor_domain::quantity::Quantity;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn amounts_have_their_thousands_apart() {
        for (minor, said) in [
            (0, "USD 0.00"),
            (99_999, "USD 999.99"),
            (100_000, "USD 1,000.00"),
            (-123_456_789, "USD -1,234,567.89"),
        ] {
            assert_eq!(money(Money::from_minor(minor, Currency::USD)), said);
        }
        let yen = Money::from_minor(1_234_567, "JPY".parse().unwrap());
        assert_eq!(money(yen), "JPY 1,234,567");
    }

    fn agreement(number: u32) -> Agreement {
        let quantity = Quantity::new(number).unwrap();
        let card = RateCard {
            term: "24".parse().unwrap(),
            rate: Rate::MoneyFactor("0.0025".parse().unwrap()),
            residual: "45".parse().unwrap(),
            deposit: "10".parse().unwrap(),
            insurance: "6".parse().unwrap(),
        };
        let price = Money::from_minor(129_900, Currency::USD);
        let each = quote(price, "12.5".parse().unwrap(), &card).unwrap();
        let quote = each.times(quantity).unwrap();
        let made = NaiveDate::from_ymd_opt(2026, 12, 1).unwrap();
        let header = DisclosureHeader {
            date: made,
            lessors: vec!["Forest Bikes".to_owned()],
            lessees: vec!["Grace Hopper".to_owned()],
            first_payment_due: made,
            due_day: 1,
        };
        let charges = FurnitureCharges::none(Currency::USD);
        let plan = quote.plan().unwrap();
        Agreement {
            id: AgreementPubId::from_uuid(Uuid::from_u128(1)),
            checkout: CheckoutPubId::from_uuid(Uuid::from_u128(2)),
            external_order_id: None,
            mode: Mode::Live,
            created_at: made.and_hms_opt(12, 0, 0).unwrap().and_utc(),
            lessor: Lessor {
                name: "Forest Bikes".parse().unwrap(),
                contact: None,
            },
            lessee: Lessee {
                name: "Grace Hopper".to_owned(),
                email: "grace@example.com".parse().unwrap(),
                address: None,
            },
            goods: vec![Good {
                product: "Road bike".parse().unwrap(),
                name: "Road bike".parse().unwrap(),
                sku: "BIKE".parse().unwrap(),
                options: Vec::new(),
                quantity: number,
                serial_numbers: Vec::new(),
            }],
            purchases: Vec::new(),
            handover: Handover::Shipped(None),
            figures: Figures {
                disclosure: FurnitureLeaseDisclosure::of_quote(&quote, header, Vec::new(), charges)
                    .unwrap(),
                insurance_premium: Money::zero(Currency::USD),
                schedule: plan.schedule(RentMethod::ConstantYield).unwrap(),
                purchases: Money::zero(Currency::USD),
                authorized_at_signing: quote.deposit,
                quantity,
                each,
                quote,
            },
            first_payment_due: FirstPaymentDue::OnDelivery,
            terms: None,
            signer: SignerKind::Builtin,
        }
    }

    fn rows_of(agreement: &Agreement, heading: &str) -> Vec<String> {
        let blocks = of(agreement);
        let from = blocks
            .iter()
            .position(|block| matches!(block, Block::Heading { text, .. } if text == heading))
            .unwrap();
        let found = blocks[from..].iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let table = found.unwrap();
        let lines = std::iter::once(table.head.clone());
        lines
            .chain(table.rows.iter().map(|row| row.cells.clone()))
            .map(|cells| cells.join(" | "))
            .collect()
    }

    #[test]
    fn one_is_told_without_what_several_need() {
        let one = agreement(1);
        assert_eq!(
            rows_of(&one, "What you lease"),
            [
                "Goods | Stock number | Number | List price, USD",
                "Road bike | BIKE | 1 | 1,299.00"
            ]
        );
        let paid = rows_of(&one, "How your monthly payment is determined");
        assert_eq!(paid.len(), 11, "{paid:#?}");
        assert_eq!(paid[7], "Number of payments in your lease | 24");
        assert_eq!(paid[8], "Base monthly payment | 27.31");
        assert_eq!(paid[10], "Total monthly payment | 33.81");
    }

    #[test]
    fn of_several_the_amounts_of_one_stand_beside_those_of_all() {
        let mut three = agreement(3);
        assert_eq!(
            rows_of(&three, "What you lease"),
            [
                "Goods | Stock number | Number | Each | List price, USD",
                "Road bike | BIKE | 3 | 1,299.00 | 3,897.00"
            ]
        );
        let paid = rows_of(&three, "How your monthly payment is determined");
        assert_eq!(paid[1], "List price of the goods | 1,299.00 | 3,897.00");
        assert_eq!(paid[7], "Number of payments in your lease |  | 24");
        assert_eq!(paid[8], "Base monthly payment | 27.31 | 81.93");
        assert_eq!(paid[10], "Total monthly payment | 33.81 | 101.43");
        let said = |agreement: &Agreement| format!("{:?}", of(agreement));
        assert!(said(&three).contains("one lease of all 3 of them"));
        assert!(!said(&three).contains("Serial numbers: "));
        for good in &mut three.goods {
            good.serial_numbers = vec!["SN-1".parse().unwrap(), "SN-2".parse().unwrap()];
        }
        assert!(said(&three).contains("Serial numbers: SN-1, SN-2."));
    }

    #[test]
    fn days_are_written_out() {
        let date = NaiveDate::from_ymd_opt(2026, 12, 1).unwrap();
        assert_eq!(day(date), "1 December 2026");
    }
}
