//! What Lessor says of its leases at the end of a life.
//!
//! The one place that knows how Lessor keeps its books: what holds of them is told elsewhere.

use lessor_domain::access::Mode;
use lessor_domain::checkout::{Billing, Checkout, Deposit, Lifecycle};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::Balance;
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::{Database as _, InboxState, JobFilter, JobState, JobSubject};
use lessor_domain::services::checkouts::quote_of;
use lessor_domain::workers::reconcile::Finding;

use crate::world::{Crew, at_once};

/// Where the money of a deposit is, as Lessor says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// Nowhere.
    Nothing,
    /// Held on the customer's card, by this payment.
    Hold(String),
    /// Taken, by this payment.
    Taken(String),
}

/// One lease, as Lessor says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The checkout's id, as the processor has it in its metadata.
    pub id: String,
    /// Where it stands.
    pub state: Lifecycle,
    /// The deposit and what was bought along, in minor units.
    pub deposit: i64,
    /// What was bought along.
    pub extras: i64,
    /// Each payment, in minor units.
    pub monthly: i64,
    /// How many payments there are to be.
    pub months: u32,
    /// Where the deposit's money is.
    pub held: Held,
    /// The subscription that bills it.
    pub subscription: Option<String>,
    /// Whether it is to be billed and the goods are with the customer, or on the way without
    /// anybody who tells of their arrival.
    pub is_due: bool,
    /// How many payments were made.
    pub paid: u32,
    /// Whether its term is over and all is paid.
    pub is_over: bool,
    /// Whether somebody is told that a person has to look at it.
    pub is_shown: bool,
    /// What the rows of the ledger come to, in minor units: held, captured, paid by invoices, paid
    /// back.
    pub sums: [i64; 4],
    /// How many units of stock are kept for it.
    pub units: u32,
    /// Jobs that are neither done nor dead.
    pub open_jobs: Vec<String>,
    /// Jobs that were given up.
    pub dead_jobs: Vec<String>,
}

impl Lease {
    /// Whether it ended before it was a lease.
    #[must_use]
    pub const fn never_was(&self) -> bool {
        self.state.is_ended() && !matches!(self.state, Lifecycle::Returned)
    }
}

/// All that Lessor says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Books {
    /// The leases.
    pub leases: Vec<Lease>,
    /// Units of the variant that are free to promise, where they are counted.
    pub stock: Option<u32>,
    /// Jobs about no checkout that are neither done nor dead.
    pub other_jobs: Vec<String>,
    /// Messages that were kept and never handled.
    pub unhandled: Vec<String>,
}

impl Crew {
    /// Reads the books.
    pub(crate) fn books(
        &self,
        checkouts: &[CheckoutPubId],
        variant: usize,
        findings: &[Finding],
    ) -> Books {
        let mut books = Books::default();
        at_once(async {
            let Ok(mut view) = self.memory.read(self.organization().into()).await else {
                return;
            };
            for id in checkouts {
                let Ok(Some(checkout)) = view.checkouts().get(*id).await else {
                    continue;
                };
                let quote = quote_of(view.as_mut(), &checkout).await.ok().flatten();
                let filter = JobFilter {
                    state: None,
                    subject: Some(JobSubject::Checkout(*id)),
                };
                let jobs = view.jobs().list(&filter, 100).await.unwrap_or_default();
                let of = |dead: bool| {
                    let named = jobs
                        .iter()
                        .filter(|job| (job.state == JobState::Dead) == dead);
                    named
                        .map(|job| {
                            let why = job.last_error.as_deref().unwrap_or("never tried");
                            format!("{} ({why})", job.new.effect)
                        })
                        .collect::<Vec<_>>()
                };
                let found = findings.iter().any(|it| it.checkout == *id);
                let (open, dead) = (of(false), of(true));
                let rows = view.ledger().of(*id).await.unwrap_or_default();
                let balance = Balance::of(Money::zero(Currency::USD), &rows);
                let sums = balance.map_or([-1; 4], |balance| {
                    [
                        balance.held,
                        balance.captured,
                        balance.paid,
                        balance.refunded,
                    ]
                    .map(Money::minor)
                });
                books.leases.push(lease(
                    &checkout,
                    quote
                        .as_ref()
                        .map(|quote| (quote.deposit, quote.total_monthly_payment)),
                    self.now(),
                    found || !dead.is_empty(),
                    sums,
                    (open, dead),
                ));
            }
            let all = view.jobs().list(&JobFilter::default(), 1_000).await;
            let others = all.unwrap_or_default().into_iter().filter(|job| {
                !matches!(job.new.subject, JobSubject::Checkout(_)) && job.state != JobState::Dead
            });
            books.other_jobs = others.map(|job| job.new.effect.to_string()).collect();
            let variant = self.variants[variant];
            let known = view.variants().get(self.organization(), variant);
            books.stock = match known.await {
                Ok(Some(variant)) => variant.stock.sandbox.quantity(),
                _ => None,
            };
            let left = view.inbox().list(InboxState::Waiting, 1_000).await;
            let left = left.unwrap_or_default().into_iter();
            let left = left.filter(|it| it.mode == Mode::Sandbox);
            books.unhandled = left.map(|message| message.id).collect();
        });
        books
    }
}

fn lease(
    checkout: &Checkout,
    quote: Option<(Money, Money)>,
    now: lessor_domain::time::Timestamp,
    is_told: bool,
    sums: [i64; 4],
    (open_jobs, dead_jobs): (Vec<String>, Vec<String>),
) -> Lease {
    let extras = checkout
        .purchase_items
        .iter()
        .filter_map(|item| item.total().ok())
        .map(Money::minor)
        .sum();
    let state = checkout.lifecycle();
    let (deposit, monthly) = quote.map_or((0, 0), |(deposit, monthly)| {
        (deposit.minor() + extras, monthly.minor())
    });
    Lease {
        id: checkout.id.to_string(),
        state,
        deposit,
        extras,
        monthly,
        months: checkout.term.map_or(0, |term| u32::from(term.months.get())),
        held: match &checkout.deposit {
            Deposit::Open | Deposit::Waived => Held::Nothing,
            Deposit::Authorized { hold } => Held::Hold(hold.payment_intent_id.clone()),
            Deposit::Captured { hold, .. } => Held::Taken(hold.payment_intent_id.clone()),
        },
        subscription: match &checkout.recurring.billing {
            Billing::Active {
                subscription_id, ..
            } => Some(subscription_id.clone()),
            _ => None,
        },
        is_due: matches!(checkout.recurring.billing, Billing::Requested { .. })
            && !state.is_ended(),
        paid: checkout.recurring.paid_cycles,
        is_over: checkout.has_run_its_term(now.date_naive()),
        is_shown: is_told || checkout.progress().needs_attention(),
        sums,
        units: match checkout.holds_stock {
            true => checkout.quantity().get(),
            false => 0,
        },
        open_jobs,
        dead_jobs,
    }
}
