//! The simulator itself: that it replays, that it shrinks, and that nothing it checks always holds.

use std::collections::BTreeSet;

use lessor_domain::checkout::Lifecycle;
use lessor_simulator::books::{Books, Held, Lease};
use lessor_simulator::invariants::{ALL, End};
use lessor_simulator::ledger::{Account, Billed, Invoice, Payment};
use lessor_simulator::{Stagehand, shrink};

#[test]
fn the_same_seed_is_the_same_life() {
    let hand = Stagehand::default();
    for seed in 0..30 {
        let first = hand.tell(seed);
        assert_eq!(hand.tell(seed), first, "seed {seed} is another life again");
        let elsewhere = std::thread::spawn(move || Stagehand::default().tell(seed));
        assert_eq!(elsewhere.join().unwrap(), first, "seed {seed} elsewhere");
        assert_eq!(
            hand.replay(&first.story, true),
            first,
            "seed {seed} told again"
        );
    }
}

#[test]
fn lives_differ_and_come_far() {
    let hand = Stagehand::default();
    let lives: Vec<_> = (0..200).map(|seed| hand.live(seed)).collect();
    let stories: BTreeSet<_> = lives.iter().map(|life| &life.story).collect();
    assert!(stories.len() > 190);
    let states: BTreeSet<_> = lives
        .iter()
        .flat_map(|life| &life.end.books.leases)
        .map(|lease| lease.state.as_str())
        .collect();
    for state in [
        Lifecycle::Cancelled,
        Lifecycle::LeaseActive,
        Lifecycle::Returned,
        Lifecycle::ReturnPending,
        Lifecycle::Expired,
        Lifecycle::DepositFailed,
        Lifecycle::WaitlistedAfterDeposit,
    ] {
        assert!(states.contains(state.as_str()), "{state} is never reached");
    }
}

#[test]
fn a_story_is_shrunk_to_what_it_needs() {
    let hand = Stagehand::default();
    // Planted: it is taken for wrong that anybody cancels.
    let shows = |outcome: &lessor_simulator::Outcome| {
        let mut leases = outcome.end.books.leases.iter();
        leases.any(|lease| lease.state == Lifecycle::Cancelled)
    };
    let found = (0..)
        .map(|seed| hand.live(seed))
        .find(|outcome| outcome.story.parts.len() > 15 && shows(outcome));
    let long = found.unwrap().story;
    let short = shrink(&hand, &long, &shows);
    assert!(short.length() < long.length());
    assert_eq!(short.parts.len(), 2, "one move is enough: {short:?}");
    let told = hand.replay(&short, true);
    assert!(shows(&told));
    let words = told.words.join("\n");
    assert!(
        words.contains("The operator cancels") || words.contains("calls the checkout off"),
        "{words}"
    );
}

/// A lease that runs, and an account that fits it.
fn running() -> (Lease, Account) {
    let lease = Lease {
        id: "chk_1".to_owned(),
        state: Lifecycle::LeaseActive,
        deposit: 100,
        extras: 0,
        monthly: 50,
        months: 3,
        held: Held::Taken("pi_1".to_owned()),
        subscription: Some("sub_1".to_owned()),
        is_due: false,
        paid: 1,
        is_over: false,
        is_shown: false,
        sums: [0, 100, 50, 0],
        units: 1,
        open_jobs: Vec::new(),
        dead_jobs: Vec::new(),
    };
    let invoice = Invoice {
        id: "in_1".to_owned(),
        status: "paid".to_owned(),
        paid: 50,
        kept: 50,
        attempted: true,
    };
    let account = Account {
        sums: [0, 100, 50, 0],
        deposits: vec![Payment {
            id: "pi_1".to_owned(),
            status: "succeeded".to_owned(),
            kept: 100,
        }],
        subscriptions: vec![Billed {
            id: "sub_1".to_owned(),
            status: "active".to_owned(),
            ends: true,
            collects: true,
            monthly: 50,
            invoices: vec![invoice],
        }],
        ..Account::default()
    };
    (lease, account)
}

fn end_of((lease, account): (Lease, Account)) -> End {
    End {
        accounts: [(lease.id.clone(), account)].into(),
        books: Books {
            leases: vec![lease],
            stock: Some(0),
            ..Books::default()
        },
        stock: Some(1),
        rests: true,
        ..End::default()
    }
}

/// Makes good books wrong.
type Plant = fn(&mut End);

/// What is planted, by the name of the invariant that has to find it.
const PLANTED: &[(&str, Plant)] = &[
    ("rows_agree", |end| end.books.leases[0].sums[2] += 1),
    ("deposits_agree", |end| account(end).deposits[0].kept = 99),
    ("refunds_arrive", |end| {
        lease(end).state = Lifecycle::Returned;
        account(end).bounced = 100;
    }),
    ("no_hold_outlives", |end| {
        lease(end).state = Lifecycle::Cancelled;
        account(end).deposits[0].status = "requires_capture".to_owned();
    }),
    ("one_hold", |end| {
        lease(end).held = Held::Hold("pi_2".to_owned());
        account(end).deposits[0].status = "requires_capture".to_owned();
    }),
    ("billed_once", |end| {
        let again = account(end).subscriptions[0].clone();
        account(end).subscriptions.push(again);
    }),
    ("end_of_billing", |end| {
        lease(end).state = Lifecycle::Returned;
    }),
    ("no_lease_no_charge", |end| {
        lease(end).state = Lifecycle::Cancelled;
    }),
    ("payments_agree", |end| lease(end).paid = 2),
    ("never_too_often", |end| lease(end).months = 0),
    ("runs_and_bills", |end| {
        account(end).subscriptions[0].status = "canceled".to_owned();
    }),
    ("bills_as_agreed", |end| {
        account(end).subscriptions[0].ends = false;
    }),
    ("due_is_billed", |end| lease(end).is_due = true),
    ("trouble_is_shown", |end| {
        account(end).contested.push("dp_1".to_owned());
    }),
    ("terms_end", |end| lease(end).is_over = true),
    ("no_storm", |end| account(end).declined = vec![0; 5]),
    ("jobs_end", |end| {
        lease(end).open_jobs.push("refundDeposit".to_owned());
    }),
    ("other_jobs_end", |end| {
        end.books.other_jobs.push("pushVariant".to_owned());
    }),
    ("doubt_is_shown", |end| {
        end.doubts.push("it is shipped".to_owned());
    }),
    ("holds_end", |end| {
        end.idle_days.insert("chk_1".to_owned(), 60);
        account(end).deposits[0].status = "requires_capture".to_owned();
    }),
    ("stock_counted", |end| end.books.stock = Some(1)),
    ("messages_handled", |end| {
        end.books.unhandled.push("evt_1".to_owned());
    }),
    ("nothing_breaks", |end| {
        end.broken.push("a panic".to_owned());
    }),
    ("comes_to_rest", |end| end.rests = false),
];

fn lease(end: &mut End) -> &mut Lease {
    &mut end.books.leases[0]
}

fn account(end: &mut End) -> &mut Account {
    end.accounts.entry("chk_1".to_owned()).or_default()
}

#[test]
fn every_invariant_holds_of_good_books_and_fails_of_wrong_ones() {
    assert_eq!(end_of(running()).failures(), []);
    for (name, plant) in PLANTED {
        let mut end = end_of(running());
        plant(&mut end);
        let found: Vec<_> = end.failures().iter().map(|it| it.invariant).collect();
        assert!(found.contains(name), "{name} was planted, found: {found:?}");
    }
    let planted: BTreeSet<_> = PLANTED.iter().map(|(name, _)| *name).collect();
    let all: BTreeSet<_> = ALL.iter().map(|invariant| invariant.name).collect();
    assert_eq!(planted, all, "each is planted");
}
