//! The statements about who leases, and how far that is.

use super::estate::{MANY, PAGE, entry, tracking_event, transition};
use super::{Inquiry, late};
use crate::access::Mode;
use crate::agreement::{AgreementEventKind, Happening, Signer};
use crate::checkout::{Lifecycle, WayOut};
use crate::ids::CheckoutPubId;
use crate::ledger::{HoldState, Thing};
use crate::ports::{
    CheckoutFilter, CheckoutSort, CustomerFilter, IdGenerator, PageToken, SortOrder,
};
use crate::testing::altered;
use crate::testing::contract::agreements::{agreement, signed_by_ada};
use crate::testing::contract::full::parsed;
use crate::testing::contract::shop::first;

pub(super) async fn ask(inquiry: &mut Inquiry<'_, '_>) {
    customers(inquiry).await;
    customers_that_change(inquiry).await;
    checkouts(inquiry).await;
    checkouts_that_are_listed(inquiry).await;
    checkouts_that_change(inquiry).await;
    checkouts_in_line(inquiry).await;
    checkouts_that_time_moves(inquiry).await;
    agreements(inquiry).await;
    shipments(inquiry).await;
    ledger(inquiry).await;
}

async fn customers(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let scope = estate.shop.sandbox();
    let customer = &estate.customer;
    let new = || estate.shop.make.customer(&estate.shop.organization);
    let again = new().with(|it| it.email = customer.email.clone());
    for new in [new(), again] {
        let new = new.new_record();
        inquiry
            .keeps("customers.insert", async |uow| {
                uow.customers().insert(&new).await
            })
            .await;
    }
    inquiry
        .sees("customers.get", async |uow| {
            uow.customers().get(customer.id).await
        })
        .await;
    inquiry
        .sees("customers.get_many", async |uow| {
            uow.customers().get_many(&[customer.user_id]).await
        })
        .await;
    inquiry
        .sees("customers.find_by_email", async |uow| {
            uow.customers().find_by_email(scope, &customer.email).await
        })
        .await;
    let session = format!("vs_{}", customer.id.as_uuid().simple());
    inquiry
        .sees("customers.find_by_verification_session", async |uow| {
            let customers = uow.customers();
            customers
                .find_by_verification_session(Mode::Sandbox, &session)
                .await
        })
        .await;
    let filter = CustomerFilter::default();
    inquiry
        .sees("customers.list", async |uow| {
            uow.customers().list(scope, &filter, first(9)).await
        })
        .await;
    inquiry
        .sees("customers.count", async |uow| {
            uow.customers().count(scope, &filter, u64::MAX).await
        })
        .await;
}

async fn customers_that_change(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.shop.organization.id;
    inquiry
        .sees("customers.lock", async |uow| {
            uow.customers().lock(estate.customer.id).await
        })
        .await;
    for owner in [None, inquiry.thief()] {
        let mut changed = estate.customer.clone();
        changed.profile.first_name = Some(parsed("Changed"));
        changed.organization_id = owner.unwrap_or(id);
        inquiry
            .changes("customers.update", async |uow| {
                uow.customers().update(&mut changed).await
            })
            .await;
    }
}

async fn checkouts(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let scope = estate.shop.sandbox();
    let full = &estate.full;
    // In the owner's name, and of the owner's customer and variant in one's own.
    for owner in [None, inquiry.thief()] {
        let make = &estate.shop.make;
        let new = make.checkout(&estate.customer, &estate.variant).with(|it| {
            it.organization_id = owner.unwrap_or(it.organization_id);
        });
        let new = new.build();
        inquiry
            .keeps("checkouts.insert", async |uow| {
                uow.checkouts().insert(&new, &[]).await
            })
            .await;
    }
    inquiry
        .sees("checkouts.get", async |uow| {
            uow.checkouts().get(full.id).await
        })
        .await;
    inquiry
        .sees("checkouts.get_with_surroundings", async |uow| {
            let organization = full.organization_id;
            let found = uow.checkouts();
            let found = found.get_with_surroundings(organization, full.id).await?;
            // The organization itself is nobody's.
            Ok(found.map(|(checkout, with)| (checkout, with.terms, with.decided)))
        })
        .await;
    inquiry
        .sees("checkouts.surroundings", async |uow| {
            let (organization, variant) = (full.organization_id, full.variant_id);
            let found = uow
                .checkouts()
                .surroundings(organization, &[full.id], &[variant])
                .await?;
            // The organization itself is nobody's.
            let told: [Vec<String>; 3] = [
                found.terms.iter().map(|it| format!("{it:?}")).collect(),
                found.variants.iter().map(|it| format!("{it:?}")).collect(),
                found.decided.iter().map(|it| format!("{it:?}")).collect(),
            ];
            Ok(told.concat())
        })
        .await;
    let nonce = full.page_nonce;
    for token in [estate.page(), PageToken::Proven { nonce }] {
        inquiry
            .sees("checkouts.find_by_page_token", async |uow| {
                uow.checkouts().find_by_page_token(&token).await
            })
            .await;
    }
    inquiry
        .sees("checkouts.last_way_out", async |uow| {
            uow.checkouts().last_way_out(full.id).await
        })
        .await;
    let term = full.term.map(|term| term.id);
    inquiry
        .sees("checkouts.find_open", async |uow| {
            let checkouts = uow.checkouts();
            checkouts
                .find_open(scope, full.customer_id, full.variant_id, term)
                .await
        })
        .await;
    let order = full.external_order_id.clone();
    let order = order.unwrap_or_else(|| parsed("no order"));
    inquiry
        .sees("checkouts.find_by_external_order", async |uow| {
            uow.checkouts().find_by_external_order(scope, &order).await
        })
        .await;
    inquiry
        .sees("checkouts.find_by_tracking", async |uow| {
            let found = uow.checkouts().find_by_tracking(estate.tracking()).await?;
            Ok(estate.own(found))
        })
        .await;
    inquiry
        .sees("checkouts.of_customer", async |uow| {
            let checkouts = uow.checkouts();
            checkouts
                .of_customer(Mode::Sandbox, full.customer_id, Lifecycle::ALL)
                .await
        })
        .await;
}

async fn checkouts_that_are_listed(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let scope = estate.shop.sandbox();
    let filter = CheckoutFilter::default();
    let (sort, order) = (CheckoutSort::CreatedAt, SortOrder::Ascending);
    inquiry
        .sees("checkouts.list", async |uow| {
            let checkouts = uow.checkouts();
            checkouts.list(scope, &filter, sort, order, first(9)).await
        })
        .await;
    inquiry
        .sees("checkouts.count", async |uow| {
            uow.checkouts().count(scope, &filter, u64::MAX).await
        })
        .await;
    inquiry
        .sees("checkouts.count_by_state", async |uow| {
            uow.checkouts().count_by_state(scope).await
        })
        .await;
    inquiry
        .sees("checkouts.history", async |uow| {
            uow.checkouts().history(estate.full.id).await
        })
        .await;
}

async fn checkouts_that_change(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.full.id;
    inquiry
        .sees("checkouts.lock", async |uow| uow.checkouts().lock(id).await)
        .await;
    for owner in [None, inquiry.thief()] {
        let mut changed = altered(&estate.full, |it| {
            it.cancel_reason = Some(parsed("changed"));
            it.organization_id = owner.unwrap_or(it.organization_id);
        });
        inquiry
            .changes("checkouts.update", async |uow| {
                uow.checkouts().update(&mut changed).await
            })
            .await;
    }
    let others = [[0; 32]];
    assert_ne!(others, [PAGE], "the suite's token is another one");
    inquiry
        .changes("checkouts.set_page_tokens", async |uow| {
            uow.checkouts().set_page_tokens(id, &others).await
        })
        .await;
    let at = estate.shop.make.tick();
    inquiry
        .changes("checkouts.end_page", async |uow| {
            uow.checkouts().end_page(id, at).await
        })
        .await;
    inquiry
        .changes("checkouts.note_way_out", async |uow| {
            uow.checkouts().note_way_out(id, WayOut::Failure).await
        })
        .await;
    let transitions = [transition(estate.shop.make.tick())];
    inquiry
        .changes("checkouts.record", async |uow| {
            uow.checkouts().record(id, &transitions).await
        })
        .await;
}

async fn checkouts_in_line(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.shop.organization.id;
    inquiry
        .sees("checkouts.lock_waiting_for_stock", async |uow| {
            let checkouts = uow.checkouts();
            checkouts
                .lock_waiting_for_stock(estate.variant.id, Mode::Sandbox, MANY)
                .await
        })
        .await;
    inquiry
        .sees("checkouts.first_waiting_for_stock", async |uow| {
            let checkouts = uow.checkouts();
            checkouts
                .first_waiting_for_stock(estate.variant.id, Mode::Sandbox)
                .await
        })
        .await;
    inquiry
        .sees("checkouts.place_in_line", async |uow| {
            uow.checkouts().place_in_line(estate.waiting()).await
        })
        .await;
    inquiry
        .sees("checkouts.waiting_for_location", async |uow| {
            uow.checkouts().waiting_for_location(id, None, MANY).await
        })
        .await;
    inquiry
        .sees("checkouts.billed", async |uow| {
            let found = uow.checkouts().billed(Mode::Sandbox, None, MANY).await?;
            Ok(estate.own(found))
        })
        .await;
    inquiry
        .changes("checkouts.under_way", async |uow| {
            let found = uow.checkouts().under_way(MANY).await?;
            Ok(estate.own(found))
        })
        .await;
}

async fn checkouts_that_time_moves(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let late = late(inquiry);
    let own = |found: Vec<CheckoutPubId>| estate.own(found);
    inquiry
        .sees("checkouts.untouched_since", async |uow| {
            let found = uow.checkouts().untouched_since(late, MANY).await;
            found.map(own)
        })
        .await;
    inquiry
        .sees("checkouts.lapsing_before", async |uow| {
            let found = uow.checkouts().lapsing_before(late, None, MANY).await;
            found.map(own)
        })
        .await;
    inquiry
        .sees("checkouts.leases_ended_before", async |uow| {
            let day = late.date_naive();
            let found = uow.checkouts().leases_ended_before(day, MANY).await;
            found.map(own)
        })
        .await;
    inquiry
        .sees("checkouts.unbilled_since", async |uow| {
            let found = uow.checkouts().unbilled_since(late, MANY).await;
            found.map(own)
        })
        .await;
    inquiry
        .sees("checkouts.silent_since", async |uow| {
            let found = uow.checkouts().silent_since(late, MANY).await;
            found.map(own)
        })
        .await;
}

async fn agreements(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let owner = estate.shop.organization.id;
    let known = &estate.agreement;
    let id = known.id;
    // In the owner's name, and for the owner's checkout in one's own.
    for organization in [None, inquiry.thief()] {
        let mut stray = agreement(&estate.shop, &estate.full);
        stray.record.organization_id = organization.unwrap_or(owner);
        inquiry
            .keeps("agreements.insert", async |uow| {
                uow.agreements().insert(&stray).await
            })
            .await;
    }
    inquiry
        .sees("agreements.get", async |uow| uow.agreements().get(id).await)
        .await;
    inquiry
        .sees("agreements.pdf", async |uow| uow.agreements().pdf(id).await)
        .await;
    inquiry
        .sees("agreements.of", async |uow| {
            uow.agreements().of(estate.full.id).await
        })
        .await;
    inquiry
        .sees("agreements.with_hash", async |uow| {
            uow.agreements().with_hash(known.sha256).await
        })
        .await;
    inquiry
        .sees("agreements.events", async |uow| {
            uow.agreements().events(id).await
        })
        .await;
    let at = estate.shop.make.tick();
    let viewed = Happening::new(AgreementEventKind::Viewed, at, None, None);
    inquiry
        .keeps("agreements.append", async |uow| {
            uow.agreements().append(id, &viewed).await
        })
        .await;
    inquiry
        .keeps("agreements.sign", async |uow| {
            uow.agreements().sign(id, &signed_by_ada(at)).await
        })
        .await;
    inquiry
        .sees("agreements.signer", async |uow| {
            uow.agreements().signer(owner, Mode::Sandbox).await
        })
        .await;
    for mode in Mode::ALL {
        inquiry
            .keeps("agreements.set_signer", async |uow| {
                let signer = Signer::Builtin;
                uow.agreements().set_signer(owner, mode, &signer, at).await
            })
            .await;
    }
    inquiry
        .sees("agreements.terms", async |uow| {
            uow.agreements().terms(owner).await
        })
        .await;
    let text = parsed("Other terms.");
    inquiry
        .keeps("agreements.set_terms", async |uow| {
            uow.agreements().set_terms(owner, &text, at).await
        })
        .await;
}

async fn shipments(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let (id, tracking) = (estate.full.id, estate.tracking());
    let event = tracking_event(estate.shop.make.tick());
    inquiry
        .changes("shipments.insert", async |uow| {
            uow.shipments().insert(id, tracking, &event).await
        })
        .await;
    inquiry
        .sees("shipments.list", async |uow| {
            uow.shipments().list(id, tracking).await
        })
        .await;
}

async fn ledger(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    inquiry
        .sees("ledger.of", async |uow| {
            uow.ledger().of(estate.full.id).await
        })
        .await;
    inquiry
        .sees("ledger.find", async |uow| {
            uow.ledger().find(Mode::Sandbox, &estate.entry.id).await
        })
        .await;
    for payment in [&estate.entry.id, &estate.payment] {
        inquiry
            .sees("ledger.find_payment", async |uow| {
                uow.ledger().find_payment(Mode::Sandbox, payment).await
            })
            .await;
    }
    let at = estate.shop.make.tick();
    let released = Thing::Hold {
        state: HoldState::Released,
        ends_at: at,
    };
    let stray = format!("pi_{}", estate.shop.make.ids().next());
    for id in [estate.entry.id.clone(), stray] {
        let entry = entry(estate.full.id, id, at, released.clone());
        inquiry
            .keeps("ledger.put", async |uow| uow.ledger().put(&entry).await)
            .await;
    }
}
