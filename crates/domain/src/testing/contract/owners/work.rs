//! The statements about who works for an organization, what is to be done, and what was answered.

use super::estate::{LEASE, MANY, job};
use super::{Inquiry, late};
use crate::access::Mode;
use crate::credit::CreditPolicy;
use crate::ports::{Job, JobFilter, JobState};
use crate::testing::contract::credit::approval;
use crate::testing::contract::processor_accounts::processor_account;

pub(super) async fn ask(inquiry: &mut Inquiry<'_, '_>) {
    processor_accounts(inquiry).await;
    credit(inquiry).await;
    jobs(inquiry).await;
    jobs_that_are_claimed(inquiry).await;
    jobs_that_wait(inquiry).await;
    answers(inquiry).await;
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
