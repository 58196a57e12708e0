//! What must hold after every life, each by its name.

use std::collections::BTreeMap;

use lessor_domain::checkout::Lifecycle;

use crate::books::{Books, Held, Lease};
use crate::ledger::Account;

/// What a life came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct End {
    /// What Lessor says.
    pub books: Books,
    /// What the processor says.
    pub accounts: BTreeMap<String, Account>,
    /// Units that there were at first and that were added.
    pub stock: Option<u32>,
    /// Messages of which the processor was never told that they came.
    pub lost_messages: usize,
    /// Days since each customer did anything, by their checkout.
    pub idle_days: BTreeMap<String, i64>,
    /// What was in doubt without being shown, when nothing went wrong any more.
    pub doubts: Vec<String>,
    /// Stores that failed where nothing was wrong, and panics.
    pub broken: Vec<String>,
    /// Whether everything came to rest.
    pub rests: bool,
}

/// Something that must hold, and did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The name of the invariant.
    pub invariant: &'static str,
    /// What is wrong.
    pub what: String,
}

/// Something that must hold after every life.
pub struct Invariant {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub says: &'static str,
    check: Check,
}

enum Check {
    /// Of each lease and its account.
    Each(fn(&Lease, &Account) -> Option<String>),
    /// Of the whole.
    All(fn(&End) -> Option<String>),
}

/// Seconds of a day.
const DAY: i64 = 86_400;
/// How long money is held of somebody who does nothing, in days.
const LONGEST_HOLD: i64 = 45;
/// How often a card may decline in a day while its holder is away.
const MOST_DECLINES: usize = 4;

macro_rules! invariants {
    ($($name:ident $kind:ident $says:literal $check:expr;)*) => {
        /// All of them.
        pub const ALL: &[Invariant] = &[$(
            Invariant { name: stringify!($name), says: $says, check: Check::$kind($check) },
        )*];
    };
}

invariants! {
    deposits_agree Each "the processor keeps of deposits, to the unit, what the lease says" deposits;
    refunds_arrive Each "a refund that the bank sends back is made again, or shown" bounced;
    no_hold_outlives Each "nothing is held for a checkout that has ended" |lease, account| {
        let held = account.deposits.iter().find(|it| is_held(&it.status))?;
        (lease.state.is_ended() && lease.dead_jobs.is_empty())
            .then(|| format!("it is {} and {} is held", lease.state, held.id))
    };
    rows_agree Each "what the rows say is held, taken, paid and paid back is so, to the unit" |lease, account| {
        let agrees = lease.sums == account.sums || !lease.dead_jobs.is_empty();
        (!agrees).then(|| {
            format!(
                "it is {}; held, captured, paid, refunded are {:?}, and the rows say {:?}",
                lease.state, account.sums, lease.sums
            )
        })
    };
    one_hold Each "what is held for a running checkout is the one hold that it knows" |lease, account| {
        let known = match &lease.held {
            Held::Hold(id) => id.as_str(),
            Held::Nothing | Held::Taken(_) => "",
        };
        let other = account.deposits.iter().find(|it| is_held(&it.status) && it.id != known)?;
        (!lease.state.is_ended() && lease.open_jobs.is_empty() && lease.dead_jobs.is_empty())
            .then(|| format!("it is {} and knows `{known}`, and {} is held", lease.state, other.id))
    };
    billed_once Each "at most one subscription bills a lease" |_, account| {
        let running: Vec<_> = account.subscriptions.iter().filter(|it| it.runs()).collect();
        (running.len() > 1).then(|| format!("{} subscriptions run", running.len()))
    };
    end_of_billing Each "nothing bills a checkout that has ended" |lease, account| {
        let running = account.subscriptions.iter().find(|it| it.runs())?;
        (lease.state.is_ended() && lease.dead_jobs.is_empty())
            .then(|| format!("it is {} and {} is {}", lease.state, running.id, running.status))
    };
    no_lease_no_charge Each "who got no lease has paid no month of it" |lease, account| {
        let kept: i64 = account.invoices().map(|invoice| invoice.kept).sum();
        (lease.never_was() && kept != 0 && lease.dead_jobs.is_empty())
            .then(|| format!("it is {} and {kept} of its payments were kept", lease.state))
    };
    payments_agree Each "the processor was paid as often as the lease says, and what it says" |lease, account| {
        if lease.never_was() {
            return None;
        }
        let paid = account.invoices().filter(|invoice| invoice.paid > 0);
        let sum: i64 = paid.map(|invoice| invoice.paid).sum();
        let said = i64::from(lease.paid) * lease.monthly;
        (sum != said && !lease.is_shown)
            .then(|| format!("it is {}, says {} payments, {said}; paid is {sum}", lease.state, lease.paid))
    };
    never_too_often Each "no lease is paid more often than agreed" |lease, account| {
        let paid = account.invoices().filter(|invoice| invoice.paid > 0).count();
        (paid > usize::try_from(lease.months).unwrap_or(0) && !lease.is_shown)
            .then(|| format!("{paid} of {} payments were made", lease.months))
    };
    runs_and_bills Each "a lease that runs is billed, or paid, or shown" |lease, account| {
        let runs = account.subscriptions.iter().any(|it| it.runs() && it.status != "incomplete");
        let paid = account.invoices().filter(|invoice| invoice.paid > 0).count();
        let all_paid = paid >= usize::try_from(lease.months).unwrap_or(0);
        (lease.state == Lifecycle::LeaseActive && !runs && !all_paid && !lease.is_shown)
            .then(|| format!("nothing bills it, {paid} of {} payments are made", lease.months))
    };
    bills_as_agreed Each "what bills a lease costs what was agreed, ends and collects, or is shown" |lease, account| {
        let odd = account.subscriptions.iter().find(|it| {
            it.runs() && (it.monthly != lease.monthly || !it.ends || !it.collects)
        })?;
        (!lease.is_shown).then(|| {
            format!(
                "{}: {} a month for {}, {}, {}", odd.id, odd.monthly, lease.monthly,
                if odd.ends { "ends" } else { "never ends" },
                if odd.collects { "collects" } else { "collects nothing" },
            )
        })
    };
    due_is_billed Each "who has the goods is billed, or it is shown" |lease, _| {
        (lease.is_due && !lease.is_shown)
            .then(|| format!("it is {}, billing was asked for, and nothing bills", lease.state))
    };
    trouble_is_shown Each "a payment that failed or is contested is shown" |lease, account| {
        // Who got no lease owes nothing: what was not paid of it nobody collects any more.
        let failed = account.invoices().find(|it| {
            !lease.never_was() && it.attempted && matches!(it.status.as_str(), "open" | "uncollectible")
        });
        let what = match (failed, account.contested.first()) {
            (Some(invoice), _) => format!("{} was not paid", invoice.id),
            (None, Some(dispute)) => format!("{dispute} is open"),
            (None, None) => return None,
        };
        (!lease.is_shown).then_some(what)
    };
    terms_end Each "a lease that was paid to its end does not run on" |lease, _| {
        (lease.state == Lifecycle::LeaseActive && lease.is_over).then(|| "its term is over".to_owned())
    };
    no_storm Each "a card that declines is not asked again and again" |_, account| {
        let worst = account.declined.iter().map(|at| {
            account.declined.iter().filter(|other| (*at..at + DAY).contains(other)).count()
        });
        worst.max().filter(|most| *most > MOST_DECLINES).map(|most| format!("{most} times in a day"))
    };
    jobs_end Each "every job is done or visibly dead" |lease, _| {
        (!lease.open_jobs.is_empty())
            .then(|| format!("open: {}; dead: {}", lease.open_jobs.join(", "), lease.dead_jobs.join(", ")))
    };
    doubt_is_shown All "what is in doubt although nothing goes wrong any more is shown" |end| {
        (!end.doubts.is_empty()).then(|| end.doubts.join("; "))
    };
    holds_end All "nothing is held for ever of who walked away" |end| {
        end.accounts.iter().find_map(|(id, account)| {
            let days = *end.idle_days.get(id)?;
            let held = account.deposits.iter().find(|it| is_held(&it.status))?;
            (days > LONGEST_HOLD).then(|| format!("{} is held after {days} days", held.id))
        })
    };
    other_jobs_end All "every job about no checkout is done or visibly dead" |end| {
        (!end.books.other_jobs.is_empty()).then(|| end.books.other_jobs.join(", "))
    };
    stock_counted All "every unit is free or somebody's" |end| {
        let (all, free) = (end.stock?, end.books.stock?);
        let taken: u32 = end.books.leases.iter().map(|lease| lease.units).sum();
        (free + taken != all)
            .then(|| format!("{free} are free and {taken} are taken of {all}"))
    };
    messages_handled All "every message that was kept was handled" |end| {
        (!end.books.unhandled.is_empty()).then(|| end.books.unhandled.join(", "))
    };
    nothing_breaks All "no store refuses and nothing panics" |end| {
        (!end.broken.is_empty()).then(|| end.broken.join("; "))
    };
    comes_to_rest All "everybody comes to the end of what they do" |end| {
        (!end.rests).then(|| "somebody never does".to_owned())
    };
}

fn is_held(status: &str) -> bool {
    status == "requires_capture"
}

/// What is to be kept of a deposit.
const fn to_be_kept(lease: &Lease) -> i64 {
    match (lease.state, &lease.held) {
        (Lifecycle::Returned, Held::Taken(_)) => lease.extras,
        (state, _) if state.is_ended() => 0,
        (_, Held::Taken(_)) => lease.deposit,
        (_, Held::Nothing | Held::Hold(_)) => 0,
    }
}

fn deposits(lease: &Lease, account: &Account) -> Option<String> {
    let (due, kept) = (to_be_kept(lease), account.deposits_kept());
    // What came back from the bank has an invariant of its own.
    let agrees = kept == due || kept - account.bounced == due;
    (!agrees && lease.dead_jobs.is_empty()).then(|| {
        format!(
            "it is {}: {due} are to be kept of its deposit, and {kept} are",
            lease.state
        )
    })
}

fn bounced(lease: &Lease, account: &Account) -> Option<String> {
    let is_owed = account.bounced > 0 && account.deposits_kept() > to_be_kept(lease);
    (is_owed && !lease.is_shown)
        .then(|| format!("it is {}, and {} came back", lease.state, account.bounced))
}

impl End {
    /// All that does not hold.
    #[must_use]
    pub fn failures(&self) -> Vec<Failure> {
        let none = Account::default();
        let mut failures = Vec::new();
        for invariant in ALL {
            let mut fail = |what| {
                failures.push(Failure {
                    invariant: invariant.name,
                    what,
                });
            };
            match invariant.check {
                Check::All(check) => check(self).into_iter().for_each(&mut fail),
                Check::Each(check) => {
                    for lease in &self.books.leases {
                        let account = self.accounts.get(&lease.id).unwrap_or(&none);
                        check(lease, account).into_iter().for_each(&mut fail);
                    }
                }
            }
        }
        failures
    }
}
