//! The paths that are measured beside a limit, and what each has to reach.

use std::ops::Range;

use lessor_domain::ids::{CheckoutPubId, CustomerPubId, ProductPubId, ProductVariantPubId};
use serde_json::json;
use tokio_postgres::Client;

use crate::http::Request;
use crate::seed::{self, Kind, id, tracking_number};
use crate::spec::Mark;
use crate::stage::Stage;

/// How many different records are asked for.
const RECORDS: u32 = 200;

/// What a path is measured beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// A handler that answers the bytes.
    A,
    /// One that reads the row first.
    B(Row),
    /// One that carries out the SELECT of the rows first.
    S,
    /// The same, and prices them.
    Priced,
    /// One that carries out all statements of the request first.
    C(Write),
}

/// The row that is read by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Variant,
    VariantBySku,
    Product,
    Checkout,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    Create,
    Move,
    Fulfil,
    Track,
}

/// A path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) name: &'static str,
    pub(crate) limit: Limit,
    /// The least part of the limit.
    pub(crate) goal: f64,
    what: What,
    /// Whether no answer will do that is remembered.
    is_anew: bool,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Summary,
    Lowest,
    Variant,
    BySku,
    Product,
    Checkout,
    List(&'static str),
    Bulk,
    Write(Write),
}

const fn path(name: &'static str, limit: Limit, goal: f64, what: What) -> Path {
    Path {
        name,
        limit,
        goal,
        what,
        is_anew: false,
    }
}

/// The same path under this name, each answer made anew.
const fn anew(name: &'static str, path: Path) -> Path {
    Path {
        name,
        is_anew: true,
        ..path
    }
}

const VARIANT: Path = path("GET variant", Limit::B(Row::Variant), 0.75, What::Variant);
const BY_SKU: Path = path(
    "GET variant by sku",
    Limit::B(Row::VariantBySku),
    0.75,
    What::BySku,
);
const PRODUCT: Path = path("GET product", Limit::B(Row::Product), 0.75, What::Product);
const CHECKOUT: Path = path(
    "GET checkout",
    Limit::B(Row::Checkout),
    0.75,
    What::Checkout,
);
const PRODUCTS: Path = path("GET products", Limit::S, 0.60, What::List("/v1/products"));
const CHECKOUTS: Path = path("GET checkouts", Limit::S, 0.60, What::List("/v1/checkouts"));
const BY_LIFECYCLE: Path = path(
    "GET checkouts by lifecycle",
    Limit::S,
    0.60,
    What::List("/v1/checkouts?lifecycle=leaseActive"),
);
const CUSTOMERS: Path = path("GET customers", Limit::S, 0.60, What::List("/v1/customers"));
const BULK: Path = path("POST bulk/fetch of 100", Limit::Priced, 0.60, What::Bulk);

/// All of them.
pub(crate) const PATHS: [Path; 24] = [
    path("GET pricing-summary", Limit::A, 0.70, What::Summary),
    path("GET lowest", Limit::A, 0.70, What::Lowest),
    VARIANT,
    anew("GET variant, anew", VARIANT),
    BY_SKU,
    anew("GET variant by sku, anew", BY_SKU),
    PRODUCT,
    anew("GET product, anew", PRODUCT),
    CHECKOUT,
    anew("GET checkout, anew", CHECKOUT),
    PRODUCTS,
    anew("GET products, anew", PRODUCTS),
    CHECKOUTS,
    anew("GET checkouts, anew", CHECKOUTS),
    BY_LIFECYCLE,
    anew("GET checkouts by lifecycle, anew", BY_LIFECYCLE),
    CUSTOMERS,
    anew("GET customers, anew", CUSTOMERS),
    BULK,
    anew("POST bulk/fetch of 100, anew", BULK),
    path(
        "POST checkouts",
        Limit::C(Write::Create),
        0.50,
        What::Write(Write::Create),
    ),
    path(
        "PUT lifecycle",
        Limit::C(Write::Move),
        0.50,
        What::Write(Write::Move),
    ),
    path(
        "POST fulfill",
        Limit::C(Write::Fulfil),
        0.50,
        What::Write(Write::Fulfil),
    ),
    path(
        "POST tracking",
        Limit::C(Write::Track),
        0.50,
        What::Write(Write::Track),
    ),
];

impl Limit {
    /// The name of the limit in tables.
    pub(crate) const fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B(_) => "B",
            Self::S | Self::Priced => "S",
            Self::C(_) => "C",
        }
    }
}

/// The numbers of records that are there at this size, are active and can be leased.
pub(crate) fn of_catalog(number: u32, size: u32) -> u32 {
    10 * (1 + number.wrapping_mul(7_919) % (size / 10).max(1))
}

/// The public ids of the copies.
pub(crate) fn product(number: u32) -> String {
    ProductPubId::from_uuid(id(Kind::Product, number)).to_string()
}

/// As above.
pub(crate) fn variant(number: u32) -> String {
    ProductVariantPubId::from_uuid(id(Kind::Variant, number)).to_string()
}

/// As above.
pub(crate) fn checkout(number: u32) -> String {
    CheckoutPubId::from_uuid(id(Kind::Checkout, number)).to_string()
}

/// As above.
pub(crate) fn customer(number: u32) -> String {
    CustomerPubId::from_uuid(id(Kind::Customer, number)).to_string()
}

impl Path {
    /// The numbers that requests are made of, where they may be repeated.
    pub(crate) fn numbers(&self) -> Range<u32> {
        match self.what {
            // What is asked for again and again.
            What::Summary | What::Lowest => 0..20,
            What::Bulk => 0..10,
            What::List(_) => 0..1,
            _ => 0..RECORDS,
        }
    }

    /// Whether an answer may be one that is remembered, and has to be asked about.
    pub(crate) const fn may_be_remembered(&self) -> bool {
        let is_asked_about = !matches!(self.what, What::Summary | What::Lowest | What::Write(_));
        is_asked_about && !self.is_anew
    }

    /// What the writes of this path change, and how.
    pub(crate) const fn write(&self) -> Option<Write> {
        match self.what {
            What::Write(write) => Some(write),
            _ => None,
        }
    }

    /// The request of a number: of a record that there is at this size, or of a target.
    pub(crate) fn request(&self, stage: &Stage, number: u32, size: u32) -> Request {
        let request = self.any_request(stage, number, size);
        if self.is_anew {
            return request.anew();
        }
        request
    }

    /// The same, whatever it is answered from.
    fn any_request(&self, stage: &Stage, number: u32, size: u32) -> Request {
        let record = of_catalog(number, size);
        let of_variant =
            |what: &str| stage.get(&format!("/v1/product-variants/{}{what}", variant(record)));
        match self.what {
            What::Summary => of_variant("/pricing-summary"),
            What::Lowest => of_variant("/lowest"),
            What::Variant => of_variant(""),
            What::BySku => stage.get(&format!(
                "/v1/product-variants/by-sku/{}",
                seed::sku(record)
            )),
            What::Product => stage.get(&format!("/v1/products/{}", product(record))),
            What::Checkout => stage.get(&format!("/v1/checkouts/{}", checkout(record))),
            What::List(path) => stage.get(path),
            What::Bulk => {
                let first = number * 37;
                let ids: Vec<String> = (first..first + 100)
                    .map(|number| variant(1 + number % size))
                    .collect();
                stage.send(
                    "POST",
                    "/v1/product-variants/bulk/fetch",
                    &json!({ "ids": ids }),
                )
            }
            What::Write(write) => write.request(stage, number),
        }
    }
}

impl Write {
    /// The state that its targets are in; none where it makes something.
    pub(crate) const fn state(self) -> Option<&'static str> {
        match self {
            Self::Create => None,
            Self::Move => Some("leaseActive"),
            Self::Fulfil => Some("orderConfirmed"),
            Self::Track => Some("shipped"),
        }
    }

    pub(crate) fn request(self, stage: &Stage, number: u32) -> Request {
        let path = format!("/v1/checkouts/{}", checkout(number));
        match self {
            Self::Create => {
                let body = json!({
                    "sku": seed::sku(sold(number)), "selectedTermInMonths": 12,
                    "customer": {
                        "email": format!("{}@example.com", mailbox(number)),
                        "firstName": "Grace", "lastName": "Hopper"
                    }
                });
                stage.send("POST", "/v1/checkouts", &body)
            }
            Self::Move => stage.send("PUT", &path, &json!({ "lifecycle": "returnPending" })),
            Self::Fulfil => {
                let body = json!({ "trackingNumber": tracking_number(number) });
                stage.send("POST", &format!("{path}/fulfill"), &body)
            }
            Self::Track => {
                let body = json!({ "trackingNumber": tracking_number(other(number)) });
                stage.send("POST", &format!("{path}/tracking"), &body)
            }
        }
    }

    /// By what the target is known in statements.
    pub(crate) fn marks(self, number: u32) -> Vec<Mark> {
        if self == Self::Create {
            return vec![
                Mark::Id(id(Kind::Variant, sold(number))),
                Mark::Id(id(Kind::Product, sold(number))),
                Mark::Text(mailbox(number)),
            ];
        }
        let of_catalog = 1 + number % 1_000;
        vec![
            Mark::Id(id(Kind::Checkout, number)),
            Mark::Id(id(Kind::Customer, number)),
            Mark::Id(id(Kind::Variant, of_catalog)),
            Mark::Id(id(Kind::Product, of_catalog)),
            Mark::Text(tracking_number(number)),
            Mark::Text(tracking_number(other(number))),
        ]
    }

    /// How many of these targets are as the write leaves them: a limit that only seems to write is none.
    pub(crate) async fn done(self, sql: &Client, targets: Range<u32>) -> anyhow::Result<i64> {
        let ids = [targets.start, targets.end].map(|number| id(Kind::Checkout, number).to_string());
        let mailboxes = [targets.start, targets.end].map(mailbox);
        let (from, bounds) = match self {
            Self::Create => (
                "checkouts c join customers u on u.organization_id = c.organization_id and u.id = c.customer_id \
                 where u.email collate \"C\" >= $1 and u.email collate \"C\" < $2",
                mailboxes,
            ),
            Self::Move => (
                "checkouts where id::text >= $1 and id::text < $2 and lifecycle = 'returnPending'",
                ids,
            ),
            Self::Fulfil => (
                "checkouts where id::text >= $1 and id::text < $2 and lifecycle = 'shipped'",
                ids,
            ),
            Self::Track => (
                "checkouts where id::text >= $1 and id::text < $2 and version > \
                 (select min(version) from checkouts where lifecycle = 'shipped')",
                ids,
            ),
        };
        let row = sql
            .query_one(
                &format!("select count(*) from {from}"),
                &[&bounds[0], &bounds[1]],
            )
            .await?;
        Ok(row.get(0))
    }
}

/// The variant that is leased.
fn sold(number: u32) -> u32 {
    10 * (1 + number % 100)
}

/// A new customer's.
fn mailbox(number: u32) -> String {
    format!("new{number:08}")
}

/// The number of another shipment of the same checkout.
const fn other(number: u32) -> u32 {
    number + 5_000_000
}
