//! The statements about what is told of what happened, and to whom.

use super::estate::{LEASE, MANY, audit_event, happened};
use super::{Inquiry, late};
use crate::access::Mode;
use crate::audit::AuditViewer;
use crate::events::EventPattern;
use crate::mail::{MailState, SuppressionReason};
use crate::ports::{AuditFilter, Erasure, EventFilter, MailFilter, ReplacementAnswer, Stretch};
use crate::testing::contract::deliveries::CLAIM;
use crate::testing::contract::full::parsed;
use crate::testing::contract::shop::first;
use crate::text::Email;
use crate::time::Timestamp;
use crate::webhooks::EndpointHealth;

pub(super) async fn ask(inquiry: &mut Inquiry<'_, '_>) {
    audit(inquiry).await;
    events(inquiry).await;
    webhook_endpoints(inquiry).await;
    deliveries(inquiry).await;
    mails(inquiry).await;
    personal_data(inquiry).await;
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
        .sees("events.changes", async |uow| {
            let since = Some(estate.shop.edition_of_nothing());
            uow.events().changes(scope.organization_id, since).await
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
