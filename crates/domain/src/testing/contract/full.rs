//! Records with every member set.

use chrono::TimeDelta;

use super::shop::Shop;
use crate::catalog::{Category, OptionDefinition, Product, ProductSource, ReviewStatus};
use crate::checkout::{
    Acceptance, Attention, AttentionReason, Billing, Checkout, Deposit, Hold, InsuranceStatus,
    LeaseDates, Lifecycle, MilestoneTimes, PaymentFailure, PaymentMethod, PurchaseItem, Recurring,
    Redirects, Renewals, Return, Shipment, Standing, State, Tracking, Waitlist, WaitlistReason,
};
use crate::organization::{NotServed, PickupLocation};
use crate::ports::{NewCategory, NewPickupLocation};
use crate::pricing::quote;
use crate::shipments::{Carrier, TrackingNumber, TrackingStatus};
use crate::testing::metadata;
use crate::time::add_months;

/// The value that the text stands for.
#[track_caller]
pub(super) fn parsed<T: std::str::FromStr>(text: &str) -> T {
    match text.parse() {
        Ok(value) => value,
        Err(_) => panic!("{text} is a good value"),
    }
}

/// A tracking number of UPS.
pub(super) fn tracking(number: &str) -> Tracking {
    match TrackingNumber::parse(number) {
        Ok(number) => Tracking {
            number,
            carrier: Carrier::Ups,
        },
        Err(error) => panic!("{number} is a tracking number: {error}"),
    }
}

pub(super) async fn category(shop: &Shop<'_>) -> Category {
    let new = NewCategory {
        id: shop.make.id(),
        organization_id: shop.organization.id,
        name: parsed("Everything"),
        created_at: shop.make.tick(),
    };
    shop.done("categories.insert: keeps a category", async |uow| {
        uow.categories().insert(&new).await
    })
    .await
}

pub(super) async fn pickup_location(shop: &Shop<'_>, name: &str) -> PickupLocation {
    let new = NewPickupLocation {
        organization_id: shop.organization.id,
        name: parsed(name),
        address: shop.make.address(),
    };
    shop.done("pickup_locations.insert: keeps a location", async |uow| {
        uow.pickup_locations().insert(&new).await
    })
    .await
}

pub(super) async fn product(shop: &Shop<'_>) -> Product {
    let reviewer = shop.anybody().await;
    let category = category(shop).await;
    let builder = shop.make.product(&shop.organization).with(|it| {
        it.name = parsed("Rennrad „Blitz“ 自転車");
        it.description = parsed("Line one\n\tline two, “quoted”, 100 %");
        it.options.push(OptionDefinition {
            id: "colour".to_owned(),
            name: parsed("Colour"),
            position: 1,
            values: vec![parsed("Red"), parsed("Blue / Green")],
        });
        it.discount = Some(parsed("12.3456"));
        it.source = ProductSource::Shopify;
        it.review.status = ReviewStatus::ChangesRequested;
        it.review.notes = Some(parsed("More\npictures"));
        it.review.reviewed_at = Some(it.created_at);
        it.review.reviewed_by = Some(reviewer.user_id);
        it.is_waitlisted = true;
        it.ignore_upstream_updates = true;
        it.external_id = Some(parsed("gid://shop/Product/1"));
        it.sku = Some(parsed("BLITZ"));
        it.main_image = Some(parsed("https://img.example.com/1.jpg"));
        it.category_id = Some(category.category_id);
        it.metadata = metadata(&[("größe", "„M“ 100 %"), ("a.b", "{}")]);
    });
    shop.product(builder).await
}

/// A checkout whose every member says something, whether or not one checkout could
/// have come so far.
pub(super) async fn checkout(shop: &Shop<'_>) -> Checkout {
    let customer = shop.anybody().await;
    let product = shop.anything().await;
    let variant = shop.variant(shop.make.variant(&product)).await;
    let term = shop.term(shop.make.lease_term(&shop.organization)).await;
    let pickup = pickup_location(shop, "Everywhere").await;
    let quote = match quote(variant.price, parsed("2.5"), &term.card) {
        Ok(quote) => quote,
        Err(error) => panic!("the fixtures can be priced: {error}"),
    };
    let address = shop.make.address();
    let builder = shop
        .make
        .checkout(&customer, &variant)
        .term(&term)
        .order("PO 1/2 — №3")
        .with(|it| {
            let at = it.created_at;
            let later = |days| at.checked_add_signed(TimeDelta::days(days)).unwrap_or(at);
            let day = at.date_naive();
            for item in &mut it.items {
                item.serial_number = Some(parsed("WBK-0001"));
            }
            it.quote = Some(quote);
            it.accepted = Some(Acceptance {
                at: later(1),
                version: "2026-11-23".to_owned(),
            });
            it.purchase_items = vec![
                PurchaseItem {
                    name: parsed("Helmet"),
                    amount: variant.price,
                    quantity: 1_000,
                    variant_id: Some(variant.id),
                },
                PurchaseItem {
                    name: parsed("Gift wrap"),
                    amount: variant.price,
                    quantity: 1,
                    variant_id: None,
                },
            ];
            it.redirects = Redirects {
                success: Some(parsed("https://shop.example.com/ok/{CHECKOUT_ID}?a=b")),
                cancel: Some(parsed("https://shop.example.com/cancel")),
                failure: Some(parsed("http://localhost:3000/failed")),
            };
            it.given_profile = Some(customer.profile.clone());
            it.billing.address = Some(address.clone());
            it.billing.locked = true;
            it.shipping.address = Some(address.clone());
            it.pickup_location_id = Some(pickup.id);
            it.state = State::restore(Lifecycle::ReturnPending, Some(Lifecycle::LeaseActive));
            it.insurance = InsuranceStatus::Denied;
            it.identity_requested_at = Some(later(0));
            it.deposit_method_id = Some("pm_1".to_owned());
            it.deposit_submitted_at = Some(later(1));
            it.deposit = Deposit::Captured {
                hold: Hold {
                    payment_intent_id: format!("pi_{}", it.id),
                    expires_at: later(7),
                    renewals: Renewals {
                        made: 1,
                        refused: 2,
                        refused_at: Some(later(6)),
                        is_barred: true,
                    },
                },
                invoice_id: "in_1".to_owned(),
                at: later(1),
            };
            it.capture_requested_at = Some(later(1));
            it.holds_stock = true;
            it.lease_document_id = Some("doc_1".to_owned());
            it.signed_at = Some(later(1));
            it.recurring = Recurring {
                billing: Billing::Active {
                    requested_at: later(2),
                    subscription_id: format!("sub_{}", it.id),
                    standing: Standing::PastDue,
                },
                method: Some(PaymentMethod {
                    id: "pm_1".to_owned(),
                    kind: "card".to_owned(),
                    brand: Some("visa".to_owned()),
                    last4: Some("4242".to_owned()),
                    exp_month: Some(12),
                    exp_year: Some(2030),
                }),
                paid_cycles: 11,
                failure_count: 2,
                dispute_id: Some("dp_1".to_owned()),
                settled_dispute_id: Some("dp_0".to_owned()),
                last_failure: Some(PaymentFailure {
                    message: "Your card was declined.".to_owned(),
                    code: "card_declined".to_owned(),
                    at: later(30),
                }),
            };
            it.shipment = Shipment {
                tracking: Some(tracking("1Z410E7W0392751591")),
                status: Some(TrackingStatus::Delivered),
                heard_at: Some(later(4)),
                shipped_at: Some(later(2)),
                delivered_at: Some(later(4)),
                signed_by: Some(parsed("A. Lovelace")),
            };
            it.return_ = Return {
                initiated_at: Some(later(300)),
                completed_at: Some(later(310)),
                cancelled_at: Some(later(200)),
                reason: Some(parsed("moving away")),
                notes: Some(parsed("Ring twice\nThen once")),
            };
            it.waitlist = Some(Waitlist {
                reason: WaitlistReason::Location,
                address: Some(address),
                reason_code: Some(NotServed::Zip),
            });
            it.lease = LeaseDates {
                start: Some(day),
                end: add_months(day, 12),
            };
            it.milestones = MilestoneTimes {
                confirmed_at: Some(later(1)),
                active_at: Some(later(4)),
            };
            it.cancel_reason = Some(parsed("changed my mind"));
            it.metadata = metadata(&[("channel", "web"), ("campaign", "№ 7")]);
            it.attention = vec![
                Attention {
                    reason: AttentionReason::PastDue,
                    since: later(31),
                    detail: Some("pastDue".to_owned()),
                },
                Attention {
                    reason: AttentionReason::Difference,
                    since: later(32),
                    detail: None,
                },
            ];
            it.acted_at = later(300);
            it.updated_at = later(310);
        });
    shop.checkout(builder).await
}
