//! What lists cost as the tables grow: each page, filter and order, made anew for each request.
//!
//! All sizes are there at once, and asked in turns: what else the machine does they meet alike.

use std::path::Path;

use serde::Serialize;

use crate::load::Source;
use crate::measure::{Asked, Meter};
use crate::options::Options;
use crate::paths::{checkout, customer, product, variant};
use crate::seed::Shop;
use crate::stage::Stage;

/// Connections that lists are asked over.
const CONNECTIONS: usize = 8;
/// Turns of each size.
const TURNS: u32 = 4;
/// A list is asked for so many seconds at the least, or the kernel's count is too coarse.
const AT_LEAST: f64 = 0.5;
/// Which part of the time it is warmed up.
const WARM_UP: f64 = 0.1;

/// What a list costs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cost {
    pub(crate) path: String,
    pub(crate) size: u32,
    /// Processor time of a request in microseconds, of the server and of the database; none where it was refused.
    pub(crate) server: Option<f64>,
    pub(crate) database: Option<f64>,
    pub(crate) p50: Option<f64>,
    pub(crate) refused: u64,
}

impl Cost {
    /// Both together.
    pub(crate) fn all(&self) -> Option<f64> {
        Some(self.server? + self.database?)
    }
}

/// A list, by what is said of it and its address.
struct List(String, String);

/// Every list of records that grow, with each of its parameters.
async fn lists(stage: &Stage, size: u32) -> anyhow::Result<Vec<List>> {
    // Deep: nine of ten are newer.
    let deep = size / 10;
    let middle = 10 * (size / 20);
    let shipped = middle - middle % 20 + 3;
    let organization = stage
        .ask("GET", "/v1/organization", &serde_json::Value::Null)
        .await?;
    let organization = organization["publicId"]
        .as_str()
        .or(organization["id"].as_str())
        .unwrap_or_default()
        .to_owned();
    let category = stage
        .ask("GET", "/v1/product-categories", &serde_json::Value::Null)
        .await?;
    let category = category
        .pointer("/0/id")
        .or(category.pointer("/results/0/id"));
    let category = category.map_or_else(String::new, |id| {
        id.as_str().map_or_else(|| id.to_string(), str::to_owned)
    });
    let mut lists = Vec::new();
    let mut list = |path: &str, query: String| {
        // Ids, numbers and times differ by size, or say nothing.
        let tells = |value: &str| !value.contains(|it: char| it.is_ascii_digit() || it == '_');
        let shown = query.split('&').map(|it| match it.split_once('=') {
            Some((name, value)) if !tells(value) => name.to_owned(),
            _ => it.to_owned(),
        });
        let shown: Vec<String> = shown.filter(|it| !it.is_empty()).collect();
        let name = if shown.is_empty() {
            path.to_owned()
        } else {
            format!("{path}?{}", shown.join("&"))
        };
        lists.push(List(name, format!("/v1/{path}?{query}")));
    };
    for query in ["", "limit=100"] {
        list("checkouts", query.to_owned());
    }
    let mark = checkout(deep);
    list("checkouts", format!("startingAfter={mark}"));
    for sort in [
        "createdAt",
        "updatedAt",
        "lifecycle",
        "externalOrderId",
        "leaseStartDate",
    ] {
        for order in ["asc", "desc"] {
            list("checkouts", format!("sortBy={sort}&sortOrder={order}"));
            list(
                "checkouts",
                format!("sortBy={sort}&sortOrder={order}&startingAfter={mark}"),
            );
        }
    }
    for filter in [
        format!("userId={}", customer(middle)),
        format!("id={}", checkout(middle)),
        format!("organizationId={organization}"),
        format!("organizationIds={organization}"),
        "lifecycle=leaseActive".to_owned(),
        "lifecycle=created".to_owned(),
        "lifecycle=expired".to_owned(),
        "lifecycles=created,shipped".to_owned(),
        format!("lifecycle=leaseActive&startingAfter={mark}"),
        "waitlistReason=inventory".to_owned(),
        "waitlistReason=location".to_owned(),
        "needsAttention=true".to_owned(),
        "needsAttention=false".to_owned(),
        format!("externalOrderId=o{middle}"),
        "createdAfter=2021-01-01T06:00:00Z".to_owned(),
        "createdBefore=2021-01-01T06:00:00Z".to_owned(),
        "updatedAfter=2023-01-02T00:00:00Z".to_owned(),
        "updatedBefore=2023-06-01T00:00:00Z".to_owned(),
        "metadata[line]=gravel".to_owned(),
    ] {
        list("checkouts", filter);
    }
    list("products", String::new());
    let mark = product(deep);
    list("products", format!("startingAfter={mark}"));
    for sort in ["createdAt", "updatedAt", "name"] {
        for order in ["asc", "desc"] {
            list("products", format!("sortBy={sort}&sortOrder={order}"));
            list(
                "products",
                format!("sortBy={sort}&sortOrder={order}&startingAfter={mark}"),
            );
        }
    }
    for filter in [
        format!("organizationId={organization}"),
        "productType=add-on".to_owned(),
        "productType=leasable".to_owned(),
        "status=active".to_owned(),
        "status=inactive".to_owned(),
        "status=archived".to_owned(),
        "isWaitlisted=true".to_owned(),
        "isWaitlisted=false".to_owned(),
        format!("externalId=x{middle}"),
        format!("productCategoryId={category}"),
        format!("sku=p{middle}"),
        format!("q=sku{middle:x}"),
        "q=oak".to_owned(),
        "createdAfter=2021-01-01T06:00:00Z".to_owned(),
        "createdBefore=2021-01-01T06:00:00Z".to_owned(),
        "updatedAfter=2023-01-02T00:00:00Z".to_owned(),
        "updatedBefore=2023-06-01T00:00:00Z".to_owned(),
    ] {
        list("products", filter);
    }
    list(
        &format!("products/{}/variants", product(middle)),
        String::new(),
    );
    let products: Vec<String> = (1..26).map(|number| product(number * 10)).collect();
    list(
        "product-variants/bulk",
        format!("productIds={}", products.join(",")),
    );
    list("customers", String::new());
    list("customers", format!("email=c{middle}@example.com"));
    list(
        &format!("checkouts/{}/tracking", checkout(shipped)),
        String::new(),
    );
    list("checkouts/summary", String::new());
    list(
        &format!("product-variants/{}", variant(middle)),
        String::new(),
    );
    Ok(lists)
}

/// What has grown to a size, and its lists.
struct Grown {
    stage: Stage,
    size: u32,
    lists: Vec<List>,
}

impl Grown {
    async fn to(size: u32, binary: &Path, options: &Options) -> anyhow::Result<Self> {
        let stage = Stage::open(binary.to_owned(), &options.data_dir).await?;
        let mut shop = Shop::open(&stage).await?;
        shop.grow(&stage.sql, size).await?;
        let lists = lists(&stage, shop.size).await?;
        Ok(Self { stage, size, lists })
    }
}

/// Measures every list at each of the sizes.
///
/// # Errors
/// There is no database, or a server ends.
pub(crate) async fn costs(
    binary: &Path,
    options: &Options,
    told: &dyn Fn(&str),
) -> anyhow::Result<Vec<Cost>> {
    let mut sizes = options.sizes.clone();
    sizes.sort_unstable();
    let mut all = Vec::new();
    for size in sizes {
        told(&format!("{size} of each, for lists"));
        all.push(Grown::to(size, binary, options).await?);
    }
    let mut costs = Vec::new();
    for place in 0..all.first().map_or(0, |it| it.lists.len()) {
        costs.extend(one(&all, place, options, told).await?);
    }
    Ok(costs)
}

/// Measures the list of this place at all sizes.
async fn one(
    all: &[Grown],
    place: usize,
    options: &Options,
    told: &dyn Fn(&str),
) -> anyhow::Result<Vec<Cost>> {
    let makes: Vec<_> = (all.iter())
        .map(|it| {
            let address = it.lists[place].1.trim_end_matches('?');
            move |_| it.stage.get(address).anew()
        })
        .collect();
    let mut asked = Vec::new();
    for (it, make) in all.iter().zip(&makes) {
        let meter = Meter {
            server: it.stage.server.counted(),
            database: it.stage.database_counted()?,
        };
        let source = Source {
            make,
            numbers: 0..1,
            repeats: true,
        };
        let address = &it.stage.server.address;
        asked.push(Asked::over(CONNECTIONS, address, meter, source).await?);
    }
    let seconds = (options.seconds / 2.0).max(AT_LEAST);
    let mut refusals = vec![None; all.len()];
    for turn in 0..=TURNS {
        for (it, refusal) in asked.iter_mut().zip(&mut refusals) {
            let went = match turn {
                0 => it.go(seconds * WARM_UP, true).await,
                _ => it.go(seconds / f64::from(TURNS), false).await,
            };
            if let Err(refused) = went {
                *refusal = Some(format!("{refused:#}"));
            }
        }
    }
    let mut costs = Vec::new();
    for ((it, asked), refusal) in all.iter().zip(asked).zip(refusals) {
        let List(name, address) = &it.lists[place];
        if let Some(refusal) = &refusal {
            told(&format!("{address} of {}: {refusal}", it.size));
        }
        // Where it was refused, what it costs to be answered is not known.
        let turn = asked.turn.filter(|_| refusal.is_none());
        let each = turn.as_ref().map(|turn| asked.spent.each(turn.answered));
        costs.push(Cost {
            // Ids differ by size.
            path: name
                .split('/')
                .map(|part| if part.contains('_') { "{id}" } else { part })
                .collect::<Vec<_>>()
                .join("/"),
            size: it.size,
            server: each.map(|(server, _)| server),
            database: each.map(|(_, database)| database),
            p50: turn.as_ref().map(|turn| turn.millis(50.0)),
            refused: turn.map_or(1, |turn| turn.refused),
        });
    }
    if let Some(first) = costs.first() {
        told(&first.path);
    }
    Ok(costs)
}
