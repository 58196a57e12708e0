//! The statements about who leases, how far that is, and the work that it makes.

use chrono::TimeDelta;

use super::Inquiry;
use super::estate::{
    LEASE, MANY, PAGE, audit_event, entry, happened, job, tracking_event, transition,
};
use crate::access::Mode;
use crate::agreement::{AgreementEventKind, Happening, Signer};
use crate::audit::AuditViewer;
use crate::checkout::{Lifecycle, WayOut};
use crate::credit::CreditPolicy;
use crate::events::EventPattern;
use crate::ids::CheckoutPubId;
use crate::ledger::{HoldState, Thing};
use crate::mail::{MailState, SuppressionReason};
use crate::ports::{
    AuditFilter, CheckoutFilter, CheckoutSort, CustomerFilter, Erasure, EventFilter, IdGenerator,
    Job, JobFilter, JobState, MailFilter, PageToken, ReplacementAnswer, SortOrder, Stretch,
};
use crate::testing::altered;
use crate::testing::contract::agreements::{agreement, signed_by_ada};
use crate::testing::contract::credit::approval;
use crate::testing::contract::deliveries::CLAIM;
use crate::testing::contract::full::parsed;
use crate::testing::contract::processor_accounts::processor_account;
use crate::testing::contract::shop::first;
use crate::text::Email;
use crate::time::Timestamp;
use crate::webhooks::EndpointHealth;

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
    processor_accounts(inquiry).await;
    credit(inquiry).await;
    jobs(inquiry).await;
    jobs_that_are_claimed(inquiry).await;
    jobs_that_wait(inquiry).await;
    answers(inquiry).await;
    audit(inquiry).await;
    events(inquiry).await;
    webhook_endpoints(inquiry).await;
    deliveries(inquiry).await;
    mails(inquiry).await;
    personal_data(inquiry).await;
}

/// Later than anything that the estate has.
fn late(inquiry: &Inquiry<'_, '_>) -> Timestamp {
    let now = inquiry.estate.shop.make.tick();
    now.checked_add_signed(TimeDelta::days(1_000))
        .unwrap_or(now)
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

async fn processor_accounts(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let (owner, mode) = (estate.shop.organization.id, Mode::Sandbox);
    inquiry
        .sees("processor_accounts.get", async |uow| {
            uow.processor_accounts().get(owner, mode).await
        })
        .await;
    inquiry
        .sees("processor_accounts.list", async |uow| {
            uow.processor_accounts().list(owner).await
        })
        .await;
    inquiry
        .sees("processor_accounts.resting", async |uow| {
            uow.processor_accounts().resting(owner, mode, MANY).await
        })
        .await;
    let new = processor_account(&estate.shop, Mode::Live);
    inquiry
        .keeps("processor_accounts.insert", async |uow| {
            uow.processor_accounts().insert(&mut new.clone()).await
        })
        .await;
    let mut account = estate.account.clone();
    account.key = new.key;
    inquiry
        .keeps("processor_accounts.update", async |uow| {
            uow.processor_accounts().update(&mut account.clone()).await
        })
        .await;
    inquiry
        .changes("processor_accounts.forget_customers", async |uow| {
            uow.processor_accounts().forget_customers(owner, mode).await
        })
        .await;
    inquiry
        .changes("processor_accounts.remove", async |uow| {
            uow.processor_accounts().remove(owner, mode).await
        })
        .await;
}

async fn credit(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let organization = estate.shop.organization.id;
    inquiry
        .sees("credit_policies.get", async |uow| {
            uow.credit_policies().get(organization, Mode::Sandbox).await
        })
        .await;
    let at = estate.shop.make.tick();
    for mode in Mode::ALL {
        inquiry
            .keeps("credit_policies.put", async |uow| {
                let policy = CreditPolicy::None;
                uow.credit_policies()
                    .put(organization, mode, &policy, at)
                    .await
            })
            .await;
    }
    let full = &estate.full;
    inquiry
        .sees("qualifications.latest", async |uow| {
            uow.qualifications().latest(&[full.id]).await
        })
        .await;
    inquiry
        .sees("qualifications.of_customer", async |uow| {
            uow.qualifications().of_customer(full.customer_id).await
        })
        .await;
    let decided = approval(&estate.shop, full, at);
    inquiry
        .keeps("qualifications.insert", async |uow| {
            uow.qualifications().insert(&decided).await
        })
        .await;
    inquiry
        .changes("qualifications.end", async |uow| {
            uow.qualifications().end(full.customer_id, at).await
        })
        .await;
}

async fn jobs(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let new = job(&estate.shop);
    inquiry
        .keeps("jobs.push", async |uow| {
            uow.jobs().push(std::slice::from_ref(&new)).await
        })
        .await;
    for (state, subject) in [
        (None, None),
        (None, Some(estate.due.subject)),
        (Some(JobState::Dead), None),
    ] {
        let filter = JobFilter { state, subject };
        inquiry
            .sees("jobs.list", async |uow| {
                let mut found = uow.jobs().list(&filter, MANY).await?;
                found.retain(|job| job.new.organization_id == estate.shop.organization.id);
                Ok(found)
            })
            .await;
    }
}

async fn jobs_that_are_claimed(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let now = estate.shop.make.tick();
    let job: &Job = &estate.taken;
    inquiry
        .changes("jobs.claim", async |uow| {
            let mut claimed = uow.jobs().claim(now, LEASE, MANY).await?;
            claimed.retain(|job| job.new.organization_id == estate.shop.organization.id);
            Ok(claimed)
        })
        .await;
    inquiry
        .changes("jobs.claim_of", async |uow| {
            uow.jobs().claim_of(estate.due.subject, now, LEASE).await
        })
        .await;
    inquiry
        .changes("jobs.renew", async |uow| uow.jobs().renew(job, LEASE).await)
        .await;
    inquiry
        .changes("jobs.complete", async |uow| {
            uow.jobs().complete(job, now).await
        })
        .await;
    inquiry
        .changes("jobs.retry", async |uow| {
            uow.jobs().retry(job, now, "meddled with").await
        })
        .await;
    inquiry
        .changes("jobs.bury", async |uow| {
            uow.jobs().bury(job, "meddled with").await
        })
        .await;
}

async fn jobs_that_wait(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let now = estate.shop.make.tick();
    let late = late(inquiry);
    inquiry
        .changes("jobs.skip", async |uow| {
            uow.jobs()
                .skip(estate.dead.new.id, "meddled with", now)
                .await
        })
        .await;
    for job in [estate.dead.new.id, estate.held.id] {
        inquiry
            .changes("jobs.requeue", async |uow| {
                uow.jobs().requeue(Some(job), now).await
            })
            .await;
    }
    inquiry
        .changes("jobs.release", async |uow| {
            uow.jobs().release(estate.held.subject, now).await
        })
        .await;
    // Of one's own it makes all due, and forgets those that are done.
    inquiry
        .changes("jobs.requeue", async |uow| {
            uow.jobs().requeue(None, now).await.map(|_| ())
        })
        .await;
    inquiry
        .changes("jobs.purge_done", async |uow| {
            uow.jobs().purge_done(late).await.map(|_| ())
        })
        .await;
}

async fn answers(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let late = late(inquiry);
    let mut other = estate.answer.clone();
    other.status = 500;
    // Whoever has the lock of a key has no answer yet.
    inquiry
        .changes("idempotency.try_lock", async |uow| {
            uow.idempotency().try_lock(&estate.key).await.map(|_| ())
        })
        .await;
    inquiry
        .sees("idempotency.find", async |uow| {
            let since = estate.answer.created_at;
            uow.idempotency().find(&estate.key, since).await
        })
        .await;
    inquiry
        .keeps("idempotency.put", async |uow| {
            uow.idempotency().put(&estate.key, &other).await
        })
        .await;
    // One's own are forgotten.
    inquiry
        .changes("idempotency.purge", async |uow| {
            uow.idempotency().purge(late).await.map(|_| ())
        })
        .await;
}

async fn audit(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.shop.organization.id;
    // In the owner's name, and about the owner's customer in one's own.
    for owner in [None, inquiry.thief()] {
        let mut stray = audit_event(&estate.shop, &estate.full);
        stray.organization_id = owner.unwrap_or(id);
        inquiry
            .keeps("audit.append", async |uow| {
                uow.audit().append(std::slice::from_ref(&stray)).await
            })
            .await;
    }
    inquiry
        .sees("audit.get", async |uow| {
            uow.audit().get(id, estate.event.id).await
        })
        .await;
    let filter = AuditFilter::default();
    inquiry
        .sees("audit.list", async |uow| {
            let audit = uow.audit();
            audit.list(id, AuditViewer::Live, &filter, first(9)).await
        })
        .await;
    inquiry
        .sees("audit.count", async |uow| {
            uow.audit()
                .count(id, AuditViewer::Live, &filter, u64::MAX)
                .await
        })
        .await;
}

async fn events(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let scope = estate.shop.sandbox();
    let stray = happened(&estate.shop, &estate.full);
    inquiry
        .keeps("events.append", async |uow| {
            uow.events().append(std::slice::from_ref(&stray)).await
        })
        .await;
    inquiry
        .sees("events.are_waiting", async |uow| {
            uow.events().are_waiting(scope).await
        })
        .await;
    inquiry
        .sees("events.last", async |uow| uow.events().last(scope).await)
        .await;
    inquiry
        .sees("events.edition", async |uow| {
            uow.events().edition(scope.organization_id).await
        })
        .await;
    inquiry
        .changes("events.number", async |uow| {
            uow.events().number(scope, MANY).await.map(u64::from)
        })
        .await;
    inquiry
        .sees("events.get", async |uow| {
            uow.events().get(scope, estate.told).await
        })
        .await;
    let filter = EventFilter::default();
    inquiry
        .sees("events.list", async |uow| {
            uow.events().list(scope, &filter, 0, MANY).await
        })
        .await;
    inquiry
        .sees("events.heads", async |uow| {
            uow.events()
                .heads(scope, &[], Stretch::default(), MANY)
                .await
        })
        .await;
    let late = late(inquiry);
    // One's own are forgotten.
    inquiry
        .changes("events.purge", async |uow| {
            uow.events().purge(late, MANY).await.map(|_| ())
        })
        .await;
}

async fn webhook_endpoints(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let (scope, id) = (estate.shop.sandbox(), estate.endpoint.id);
    let another = estate.shop.make.webhook_endpoint(&estate.shop.organization);
    inquiry
        .keeps("webhook_endpoints.insert", async |uow| {
            uow.webhook_endpoints().insert(&another).await
        })
        .await;
    inquiry
        .sees("webhook_endpoints.get", async |uow| {
            uow.webhook_endpoints().get(scope, id).await
        })
        .await;
    inquiry
        .sees("webhook_endpoints.list", async |uow| {
            uow.webhook_endpoints().list(scope).await
        })
        .await;
    inquiry
        .sees("webhook_endpoints.hold_listeners", async |uow| {
            uow.webhook_endpoints().hold_listeners(scope).await
        })
        .await;
    inquiry
        .sees("webhook_endpoints.lock", async |uow| {
            uow.webhook_endpoints().lock(scope, id).await
        })
        .await;
    let mut changed = estate.endpoint.clone();
    changed.types = vec![EventPattern::Family("product")];
    inquiry
        .keeps("webhook_endpoints.update", async |uow| {
            uow.webhook_endpoints().update(&mut changed).await
        })
        .await;
    inquiry
        .changes("webhook_endpoints.delete", async |uow| {
            uow.webhook_endpoints().delete(scope, id).await
        })
        .await;
}

async fn mails(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.mail.new.id;
    let address = estate.suppressed.clone();
    let new = super::super::mails::mail(&estate.shop, estate.full.id, |_| {});
    inquiry
        .keeps("mails.queue", async |uow| {
            uow.mails().queue(std::slice::from_ref(&new)).await
        })
        .await;
    inquiry
        .sees("mails.get", async |uow| uow.mails().get(id).await)
        .await;
    let filter = MailFilter::default();
    inquiry
        .sees("mails.list", async |uow| {
            let mut found = uow.mails().list(&filter, MANY).await?;
            found.retain(|mail| mail.new.organization_id == estate.shop.organization.id);
            Ok(found)
        })
        .await;
    let late = late(inquiry);
    inquiry
        .changes("mails.claim", async |uow| {
            let mut claimed = uow.mails().claim(late, LEASE, MANY).await?;
            claimed.retain(|mail| mail.new.organization_id == estate.shop.organization.id);
            Ok(claimed)
        })
        .await;
    let mut settled = estate.mail.clone();
    settled.end(MailState::Skipped, Some("so"), late);
    inquiry
        .changes("mails.settle", async |uow| {
            uow.mails().settle(&settled, Some(&address)).await
        })
        .await;
    inquiry
        .changes("mails.hand_back", async |uow| {
            uow.mails().hand_back(&estate.mail).await
        })
        .await;
    inquiry
        .changes("mails.requeue", async |uow| {
            uow.mails().requeue(Some(estate.waiting_mail), late).await
        })
        .await;
    inquiry
        .changes("mails.requeue", async |uow| {
            uow.mails().requeue(None, late).await.map(|_| ())
        })
        .await;
    inquiry
        .sees("mails.suppression", async |uow| {
            uow.mails().suppression(&address).await
        })
        .await;
    let reason = SuppressionReason::Complaint;
    // One's own are found, put aside and forgotten.
    inquiry
        .changes("mails.suppress", async |uow| {
            let other: Email = parsed(&format!("other-{id}@example.com"));
            uow.mails().suppress(&other, reason, late).await.map(|_| ())
        })
        .await;
    inquiry
        .changes("mails.report", async |uow| {
            uow.mails().report(estate.mailed, reason, late).await
        })
        .await;
    inquiry
        .changes("mails.unsuppress", async |uow| {
            uow.mails().unsuppress(&address).await
        })
        .await;
    let far = late.date_naive();
    let from = Timestamp::UNIX_EPOCH.date_naive();
    inquiry
        .sees("mails.ending", async |uow| {
            let mails = uow.mails();
            let mut found = mails.ending(Mode::Sandbox, from, far, MANY).await?;
            found.retain(|id| *id == estate.ending);
            Ok(found)
        })
        .await;
    inquiry
        .changes("mails.purge", async |uow| {
            uow.mails().purge(late, MANY).await.map(|_| ())
        })
        .await;
}

async fn deliveries(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.endpoint.id;
    let new = super::super::deliveries::delivery(&estate.shop, &estate.endpoint, |_| {});
    inquiry
        .keeps("deliveries.queue", async |uow| {
            uow.deliveries().queue(std::slice::from_ref(&new)).await
        })
        .await;
    let late = late(inquiry);
    inquiry
        .changes("deliveries.claim", async |uow| {
            let mut claimed = uow.deliveries().claim(late, CLAIM).await?;
            claimed.retain(|delivery| delivery.new.organization_id == estate.shop.organization.id);
            Ok(claimed)
        })
        .await;
    let mut settled = estate.delivery.clone();
    settled.abandon("so", late);
    inquiry
        .changes("deliveries.settle", async |uow| {
            uow.deliveries().settle(&settled).await
        })
        .await;
    inquiry
        .changes("deliveries.hand_back", async |uow| {
            uow.deliveries().hand_back(&estate.delivery).await
        })
        .await;
    inquiry
        .sees("deliveries.lock_health", async |uow| {
            uow.deliveries().lock_health(id).await
        })
        .await;
    inquiry
        .changes("deliveries.clear_health", async |uow| {
            uow.deliveries().clear_health(id).await
        })
        .await;
    let health = EndpointHealth::default();
    inquiry
        .changes("deliveries.set_health", async |uow| {
            uow.deliveries().set_health(id, &health).await
        })
        .await;
    inquiry
        .changes("deliveries.abandon", async |uow| {
            uow.deliveries().abandon(id, "so", late).await
        })
        .await;
    inquiry
        .sees("deliveries.list", async |uow| {
            uow.deliveries().list(id, first(MANY)).await
        })
        .await;
    let delivery = estate.delivery.new.id.as_uuid();
    inquiry
        .sees("deliveries.has", async |uow| {
            uow.deliveries().has(id, delivery).await
        })
        .await;
    let events = [estate.acknowledged];
    inquiry
        .sees("deliveries.acknowledged", async |uow| {
            uow.deliveries().acknowledged(id, &events).await
        })
        .await;
    // One's own are forgotten.
    inquiry
        .changes("deliveries.purge", async |uow| {
            uow.deliveries().purge(late, MANY).await.map(|_| ())
        })
        .await;
}

async fn personal_data(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let erasure = Erasure {
        customer: estate.customer.id,
        // What the answer that is kept was asked by.
        names: vec![estate.key.path.clone()],
        ended: vec![estate.full.id],
        running: Vec::new(),
        never_leased: vec![estate.full.id],
        shipments: Vec::new(),
        email: estate.customer.email.clone(),
        // No message is as late: they are nobody's, and other suites'.
        since: late(inquiry),
        replacement: ReplacementAnswer {
            status: 404,
            body: b"erased".to_vec(),
        },
    };
    let scope = estate.shop.sandbox();
    inquiry
        .changes("personal_data.erase", async |uow| {
            uow.personal_data().erase(scope, &erasure).await
        })
        .await;
}
