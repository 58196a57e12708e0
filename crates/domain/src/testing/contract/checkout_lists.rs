//! Lists of checkouts: filters, orders, pages.

use super::full;
use super::shop::{Shop, after, first};
use crate::checkout::{Attention, AttentionReason, Checkout, Lifecycle, WaitlistReason};
use crate::ids::CheckoutPubId;
use crate::ports::{CheckoutFilter, CheckoutSort, Database, Page, SortOrder, Start};
use crate::testing::metadata;
use crate::time::Span;

pub(super) async fn all(database: &dyn Database) {
    let shop = Shop::open(database).await;
    lists_are_filtered(&shop).await;
    let shop = Shop::open(database).await;
    lists_are_sorted_and_paged(&shop).await;
}

async fn lists_are_filtered(shop: &Shop<'_>) {
    let created = shop
        .any_checkout(|checkout| {
            checkout
                .order("filter-1")
                .with(|it| it.metadata = metadata(&[("channel", "web")]))
        })
        .await;
    let waiting = shop
        .any_checkout(|checkout| checkout.at(Lifecycle::WaitlistedAfterProfile))
        .await;
    let away = shop
        .any_checkout(|checkout| checkout.at(Lifecycle::WaitlistedLocation))
        .await;
    let gone = shop.any_checkout(|checkout| checkout.cancelled("no")).await;
    let watched = shop
        .any_checkout(|checkout| {
            checkout.with(|it| {
                it.metadata = metadata(&[("channel", "web"), ("clerk", "7")]);
                it.attention = vec![Attention {
                    reason: AttentionReason::Difference,
                    since: it.created_at,
                    detail: None,
                }];
            })
        })
        .await;
    let live = shop
        .any_checkout_in(crate::access::Mode::Live, |it| it)
        .await;
    let none = CheckoutFilter::default;
    let cases: [(&str, CheckoutFilter, &[&Checkout]); 14] = [
        (
            "nothing",
            none(),
            &[&created, &waiting, &away, &gone, &watched],
        ),
        (
            "id",
            CheckoutFilter {
                id: Some(away.id),
                ..none()
            },
            &[&away],
        ),
        (
            "an id of the other mode",
            CheckoutFilter {
                id: Some(live.id),
                ..none()
            },
            &[],
        ),
        (
            "customer",
            CheckoutFilter {
                customer: Some(gone.customer_id),
                ..none()
            },
            &[&gone],
        ),
        (
            "states",
            CheckoutFilter {
                lifecycles: vec![Lifecycle::Cancelled, Lifecycle::Created],
                ..none()
            },
            &[&created, &gone, &watched],
        ),
        (
            "what they wait for",
            CheckoutFilter {
                waitlist_reason: Some(WaitlistReason::Location),
                ..none()
            },
            &[&away],
        ),
        (
            "order",
            CheckoutFilter {
                external_order_id: created.external_order_id.clone(),
                ..none()
            },
            &[&created],
        ),
        (
            "that somebody must look",
            CheckoutFilter {
                needs_attention: Some(true),
                ..none()
            },
            &[&watched],
        ),
        (
            "that nobody must",
            CheckoutFilter {
                needs_attention: Some(false),
                ..none()
            },
            &[&created, &waiting, &away, &gone],
        ),
        (
            "when they were made, the bounds left out",
            CheckoutFilter {
                created: Span::new(Some(waiting.created_at), Some(gone.created_at)),
                ..none()
            },
            &[&away],
        ),
        (
            "when they last changed",
            CheckoutFilter {
                updated: Span::new(Some(away.updated_at), None),
                ..none()
            },
            &[&gone, &watched],
        ),
        (
            "a key of metadata",
            CheckoutFilter {
                metadata: metadata(&[("channel", "web")]),
                ..none()
            },
            &[&created, &watched],
        ),
        (
            "several keys",
            CheckoutFilter {
                metadata: metadata(&[("channel", "web"), ("clerk", "7")]),
                ..none()
            },
            &[&watched],
        ),
        (
            "several at once",
            CheckoutFilter {
                customer: Some(gone.customer_id),
                lifecycles: vec![Lifecycle::Created],
                ..none()
            },
            &[],
        ),
    ];
    for (what, filter, expected) in cases {
        let (found, count) = shop
            .seen("checkouts.list: reads", async |view| {
                let store = view.checkouts();
                let (sort, order) = (CheckoutSort::CreatedAt, SortOrder::Ascending);
                let found = store
                    .list(shop.sandbox(), &filter, sort, order, first(100))
                    .await?;
                let count = store.count(shop.sandbox(), &filter, u64::MAX).await?;
                let one = store.count(shop.sandbox(), &filter, 1).await?;
                assert_eq!(one, count.min(1), "checkouts.count: up to so many");
                Ok((found, count))
            })
            .await;
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            expected,
            "checkouts.list: of the scope, filtered by {what}"
        );
        assert_eq!(
            usize::try_from(count),
            Ok(expected.len()),
            "checkouts.count: filtered by {what}"
        );
    }
    let by_state = shop
        .seen("checkouts.count_by_state: counts", async |view| {
            view.checkouts().count_by_state(shop.sandbox()).await
        })
        .await;
    let mut expected = Vec::new();
    for state in Lifecycle::ALL {
        let filter = CheckoutFilter {
            lifecycles: vec![*state],
            ..none()
        };
        let count = shop
            .seen("checkouts.count: counts", async |view| {
                view.checkouts()
                    .count(shop.sandbox(), &filter, u64::MAX)
                    .await
            })
            .await;
        expected.extend((count > 0).then_some((*state, count)));
    }
    assert_eq!(
        by_state, expected,
        "checkouts.count_by_state: as many as a list of the state shows"
    );
}

async fn lists_are_sorted_and_paged(shop: &Shop<'_>) {
    let make = &shop.make;
    let start = make.tick();
    let day = |days| {
        start
            .checked_add_signed(chrono::TimeDelta::days(days))
            .unwrap_or(start)
    };
    // (state, order id, days to the lease's start, days to the last change)
    let rows = [
        (Lifecycle::Shipped, Some("order-b"), None, 5),
        (Lifecycle::Created, None, Some(3), 4),
        (Lifecycle::LeaseActive, Some("order-c"), Some(1), 3),
        (Lifecycle::Created, Some("order-a"), None, 2),
        (Lifecycle::AddendumsPending, None, Some(2), 1),
    ];
    let mut kept = Vec::new();
    for (lifecycle, order, lease, change) in rows {
        let builder = shop
            .any_checkout(|checkout| {
                checkout.at(lifecycle).with(|it| {
                    it.external_order_id = order.map(full::parsed);
                    if let Some(days) = lease {
                        it.lease.start = Some(day(days).date_naive());
                    }
                    it.updated_at = day(change);
                })
            })
            .await;
        kept.push(builder.id);
    }
    let [shipped, created, active, created_too, addendums] = kept.as_slice() else {
        panic!("the suite made five checkouts");
    };
    let reversed = |ids: &[CheckoutPubId]| ids.iter().rev().copied().collect::<Vec<_>>();
    let by_state = [*addendums, *created, *created_too, *active, *shipped];
    let cases = [
        (CheckoutSort::CreatedAt, kept.clone(), reversed(&kept)),
        (CheckoutSort::UpdatedAt, reversed(&kept), kept.clone()),
        (
            CheckoutSort::Lifecycle,
            by_state.to_vec(),
            reversed(&by_state),
        ),
        (
            CheckoutSort::ExternalOrderId,
            vec![*created_too, *shipped, *active, *created, *addendums],
            vec![*active, *shipped, *created_too, *addendums, *created],
        ),
        (
            CheckoutSort::LeaseStartDate,
            vec![*active, *addendums, *created, *shipped, *created_too],
            vec![*created, *addendums, *active, *created_too, *shipped],
        ),
    ];
    let some = |lifecycles: &[Lifecycle]| CheckoutFilter {
        lifecycles: lifecycles.to_vec(),
        ..CheckoutFilter::default()
    };
    for (sort, ascending, descending) in cases {
        let but_those_that_run = |all: &[CheckoutPubId]| {
            let all = all.iter().copied();
            all.filter(|id| ![*active, *shipped].contains(id))
                .collect::<Vec<_>>()
        };
        for (order, expected) in [
            (SortOrder::Ascending, ascending),
            (SortOrder::Descending, descending),
        ] {
            let begun = [Lifecycle::AddendumsPending, Lifecycle::Created];
            let some_expected = but_those_that_run(&expected);
            is_sorted_and_paged(shop, &CheckoutFilter::default(), sort, order, &expected).await;
            is_sorted_and_paged(shop, &some(Lifecycle::ALL), sort, order, &expected).await;
            is_sorted_and_paged(shop, &some(&begun), sort, order, &some_expected).await;
        }
    }
}

async fn is_sorted_and_paged(
    shop: &Shop<'_>,
    filter: &CheckoutFilter,
    sort: CheckoutSort,
    order: SortOrder,
    expected: &[CheckoutPubId],
) {
    let list = async |page: Page| {
        let found = shop
            .seen("checkouts.list: reads", async |view| {
                view.checkouts()
                    .list(shop.sandbox(), filter, sort, order, page)
                    .await
            })
            .await;
        found.iter().map(|checkout| checkout.id).collect::<Vec<_>>()
    };
    assert_eq!(
        list(first(100)).await,
        expected,
        "checkouts.list: sorted by {sort:?}, {order:?}; ties by id in the same direction, what has no value last"
    );
    let mut offset = Vec::new();
    for start in [0, 2, 4] {
        let start = Start::Offset(start);
        offset.extend(list(Page { start, limit: 2 }).await);
    }
    assert_eq!(offset, expected, "checkouts.list: pages by offset");
    let mut keyed = list(first(2)).await;
    while let Some(last) = keyed.last() {
        let next = list(after(last.as_uuid(), 2)).await;
        if next.is_empty() || keyed.len() > 10 {
            break;
        }
        keyed.extend(next);
    }
    assert_eq!(
        keyed, expected,
        "checkouts.list: pages by key, sorted by {sort:?}, {order:?}"
    );
}
