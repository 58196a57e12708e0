//! Comparing what checkouts say with what the processor has.
//!
//! The processor's records are walked by its lists, a page at a time, and each is compared with the
//! checkout that it names; then the leases are walked for what the processor did not show. One
//! that cannot be compared keeps no other from it.
//!
//! Nothing here makes a subscription: that is its job's alone. What can be mended without money
//! changing hands twice is mended, the rest is reported and shown at the checkout.

mod difference;
mod lease;
mod mend;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use chrono::TimeDelta;

pub use self::difference::{Difference, Failure, Finding, Report};
use self::lease::Lease;
use crate::access::Mode;
use crate::cause::chain;
use crate::checkout::{AttentionReason, Billing, Checkout, Effect, Invoice, InvoiceOutcome};
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::ledger::{Authorization, Dispute, Entry, Refund, Subscription};
use crate::ports::{
    Clock, Database, Errand, IdGenerator, InboxMessage, JobFilter, JobState, JobSubject,
    PaymentProcessor, ProviderSet, Reach, Scope, StoreError, UnitOfWork,
};
use crate::services::{Error, ledger, moving, payments};
use crate::time::Timestamp;

/// How far back before the last comparison invoices and deposits are looked at: longer than a
/// processor tries to collect one.
const LOOK_BACK: TimeDelta = TimeDelta::days(62);
/// How far back the processor keeps its messages.
const MESSAGES_KEPT: TimeDelta = TimeDelta::days(30);
/// How many leases are read at a time.
const BATCH: u32 = 100;

/// Compares checkouts with the processor.
#[derive(Clone)]
pub struct Reconciler {
    /// Where checkouts are.
    pub database: Arc<dyn Database>,
    /// Who bills them.
    pub providers: ProviderSet,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
}

/// Whose checkouts an account bills.
enum Whose {
    /// All of those who have none of the mode of their own: these have.
    AllBut(BTreeSet<OrganizationId>),
    /// One organization's.
    Own(OrganizationId),
}

/// An account at the processor, whose records are walked.
struct Account {
    mode: Mode,
    whose: Whose,
    processor: Arc<dyn PaymentProcessor>,
}

impl Account {
    /// Whether it bills the organization's checkouts of the mode. What it says of others is nobody's affair.
    fn bills(&self, organization: OrganizationId) -> bool {
        match &self.whose {
            Whose::AllBut(others) => !others.contains(&organization),
            Whose::Own(owner) => *owner == organization,
        }
    }

    const fn own_account_of(&self) -> Option<OrganizationId> {
        match &self.whose {
            Whose::AllBut(_) => None,
            Whose::Own(owner) => Some(*owner),
        }
    }

    /// What the walk is called by which it is known how far it has come.
    fn walk(&self, what: &str) -> String {
        match self.own_account_of() {
            None => format!("{what}:{}", self.mode),
            Some(owner) => format!("{what}:{}:{owner}", self.mode),
        }
    }

    /// The message, as one of this account.
    fn told(&self, message: InboxMessage) -> InboxMessage {
        let teller = self.own_account_of();
        InboxMessage {
            source: InboxMessage::processor_source(teller),
            organization_id: teller,
            ..message
        }
    }
}

/// One walk, and what it has found so far.
struct Walk {
    account: Account,
    mode: Mode,
    mend: bool,
    seen: HashSet<String>,
    /// Checkouts that a subscription bills.
    billed: BTreeSet<CheckoutPubId>,
    /// Checkouts of which a difference is shown.
    shown: BTreeSet<CheckoutPubId>,
    report: Report,
}

impl Walk {
    fn failed(&mut self, checkout: Option<CheckoutPubId>, error: &Error) {
        self.report.failures.push(Failure {
            checkout,
            problem: chain(error).to_string(),
        });
    }
}

/// Goes on in the name of whose checkout it is. False when nobody has it.
async fn enter_owner(uow: &mut dyn UnitOfWork, id: CheckoutPubId) -> Result<bool, StoreError> {
    match uow.doors().owner_of_checkout(id).await? {
        Some(owner) => uow.enter(owner).await.map(|()| true),
        None => Ok(false),
    }
}

impl Reconciler {
    /// Compares everything of the mode, account by account, and mends what it may when asked to. An account
    /// that cannot be asked is told of, and keeps no other from it.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Provider`] when there is one account, and it does not answer at all.
    pub async fn run(&self, mode: Mode, mend: bool) -> Result<Report, Error> {
        let own = self.with_own_account(mode).await?;
        let mut report = Report::default();
        match self.compare(self.shared(mode, own.clone()), mend).await {
            Ok(part) => report.add(part),
            Err(error) if own.is_empty() => return Err(error),
            Err(error) => report.failed(None, &error),
        }
        for organization in own {
            let compared = match self.own(organization, mode).await {
                Ok(Some(account)) => self.compare(account, mend).await,
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            match compared {
                Ok(part) => report.add(part),
                Err(error) => report.failed(Some(organization), &error),
            }
        }
        Ok(report)
    }

    /// Who has an account of the mode of their own.
    async fn with_own_account(&self, mode: Mode) -> Result<BTreeSet<OrganizationId>, Error> {
        let mut view = self.database.read(Reach::Server).await?;
        let owners = view
            .doors()
            .owners_with(Errand::OwnAccount { mode })
            .await?;
        Ok(owners.into_iter().collect())
    }

    /// The account of the mode that all work with but those who have one of their own.
    fn shared(&self, mode: Mode, others: BTreeSet<OrganizationId>) -> Account {
        Account {
            mode,
            whose: Whose::AllBut(others),
            processor: Arc::clone(&self.providers.of(mode).processor),
        }
    }

    /// The organization's own account of the mode; none where it is not there any more.
    async fn own(
        &self,
        organization_id: OrganizationId,
        mode: Mode,
    ) -> Result<Option<Account>, Error> {
        let Some(accounts) = &self.providers.accounts else {
            return Ok(None);
        };
        let scope = Scope {
            organization_id,
            mode,
        };
        let processor = accounts.of(scope).await?;
        Ok(processor.map(|processor| Account {
            mode,
            whose: Whose::Own(organization_id),
            processor,
        }))
    }

    async fn compare(&self, account: Account, mend: bool) -> Result<Report, Error> {
        let begun = self.clock.now();
        let name = account.walk("compared");
        let since = self.since(&name).await?;
        let mut walk = Walk {
            mode: account.mode,
            account,
            mend,
            seen: HashSet::new(),
            billed: BTreeSet::new(),
            shown: BTreeSet::new(),
            report: Report::default(),
        };
        walk.report.messages = self.fetch_from(&walk.account).await?;
        self.subscriptions(&mut walk).await?;
        self.invoices(&mut walk, since).await?;
        self.deposits(&mut walk, since).await?;
        self.refunds(&mut walk, since).await?;
        self.disputes(&mut walk, since).await?;
        self.leases(&mut walk).await?;
        self.settle(&mut walk).await?;
        if mend && walk.report.failures.is_empty() {
            let mut uow = self.database.begin(Reach::Server).await?;
            let position = begun.to_rfc3339();
            uow.cursors().set_position(&name, &position).await?;
            uow.commit().await?;
        }
        Ok(walk.report)
    }

    /// Since when what was made at the processor may have changed unseen: a while before the last
    /// comparison that mended what it found, however long ago that was.
    async fn since(&self, name: &str) -> Result<Timestamp, Error> {
        let mut view = self.database.read(Reach::Server).await?;
        let position = view.cursors().position(name).await?;
        let last = position.and_then(|position| position.parse::<Timestamp>().ok());
        Ok(last
            .and_then(|last| last.checked_sub_signed(LOOK_BACK))
            .unwrap_or(Timestamp::UNIX_EPOCH))
    }

    /// What differed once and does no more is shown no more.
    async fn settle(&self, walk: &mut Walk) -> Result<(), Error> {
        let failed = walk.report.failures.iter();
        let failed = failed.filter_map(|failure| failure.checkout);
        let found = walk.report.findings.iter().map(|finding| finding.checkout);
        let open: BTreeSet<CheckoutPubId> = failed.chain(found).collect();
        for id in walk.shown.difference(&open) {
            let now = self.clock.now();
            let mut uow = self.database.begin(Reach::Server).await?;
            if !enter_owner(uow.as_mut(), *id).await? {
                uow.roll_back().await?;
                continue;
            }
            let mut checkout = moving::lock(uow.as_mut(), *id).await?;
            if checkout.settle(AttentionReason::Difference, now) {
                uow.checkouts().update(&mut checkout).await?;
                uow.commit().await?;
            } else {
                uow.roll_back().await?;
            }
        }
        Ok(())
    }

    /// Takes in the messages that the processor sent since the last time, whether they came or not, of
    /// every account of the mode. Whoever handles messages handles them.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Provider`], once every account was asked.
    pub async fn fetch_messages(&self, mode: Mode) -> Result<usize, Error> {
        let own = self.with_own_account(mode).await?;
        let shared = self.shared(mode, own.clone());
        let mut taken_in = self.fetch_from(&shared).await;
        for organization in own {
            let fetched = match self.own(organization, mode).await {
                Ok(Some(account)) => self.fetch_from(&account).await,
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            taken_in = match (taken_in, fetched) {
                (Ok(before), Ok(more)) => Ok(before.saturating_add(more)),
                (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            };
        }
        taken_in
    }

    async fn fetch_from(&self, account: &Account) -> Result<usize, Error> {
        let mode = account.mode;
        let name = account.walk("messages");
        let now = self.clock.now();
        let since = now.checked_sub_signed(MESSAGES_KEPT).unwrap_or(now);
        let mut view = self.database.read(Reach::Server).await?;
        let mut position = view.cursors().position(&name).await?;
        drop(view);
        let mut taken_in = 0_usize;
        loop {
            let page = account
                .processor
                .walk_messages(mode, since, position.clone())
                .await?;
            let Some(last) = page.items.last().map(|message| message.id.clone()) else {
                return Ok(taken_in);
            };
            let mut uow = self.database.begin(Reach::Server).await?;
            for message in page.items {
                let message = account.told(message);
                if uow.inbox().insert(&message).await? {
                    taken_in = taken_in.saturating_add(1);
                }
            }
            uow.cursors().set_position(&name, &last).await?;
            uow.commit().await?;
            position = Some(last);
            if page.next.is_none() {
                return Ok(taken_in);
            }
        }
    }

    /// Begins work in the name of the lease's organization.
    async fn begin(&self, lease: &Lease) -> Result<Box<dyn UnitOfWork>, StoreError> {
        let owner = lease.checkout.organization_id;
        self.database.begin(owner.into()).await
    }

    async fn subscriptions(&self, walk: &mut Walk) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = walk
                .account
                .processor
                .walk_subscriptions(walk.mode, after)
                .await?;
            for theirs in &page.items {
                let Some(id) = theirs.checkout else { continue };
                walk.seen.insert(theirs.id.clone());
                if let Err(error) = self.subscription(walk, id, theirs).await {
                    walk.failed(Some(id), &error);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn subscription(
        &self,
        walk: &mut Walk,
        id: CheckoutPubId,
        theirs: &Subscription,
    ) -> Result<(), Error> {
        let Some(lease) = self.lease(walk, id).await? else {
            return Ok(());
        };
        walk.report.compared = walk.report.compared.saturating_add(1);
        if !theirs.has_ended() {
            walk.billed.insert(id);
        }
        let mut found = lease.compare(theirs);
        let ours = lease.checkout.recurring.billing.subscription_id();
        let is_double = |difference: &Difference| matches!(difference, Difference::Double { .. });
        if let Some(ours) = ours
            && found.iter().any(is_double)
        {
            // What else runs may be all that bills the lease.
            let known = walk
                .account
                .processor
                .subscription((&lease.checkout).into(), ours)
                .await?;
            if known.is_none_or(|known| known.has_ended()) {
                found.retain(|difference| !is_double(difference));
            }
        }
        self.conclude(walk, &lease, found).await
    }

    async fn invoices(&self, walk: &mut Walk, since: Timestamp) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = walk
                .account
                .processor
                .walk_invoices(walk.mode, since, after)
                .await?;
            for (id, invoice) in &page.items {
                if let Err(error) = self.invoice(walk, *id, invoice).await {
                    walk.failed(Some(*id), &error);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn invoice(
        &self,
        walk: &mut Walk,
        id: CheckoutPubId,
        invoice: &Invoice,
    ) -> Result<(), Error> {
        let Some(lease) = self.lease(walk, id).await? else {
            return Ok(());
        };
        walk.report.compared = walk.report.compared.saturating_add(1);
        let theirs = Entry::of_invoice(id, invoice);
        let ours = lease.rows.iter().find(|row| row.id == theirs.id);
        if invoice.outcome == InvoiceOutcome::Open
            || ours.is_some_and(|ours| !theirs.supersedes(ours))
        {
            return Ok(());
        }
        let difference = Difference::Invoice {
            invoice_id: invoice.id.clone(),
        };
        let mended = walk.mend;
        if mended {
            let mut uow = self.begin(&lease).await?;
            let mut checkout = moving::lock(uow.as_mut(), id).await?;
            let now = self.clock.now();
            let news = std::slice::from_ref(invoice);
            ledger::take_in_invoices(uow.as_mut(), now, &mut checkout, news).await?;
            if matches!(checkout.recurring.billing, Billing::Incomplete { .. }) {
                self.ask(uow.as_mut(), &checkout, Effect::CheckSubscription)
                    .await?;
            }
            uow.commit().await?;
        }
        self.report(walk, &lease, difference, mended).await
    }

    async fn deposits(&self, walk: &mut Walk, since: Timestamp) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = walk
                .account
                .processor
                .walk_deposits(walk.mode, since, after)
                .await?;
            for theirs in &page.items {
                let Some(id) = theirs.checkout else { continue };
                if let Err(error) = self.deposit(walk, id, theirs).await {
                    walk.failed(Some(id), &error);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn deposit(
        &self,
        walk: &mut Walk,
        id: CheckoutPubId,
        theirs: &Authorization,
    ) -> Result<(), Error> {
        let Some(lease) = self.lease(walk, id).await? else {
            return Ok(());
        };
        walk.report.compared = walk.report.compared.saturating_add(1);
        let making = [
            Effect::AuthorizeDeposit,
            Effect::RenewDeposit,
            Effect::CaptureDeposit,
            Effect::CheckDeposit,
            Effect::VoidDeposit,
            Effect::RefundDeposit,
        ];
        if lease.awaits(&making) {
            return Ok(());
        }
        let row = Entry::hold(id, theirs, self.clock.now());
        let known = lease.rows.iter().find(|known| known.id == row.id);
        let known_state = known.and_then(Entry::hold_state);
        if known_state != Some(theirs.state) && known.is_none_or(|known| row.supersedes(known)) {
            let difference = Difference::Deposit {
                payment_intent_id: row.id.clone(),
                theirs: theirs.state,
            };
            let mended = walk.mend;
            if mended {
                let mut uow = self.begin(&lease).await?;
                let checkout = moving::lock(uow.as_mut(), id).await?;
                ledger::note(uow.as_mut(), walk.mode, &row).await?;
                if checkout.deposit.payment_intent_id() == Some(&row.id) {
                    self.ask(uow.as_mut(), &checkout, Effect::CheckDeposit)
                        .await?;
                }
                let now = self.clock.now();
                ledger::let_go(uow.as_mut(), self.ids.as_ref(), now, &checkout).await?;
                uow.commit().await?;
            }
            return self.report(walk, &lease, difference, mended).await;
        }
        Ok(())
    }

    async fn refunds(&self, walk: &mut Walk, since: Timestamp) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = walk
                .account
                .processor
                .walk_refunds(walk.mode, since, after)
                .await?;
            for refund in &page.items {
                let id = self.payer(walk.mode, &refund.payment_intent_id).await?;
                let Some(id) = id else { continue };
                if let Err(error) = self.refund(walk, id, refund).await {
                    walk.failed(Some(id), &error);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// The checkout of this payment, if it is one of ours.
    async fn payer(&self, mode: Mode, intent: &str) -> Result<Option<CheckoutPubId>, Error> {
        let mut view = self.database.read(Reach::Server).await?;
        let Some(owner) = view.doors().owner_of_payment(mode, intent).await? else {
            return Ok(None);
        };
        view.enter(owner).await?;
        let row = view.ledger().find_payment(mode, intent).await?;
        Ok(row.map(|row| row.checkout))
    }

    async fn refund(
        &self,
        walk: &mut Walk,
        id: CheckoutPubId,
        refund: &Refund,
    ) -> Result<(), Error> {
        let Some(lease) = self.lease(walk, id).await? else {
            return Ok(());
        };
        walk.report.compared = walk.report.compared.saturating_add(1);
        let paying_back = [
            Effect::VoidDeposit,
            Effect::RefundDeposit,
            Effect::RefundPayments,
        ];
        let theirs = Entry::refund(id, refund);
        let known = lease.row(&theirs.id);
        if lease.awaits(&paying_back) || known.is_some_and(|known| !theirs.supersedes(known)) {
            return Ok(());
        }
        if walk.mend {
            let mut uow = self.begin(&lease).await?;
            let mut checkout = moving::lock(uow.as_mut(), id).await?;
            let now = self.clock.now();
            payments::take_in_refund(uow.as_mut(), now, &mut checkout, refund).await?;
            uow.commit().await?;
        }
        let difference = Difference::Repaid {
            refund_id: refund.id.clone(),
        };
        let mended = walk.mend;
        self.report(walk, &lease, difference, mended).await
    }

    async fn disputes(&self, walk: &mut Walk, since: Timestamp) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = walk
                .account
                .processor
                .walk_disputes(walk.mode, since, after)
                .await?;
            for dispute in &page.items {
                let id = self.payer(walk.mode, &dispute.payment_intent_id).await?;
                let Some(id) = id else { continue };
                if let Err(error) = self.dispute(walk, id, dispute).await {
                    walk.failed(Some(id), &error);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn dispute(
        &self,
        walk: &mut Walk,
        id: CheckoutPubId,
        dispute: &Dispute,
    ) -> Result<(), Error> {
        let Some(lease) = self.lease(walk, id).await? else {
            return Ok(());
        };
        walk.report.compared = walk.report.compared.saturating_add(1);
        let known = &lease.checkout.recurring;
        let is_open = known.dispute_id.as_deref() == Some(&dispute.id);
        let was_settled = known.settled_dispute_id.as_deref() == Some(&dispute.id);
        // One that was settled before anybody heard of it is no news.
        if is_open != dispute.is_settled || was_settled {
            return Ok(());
        }
        if walk.mend {
            let mut uow = self.begin(&lease).await?;
            let mut checkout = moving::lock(uow.as_mut(), id).await?;
            if checkout.contest(&dispute.id, dispute.is_settled, self.clock.now()) {
                uow.checkouts().update(&mut checkout).await?;
                uow.commit().await?;
            } else {
                uow.roll_back().await?;
            }
        }
        let difference = Difference::Dispute {
            dispute_id: dispute.id.clone(),
        };
        let mended = walk.mend;
        self.report(walk, &lease, difference, mended).await
    }

    /// Walks the leases for what the processor did not show, and what is owed to customers.
    async fn leases(&self, walk: &mut Walk) -> Result<(), Error> {
        let mut view = self.database.read(Reach::Server).await?;
        let errand = Errand::Billed { mode: walk.mode };
        let owners = view.doors().owners_with(errand).await?;
        drop(view);
        for owner in owners {
            if !walk.account.bills(owner) {
                continue;
            }
            let mut after = None;
            loop {
                let mut view = self.database.read(owner.into()).await?;
                let page = view.checkouts().billed(walk.mode, after, BATCH).await?;
                drop(view);
                for id in &page {
                    if let Err(error) = self.billed(walk, *id).await {
                        walk.failed(Some(*id), &error);
                    }
                }
                after = page.last().copied();
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn billed(&self, walk: &mut Walk, id: CheckoutPubId) -> Result<(), Error> {
        let Some(lease) = self.lease(walk, id).await? else {
            return Ok(());
        };
        let mut found = lease.owed();
        if walk.billed.contains(&id) {
            found.retain(|difference| *difference != Difference::NotBilled);
        }
        if let Some(missing) = lease.missing(&walk.seen) {
            // A walk may pass one that is made meanwhile: asked by its name it is there.
            if walk
                .account
                .processor
                .subscription((&lease.checkout).into(), missing)
                .await?
                .is_none()
            {
                found.push(Difference::Lost {
                    subscription_id: missing.to_owned(),
                });
            }
        }
        self.conclude(walk, &lease, found).await
    }

    async fn lease(&self, walk: &mut Walk, id: CheckoutPubId) -> Result<Option<Lease>, Error> {
        let mut view = self.database.read(Reach::Server).await?;
        if !enter_owner(view.as_mut(), id).await? {
            return Ok(None);
        }
        let checkout = view.checkouts().get(id).await?;
        let is_meant = |checkout: &Checkout| {
            checkout.mode == walk.mode && walk.account.bills(checkout.organization_id)
        };
        let Some(checkout) = checkout.filter(is_meant) else {
            return Ok(None);
        };
        if checkout.needs(AttentionReason::Difference) {
            walk.shown.insert(id);
        }
        let rows = view.ledger().of(id).await?;
        let filter = JobFilter {
            state: Some(JobState::Pending),
            subject: Some(JobSubject::Checkout(id)),
        };
        let jobs = view.jobs().list(&filter, 1_000).await?;
        let awaited = jobs.iter().map(|job| job.new.effect).collect();
        Ok(Some(Lease {
            checkout,
            rows,
            awaited,
        }))
    }

    async fn conclude(
        &self,
        walk: &mut Walk,
        lease: &Lease,
        found: Vec<Difference>,
    ) -> Result<(), Error> {
        for difference in found {
            let mended = walk.mend && self.mend(lease, &difference).await?;
            self.report(walk, lease, difference, mended).await?;
        }
        Ok(())
    }

    /// Notes the finding; one that stays is shown at the checkout, one that is mended no more.
    async fn report(
        &self,
        walk: &mut Walk,
        lease: &Lease,
        difference: Difference,
        mended: bool,
    ) -> Result<(), Error> {
        let now = self.clock.now();
        let mut uow = self.begin(lease).await?;
        let mut checkout = moving::lock(uow.as_mut(), lease.checkout.id).await?;
        let reason = AttentionReason::Difference;
        let changed = if mended {
            checkout.settle(reason, now)
        } else {
            checkout.raise(reason, Some(difference.to_string()), now)
        };
        let shown = checkout
            .attention
            .iter()
            .find(|shown| shown.reason == reason);
        let since = shown.map_or(now, |shown| shown.since);
        if changed {
            uow.checkouts().update(&mut checkout).await?;
            uow.commit().await?;
        } else {
            uow.roll_back().await?;
        }
        walk.report.findings.push(Finding {
            checkout: lease.checkout.id,
            difference,
            since,
            mended,
        });
        Ok(())
    }

    async fn ask(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &Checkout,
        effect: Effect,
    ) -> Result<(), Error> {
        let now = self.clock.now();
        // One that was given up is begun anew rather than asked for a second time.
        let filter = JobFilter {
            state: Some(JobState::Dead),
            subject: Some(JobSubject::Checkout(checkout.id)),
        };
        let dead = uow.jobs().list(&filter, 1_000).await?;
        match dead.iter().find(|job| job.new.effect == effect) {
            Some(job) => {
                uow.jobs().requeue(Some(job.new.id), now).await?;
            }
            None => {
                ledger::ask_once(uow, self.ids.as_ref(), now, checkout, effect).await?;
            }
        }
        Ok(())
    }
}
