//! Whatever happens to a checkout, in whatever order, these rules hold.

use chrono::TimeDelta;
use lessor_domain::catalog::StockTaken;
use lessor_domain::checkout::{
    Actor, Applied, Arrow, Billing, Checkout, Circumstances, Deposit, Effect, Event, EventKind,
    Facts, Lifecycle, Move, Obstacle, Outcome, Phase, RecurringPaymentStatus, TransitionError,
    arrows_from, transition,
};
use lessor_domain::customer::{CreditStatus, IdentityStatus};
use lessor_domain::ids::ApiKeyPubId;
use lessor_domain::ports::Clock;
use lessor_domain::testing::{Details, Fixtures, event};
use lessor_domain::time::add_months;
use proptest::prelude::*;
use uuid::Uuid;

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
struct Command {
    /// Which event, among those that move the checkout on or among all.
    pick: prop::sample::Index,
    /// Whether the event is one of those that the state has arrows for.
    possible: bool,
    /// Whether it is an ending or a step back.
    detour: bool,
    /// Whether it happens twice, as whatever is delivered at least once may.
    twice: bool,
    /// Who tells of it, where it is not one who can.
    stranger: Option<Actor>,
    details: Details,
    /// What is known of the customer by then.
    facts: Facts,
}

fn facts() -> impl Strategy<Value = Facts> {
    let identity = prop_oneof![
        3 => Just(IdentityStatus::None),
        1 => Just(IdentityStatus::Processing),
        1 => Just(IdentityStatus::Verified),
        1 => Just(IdentityStatus::Failed),
    ];
    let credit = prop_oneof![
        3 => Just(CreditStatus::Unknown),
        1 => Just(CreditStatus::Passed),
        1 => Just(CreditStatus::Failed),
    ];
    (any::<bool>(), identity, credit).prop_map(|(profile_complete, identity, credit)| Facts {
        profile_complete,
        identity,
        credit,
    })
}

fn command() -> impl Strategy<Value = Command> {
    let details =
        (any::<bool>(), any::<bool>(), 0_u32..1_000).prop_map(|(tracked, reusable, number)| {
            Details {
                tracked,
                reusable,
                number,
            }
        });
    (
        any::<prop::sample::Index>(),
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.06),
        prop::bool::weighted(0.3),
        prop::option::weighted(0.15, prop::sample::select(Actor::ALL)),
        details,
        facts(),
    )
        .prop_map(
            |(pick, possible, detour, twice, stranger, details, facts)| Command {
                pick,
                possible,
                detour,
                twice,
                stranger,
                details,
                facts,
            },
        )
}

/// Endings and steps back are rare: they would keep most checkouts from coming far.
fn choose(checkout: &Checkout, command: &Command) -> EventKind {
    if !command.possible {
        return *command.pick.get(EventKind::ALL);
    }
    let is_detour = |arrow: &Arrow| {
        let ends = arrow.to.is_ended() && arrow.to != Lifecycle::Returned;
        ends || arrow.to.rank() < arrow.from.rank()
    };
    let choices: Vec<Arrow> = arrows_from(checkout.lifecycle())
        .filter(|arrow| is_detour(arrow) == command.detour)
        .collect();
    if choices.is_empty() {
        *command.pick.get(EventKind::ALL)
    } else {
        command.pick.get(&choices).event
    }
}

/// A checkout and what the world outside of it counts.
struct World {
    make: Fixtures,
    checkout: Checkout,
    /// Units of stock that were taken and not given back.
    stock: i32,
    subscriptions_asked_for: u32,
    /// The states that it has been in.
    seen: Vec<Lifecycle>,
}

/// What happens once the deposit is gone, or has to be.
fn deposit_effects(applied: &Applied) -> Vec<Effect> {
    let is_about_deposit =
        |effect: &&Effect| matches!(effect, Effect::VoidDeposit | Effect::RefundDeposit);
    applied
        .effects
        .iter()
        .filter(is_about_deposit)
        .copied()
        .collect()
}

impl World {
    fn new(start: Lifecycle, with_term: bool, with_address: bool) -> Self {
        let make = Fixtures::default();
        let organization = make.organization().build();
        let customer = make.customer(&organization).build();
        let product = make.product(&organization).build();
        let variant = make.variant(&product).build();
        let term = make.lease_term(&organization).build();
        let mut builder = make.checkout(&customer, &variant).at(start);
        if with_term {
            builder = builder.term(&term);
        }
        if with_address {
            builder = builder.ships_to(make.address());
        }
        let checkout = builder.build();
        Self {
            make,
            checkout,
            stock: 0,
            subscriptions_asked_for: 0,
            seen: vec![start],
        }
    }

    fn happen(&mut self, command: &Command) {
        let kind = choose(&self.checkout, command);
        let at = self.make.clock().advance(TimeDelta::minutes(1));
        let actors = kind.actors();
        let actor = command
            .stranger
            .unwrap_or_else(|| *command.pick.get(actors));
        let by = Circumstances::new(at, actor);
        let event = event(kind, command.details, &self.checkout, &self.make, at);
        let first = self.apply(&event, &by, &command.facts);
        if command.twice {
            let again = self.apply(&event, &by, &command.facts);
            // Whatever delivers events at least once is safe. That a person changed nobody delivers: who
            // changes them says it once, and each time the checks are asked for anew.
            let asks_anew = matches!(kind, EventKind::PersonChanged | EventKind::CreditReopened);
            let expected = first.map(|_| match again {
                Some(Outcome::Applied) if asks_anew => Outcome::Applied,
                _ => Outcome::AlreadyApplied,
            });
            assert_eq!(
                again,
                expected,
                "{event:?} again, in {}",
                self.checkout.lifecycle()
            );
        }
    }

    /// None when it was refused.
    fn apply(&mut self, event: &Event, by: &Circumstances, facts: &Facts) -> Option<Outcome> {
        let before = self.checkout.clone();
        let result = self.checkout.apply(event.clone(), by, facts);
        match &result {
            Err(error) => self.was_refused(&before, event, by, error),
            Ok(applied) if applied.outcome == Outcome::AlreadyApplied => {
                self.was_known(&before, event, applied);
            }
            Ok(applied) => self.was_applied(&before, event, by, applied),
        }
        self.makes_sense();
        result.ok().map(|applied| applied.outcome)
    }

    fn was_refused(
        &self,
        before: &Checkout,
        event: &Event,
        by: &Circumstances,
        error: &TransitionError,
    ) {
        assert_eq!(
            &self.checkout, before,
            "a refused event changes nothing: {event:?}"
        );
        assert_eq!(
            (error.from, error.event),
            (before.lifecycle(), event.kind())
        );
        assert_eq!(
            matches!(error.obstacle, Obstacle::NotOpenTo { .. }),
            !event.kind().is_open_to(by.actor),
            "{event:?} by {}: {error}",
            by.actor
        );
        assert!(
            std::error::Error::source(error).is_some_and(|why| !why.to_string().is_empty()),
            "a refusal says why"
        );
    }

    fn was_known(&self, before: &Checkout, event: &Event, applied: &Applied) {
        assert!(
            applied.transitions.is_empty() && applied.effects.is_empty() && !applied.releases_stock,
            "a replay asks for nothing: {event:?} gave {applied:?}"
        );
        assert_eq!(
            &self.checkout, before,
            "a replay changes nothing: {event:?}"
        );
    }

    /// What comes after the end moves nothing and asks for nothing: what was made meanwhile is in the
    /// ledger, and let go of.
    fn was_late(&self, before: &Checkout, event: &Event, applied: &Applied) {
        assert_eq!(self.checkout.lifecycle(), before.lifecycle());
        assert!(
            applied.effects.is_empty() && !applied.releases_stock,
            "{event:?} gave {applied:?}"
        );
        assert_eq!(before.deposit, self.checkout.deposit, "{event:?}");
        assert_eq!(
            before.recurring.billing, self.checkout.recurring.billing,
            "{event:?}"
        );
    }

    fn was_applied(
        &mut self,
        before: &Checkout,
        event: &Event,
        by: &Circumstances,
        applied: &Applied,
    ) {
        assert_eq!(self.checkout.updated_at, by.at);
        // The steps are a path through the table that begins and ends where the checkout did.
        let mut place = before.lifecycle();
        for step in &applied.transitions {
            assert_eq!(step.from, place, "{applied:?}");
            let allowed = match transition(step.from, step.event) {
                Move::To(to) => to == step.to,
                Move::Stay => step.to == step.from,
                Move::IfSame | Move::AlreadyApplied | Move::Refused => false,
            };
            assert!(allowed, "{step:?} is not in the table");
            if step.to != step.from {
                assert_eq!(step.at, by.at);
                self.seen.push(step.to);
                self.progress_rises(step.from, step.to);
            }
            place = step.to;
        }
        assert_eq!(place, self.checkout.lifecycle(), "{applied:?}");
        assert!(
            applied
                .transitions
                .first()
                .is_some_and(|step| step.event == event.kind()),
            "the first step is the event's own: {applied:?}"
        );
        if before.lifecycle().is_ended() {
            self.was_late(before, event, applied);
        }
        self.stock_is_counted(before, event, applied);
        self.deposits_are_let_go(before, applied);
        self.billing_is_asked_for_once(before, applied);
    }

    /// Percentages along the way that meets no obstacle.
    fn progress_rises(&self, from: Lifecycle, to: Lifecycle) {
        let is_ahead = from
            .rank()
            .zip(to.rank())
            .is_some_and(|(from, to)| from < to);
        if is_ahead {
            assert!(from.percentage() <= to.percentage(), "{from} -> {to} falls");
        }
    }

    fn stock_is_counted(&mut self, before: &Checkout, event: &Event, applied: &Applied) {
        // A unit that nobody counts is held too: should counting begin, it comes back.
        let is_taken = match event {
            Event::DepositAuthorized { stock, .. } => *stock != StockTaken::NoneLeft,
            Event::StockFreed { stock } => {
                *stock != StockTaken::NoneLeft
                    && before.lifecycle() == Lifecycle::WaitlistedAfterDeposit
            }
            _ => false,
        };
        // Stock is taken for a checkout that moves on with it, not for a late answer.
        let is_taken = is_taken && before.lifecycle() != self.checkout.lifecycle();
        self.stock += i32::from(is_taken) - i32::from(applied.releases_stock);
        assert!(
            (0..=1).contains(&self.stock),
            "{event:?} leaves {} units",
            self.stock
        );
        assert_eq!(
            self.checkout.holds_stock,
            self.stock == 1,
            "a unit is held until it is given back, once: {event:?}"
        );
        assert_eq!(
            applied.releases_stock,
            before.holds_stock && !self.checkout.holds_stock,
            "{event:?}"
        );
        if matches!(
            self.checkout.lifecycle(),
            Lifecycle::Cancelled | Lifecycle::Expired
        ) {
            assert_eq!(self.stock, 0, "who ends without a lease keeps no stock");
        }
    }

    fn deposits_are_let_go(&self, before: &Checkout, applied: &Applied) {
        let ends = self.checkout.lifecycle().is_ended() && !before.lifecycle().is_ended();
        let expected: &[Effect] = match before.deposit {
            _ if !ends => &[],
            Deposit::Captured { .. } => &[Effect::RefundDeposit],
            Deposit::Authorized { .. } => &[Effect::VoidDeposit],
            Deposit::Open if before.deposit_submitted_at.is_some() => &[Effect::VoidDeposit],
            Deposit::Open | Deposit::Waived => &[],
        };
        assert_eq!(
            deposit_effects(applied),
            expected,
            "a deposit is let go exactly when its checkout ends: {} -> {}",
            before.lifecycle(),
            self.checkout.lifecycle()
        );
    }

    fn billing_is_asked_for_once(&mut self, before: &Checkout, applied: &Applied) {
        let count = |wanted: Effect| {
            applied
                .effects
                .iter()
                .filter(|effect| **effect == wanted)
                .count()
        };
        self.subscriptions_asked_for += u32::try_from(count(Effect::CreateSubscription)).unwrap();
        assert!(
            self.subscriptions_asked_for <= 1,
            "one subscription for each checkout, ever"
        );
        assert_eq!(
            self.checkout.recurring.billing != Billing::NotRequested,
            self.subscriptions_asked_for == 1
        );
        let ends = self.checkout.lifecycle().is_ended() && !before.lifecycle().is_ended();
        let ends_billed = ends && self.subscriptions_asked_for == 1;
        assert_eq!(
            count(Effect::CancelSubscription),
            usize::from(ends_billed),
            "billing ends with the checkout, and only then"
        );
        let is_undone = ends_billed && !self.checkout.lifecycle().is_leased();
        assert_eq!(
            count(Effect::RefundPayments),
            usize::from(is_undone),
            "what was paid for a lease that never was is paid back"
        );
    }

    /// What must be true of a checkout at any time.
    fn makes_sense(&self) {
        let checkout = &self.checkout;
        let state = checkout.lifecycle();
        let progress = checkout.progress();
        assert!(progress.percentage <= 100);
        assert_eq!(
            progress.percentage == 100,
            matches!(state.phase(), Phase::Active | Phase::Return),
            "{state} is at {} %",
            progress.percentage
        );
        if state.is_confirmed() {
            assert!(checkout.deposit.is_settled(), "{state} is paid");
            assert!(checkout.signed_at.is_some(), "{state} is signed");
            assert!(checkout.recurring.method.is_some(), "{state} can be billed");
            assert!(checkout.term.is_some(), "{state} has a term");
        }
        if matches!(state.phase(), Phase::Active | Phase::Return) {
            let start = checkout.lease.start.unwrap();
            let months = u32::from(checkout.term.unwrap().months.get());
            assert_eq!(checkout.lease.end, add_months(start, months));
            assert!(checkout.quote.is_some(), "{state} has a price");
            assert_eq!(
                checkout.recurring.billing.status(),
                RecurringPaymentStatus::Active
            );
        }
        assert_eq!(
            Checkout::restore(checkout.clone().into_snapshot()).as_ref(),
            Ok(checkout),
            "a store puts together what it took apart"
        );
        if state == Lifecycle::Shipped {
            assert!(checkout.shipment.shipped_at.is_some());
        }
        if state.is_waitlisted() {
            assert!(checkout.waitlist.is_some(), "{state} waits for something");
        }
        if checkout.holds_stock {
            // A deposit that was authorized stays so while somebody who changed is asked again.
            let is_asked_again = (Lifecycle::IdentityRequired..=Lifecycle::DepositPending)
                .contains(&state)
                && checkout.deposit != Deposit::Open;
            assert!(
                state.is_confirmed()
                    || is_asked_again
                    || matches!(
                        state,
                        Lifecycle::RecurringPaymentMethodPending
                            | Lifecycle::DocumentsPending
                            | Lifecycle::CaptureFailed
                    ),
                "{state} holds stock"
            );
        }
    }
}

fn start() -> impl Strategy<Value = Lifecycle> {
    prop_oneof![
        6 => Just(Lifecycle::Created),
        1 => Just(Lifecycle::WaitlistedAfterProfile),
        1 => Just(Lifecycle::WaitlistedLocation),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn the_rules_hold_whatever_happens(
        start in start(),
        with_term in prop::bool::weighted(0.9),
        with_address in any::<bool>(),
        commands in prop::collection::vec(command(), 1..80),
    ) {
        let mut world = World::new(start, with_term, with_address);
        let begun = world.make.clock().now();
        for command in &commands {
            world.happen(command);
        }
        prop_assert!(world.make.clock().now() > begun);
    }
}

/// What a checkout passes through by a key's request names the key as well.
#[test]
fn a_move_names_the_key_that_asked_for_it() {
    let screened = Facts {
        profile_complete: true,
        identity: IdentityStatus::Verified,
        credit: CreditStatus::Passed,
    };
    let fixtures = Fixtures::seeded(1);
    let key = fixtures.id::<ApiKeyPubId>();
    // The command line has none.
    let nil = ApiKeyPubId::from_uuid(Uuid::nil());
    for (with, named) in [(Some(key), Some(key)), (Some(nil), None), (None, None)] {
        let mut checkout = World::new(Lifecycle::Created, true, false).checkout;
        let by = Circumstances::new(fixtures.tick(), Actor::System);
        let by = match with {
            Some(key) => by.with_key(key),
            None => by,
        };
        let event = Event::ProfileCompleted;
        let applied = checkout.apply(event, &by, &screened).unwrap();
        assert!(applied.transitions.len() > 1, "{:?}", applied.transitions);
        for passed in applied.transitions {
            assert_eq!(passed.key, named, "{passed:?}");
        }
    }
}

/// The property is worth what it reaches: chance has to find every state.
#[test]
fn chance_reaches_every_state() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let commands = prop::collection::vec(command(), 80);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..400 {
        let start = start().new_tree(&mut runner).unwrap().current();
        let mut world = World::new(start, true, false);
        for command in commands.new_tree(&mut runner).unwrap().current() {
            world.happen(&command);
        }
        seen.extend(world.seen);
    }
    let missed: Vec<_> = Lifecycle::ALL
        .iter()
        .filter(|state| !seen.contains(state))
        .collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}
