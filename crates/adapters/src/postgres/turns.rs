//! Whose turn it is to have a connection.
//!
//! Connections are few, and an organization that asks for more than there are must not keep the others
//! waiting. Whoever begins something therefore takes a turn of its organization first. A turn that is given
//! back goes to that of the waiting organizations which has the fewest.
//!
//! How many one may have at a time depends on how many had turns lately. One alone has most of the connections, but for a few, so
//! that whoever comes new need not wait for one to be left. Several have a share each, also while the others are between two
//! requests: the database's processors are fewer than its connections, and a request that finds
//! them all at work for another takes as long as if it had waited.
//!
//! Within an organization those who came first go first, as long as none waits for long. Once one does, there is more to
//! do than can be done: then the newest goes first, so that what is answered is answered soon, work that has begun is
//! ended, and the others are refused before anything was done for them. Served in their order, all would wait
//! until nearly none had anything of the answer.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lessor_domain::ports::Reach;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// How many of an organization may wait: each holds what it was asked in memory.
const MOST_WAITING: usize = 1_024;
/// The part of the time that somebody may wait after which there is more to do than can be done.
const LATE: u32 = 8;
/// Where there are several organizations, each has one part of so many. On two processors that the database shares with
/// whoever asks, of a pool of ten: two transactions at a time of one that asks for three times what can be done make another's
/// take 1.6 times as long, three 2.3 times, seven 3.8 times; two get nine tenths of what seven get.
const PARTS: usize = 5;
/// And no fewer than these, so that what takes long does not keep all else of the same organization waiting.
const LEAST: usize = 2;
/// Whoever had a turn within this time is reckoned with.
const LATELY: Duration = Duration::from_secs(10);

/// That there was no turn in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Late;

/// Who has turns, and who waits for one. Cloning it shares them.
#[derive(Debug, Clone)]
pub(super) struct Turns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    /// The longest that anybody waits.
    patience: Duration,
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    taken: usize,
    /// Grows with every turn.
    clock: u64,
    /// Of whom nothing is taken and nobody waits has none.
    lines: HashMap<Reach, Line>,
    lately: Lately,
}

/// Which organizations asked for a turn lately: those of this while, and of the one before it.
#[derive(Debug, Default)]
struct Lately {
    /// When this while began.
    since: Option<Instant>,
    now: HashSet<Reach>,
    before: HashSet<Reach>,
    /// How many they are.
    count: usize,
}

impl Lately {
    fn note(&mut self, whose: Reach, at: Instant) {
        // What the server does by itself is of nobody's share.
        if whose == Reach::Server {
            return;
        }
        let passed = self.since.map(|since| at.duration_since(since));
        if passed.is_none_or(|passed| passed >= LATELY) {
            self.before = std::mem::take(&mut self.now);
            if passed.is_none_or(|passed| passed >= LATELY * 2) {
                self.before.clear();
            }
            self.since = Some(at);
            self.count = self.before.len();
        }
        if self.now.insert(whose) && !self.before.contains(&whose) {
            self.count = self.count.saturating_add(1);
        }
    }
}

#[derive(Debug, Default)]
struct Line {
    taken: usize,
    /// When it last had a turn.
    served: u64,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    call: oneshot::Sender<Turn>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    /// None once it is given back.
    turns: Option<Turns>,
    whose: Reach,
}

impl Turns {
    /// So many at a time. Nobody waits longer than this.
    pub(super) fn new(most: usize, patience: Duration) -> Self {
        Self(Arc::new(Inner {
            most,
            patience,
            lines: Mutex::default(),
        }))
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        let lines = self.lines();
        let waiting = lines.lines.values().map(|line| line.waiting.len());
        waiting.sum()
    }

    /// A turn, as soon as it is theirs.
    ///
    /// # Errors
    /// [`Late`] when it is not in time, or too many wait already.
    pub(super) async fn take(&self, whose: Reach) -> Result<Turn, Late> {
        let called = {
            let mut lines = self.lines();
            let since = Instant::now();
            lines.lately.note(whose, since);
            let (is_free, share) = (lines.taken < self.0.most, lines.share(self.0.most));
            let line = lines.lines.entry(whose).or_default();
            if is_free && line.taken < share {
                // None of theirs waits: they would have had it.
                return Ok(self.give(&mut lines, whose));
            }
            // Those who went away make room.
            if line.waiting.len() >= MOST_WAITING {
                line.waiting.retain(|waiting| !waiting.call.is_closed());
            }
            if line.waiting.len() >= MOST_WAITING {
                return Err(Late);
            }
            let (call, called) = oneshot::channel();
            line.waiting.push_back(Waiting { since, call });
            called
        };
        match timeout(self.0.patience, called).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(Late),
        }
    }

    fn give(&self, lines: &mut Lines, whose: Reach) -> Turn {
        lines.taken = lines.taken.saturating_add(1);
        lines.clock = lines.clock.saturating_add(1);
        let line = lines.lines.entry(whose).or_default();
        line.taken = line.taken.saturating_add(1);
        line.served = lines.clock;
        Turn {
            turns: Some(self.clone()),
            whose,
        }
    }

    /// Takes a turn back, and gives the next.
    fn end(&self, whose: Reach) {
        let mut lines = self.lines();
        lines.take_back(whose);
        let now = Instant::now();
        while lines.taken < self.0.most {
            let late = self.0.patience / LATE;
            let share = lines.share(self.0.most);
            let Some((next, call)) = lines.next(share, now, late) else {
                break;
            };
            let turn = self.give(&mut lines, next);
            if let Err(mut turn) = call.send(turn) {
                // They went away. What is dropped here would come back here.
                turn.turns = None;
                lines.take_back(next);
            }
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    /// The most that one may have at a time of so many.
    fn share(&self, most: usize) -> usize {
        let alone = most.saturating_sub(most.div_ceil(4));
        let share = match self.lately.count {
            0 | 1 => alone,
            _ => most.div_ceil(PARTS).max(LEAST),
        };
        share.min(alone).max(1)
    }

    fn take_back(&mut self, whose: Reach) {
        self.taken = self.taken.saturating_sub(1);
        if let Some(line) = self.lines.get_mut(&whose) {
            line.taken = line.taken.saturating_sub(1);
            if line.taken == 0 && line.waiting.is_empty() {
                self.lines.remove(&whose);
            }
        }
    }

    /// Who is next: of the line that has the fewest turns, and of those the one that was served least lately.
    fn next(
        &mut self,
        share: usize,
        now: Instant,
        late: Duration,
    ) -> Option<(Reach, oneshot::Sender<Turn>)> {
        loop {
            let may = |line: &Line| !line.waiting.is_empty() && line.taken < share;
            let waiting = self.lines.iter().filter(|(_, line)| may(line));
            let (whose, _) = waiting.min_by_key(|(_, line)| (line.taken, line.served))?;
            let whose = *whose;
            let line = self.lines.get_mut(&whose)?;
            let is_late = |first: &Waiting| now.duration_since(first.since) > late;
            let next = if line.waiting.front().is_some_and(is_late) {
                line.waiting.pop_back()
            } else {
                line.waiting.pop_front()
            };
            let next = next.filter(|next| !next.call.is_closed());
            if let Some(next) = next {
                return Some((whose, next.call));
            }
            // Those who went away are lost with nobody else.
            line.waiting.retain(|waiting| !waiting.call.is_closed());
            if line.taken == 0 && line.waiting.is_empty() {
                self.lines.remove(&whose);
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.end(self.whose);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::{BoxFuture, join_all};
    use lessor_domain::ids::OrganizationId;
    use proptest::prelude::*;

    use super::*;

    fn organization(number: i64) -> Reach {
        Reach::Organization(OrganizationId::new(number).unwrap())
    }

    /// Asked for at once; what waits is polled once, so that it stands in line.
    fn ask(turns: &Turns, number: i64) -> BoxFuture<'static, Result<Turn, Late>> {
        let turns = turns.clone();
        let mut asked = async move { turns.take(organization(number)).await }.boxed();
        match asked.as_mut().now_or_never() {
            Some(answer) => std::future::ready(answer).boxed(),
            None => asked,
        }
    }

    fn got(asked: &mut BoxFuture<'static, Result<Turn, Late>>) -> Option<Turn> {
        asked.now_or_never().map(Result::unwrap)
    }

    #[tokio::test]
    async fn who_has_fewer_is_next() {
        let turns = Turns::new(3, Duration::from_secs(60));
        let _held = turns.take(Reach::Server).await.unwrap();
        let (first, second) = (turns.take(organization(1)), turns.take(organization(1)));
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        let mut many: Vec<_> = (0..3).map(|_| ask(&turns, 1)).collect();
        let mut other = ask(&turns, 2);
        drop(first);
        assert!(many.iter_mut().all(|asked| got(asked).is_none()));
        let others = got(&mut other).unwrap();
        drop(second);
        // One each: who was served longer ago.
        let mut again = ask(&turns, 2);
        let third = got(&mut many[0]).unwrap();
        assert!(got(&mut again).is_none());
        drop(others);
        let fourth = got(&mut again).unwrap();
        assert_eq!(turns.waiting(), 2);
        drop((third, fourth));
        assert_eq!(turns.waiting(), 0);
    }

    #[tokio::test]
    async fn some_are_left_for_others() {
        for (most, of_one) in [(1, 1), (2, 1), (5, 3), (8, 6), (20, 15)] {
            let turns = Turns::new(most, Duration::from_secs(60));
            let mut held: Vec<_> = (0..of_one).map(|_| got(&mut ask(&turns, 1))).collect();
            assert!(held.iter().all(Option::is_some), "{most}");
            let mut one_more = ask(&turns, 1);
            assert!(got(&mut one_more).is_none(), "{most}");
            held.pop();
            assert!(got(&mut one_more).is_some(), "{most}");
        }
    }

    #[tokio::test]
    async fn of_several_each_has_a_part() {
        for (most, alone, part) in [(2, 1, 1), (5, 3, 2), (10, 7, 2), (40, 30, 8)] {
            let turns = Turns::new(most, Duration::from_secs(60));
            let mut held: Vec<_> = (0..alone).map(|_| got(&mut ask(&turns, 1))).collect();
            assert!(held.iter().all(Option::is_some), "{most}");
            assert!(got(&mut ask(&turns, 2)).is_some(), "{most}");
            let mut one_more = ask(&turns, 1);
            while held.len() >= part {
                assert!(got(&mut one_more).is_none(), "{most}");
                held.pop();
            }
            assert!(got(&mut one_more).is_some(), "{most}");
        }
    }

    #[test]
    fn who_asked_long_ago_is_reckoned_with_no_more() {
        let begun = Instant::now();
        let mut lately = Lately::default();
        for (whose, after, count) in [
            (Reach::Server, 0, 0),
            (organization(1), 0, 1),
            (organization(2), 1, 2),
            (organization(1), 9, 2),
            // Another while: who asked in the one before counts still.
            (organization(1), 11, 2),
            (organization(3), 12, 3),
            (organization(1), 22, 2),
            // And another, after a while in which nobody asked.
            (organization(1), 60, 1),
        ] {
            lately.note(whose, begun + Duration::from_secs(after));
            assert_eq!(lately.count, count, "{after}");
        }
    }

    #[tokio::test]
    async fn the_newest_goes_first_when_there_is_too_much_to_do() {
        let turns = Turns::new(1, Duration::from_secs(60));
        let _held = turns.take(Reach::Server).await.unwrap();
        let mut asked: Vec<_> = (0..3).map(|_| ask(&turns, 1)).collect();
        let (soon, late) = (Instant::now(), Duration::from_secs(5));
        let call = |now| {
            let mut lines = turns.lines();
            let (next, call) = lines.next(3, now, late).unwrap();
            let turn = turns.give(&mut lines, next);
            call.send(turn).unwrap();
        };
        call(soon);
        call(soon + Duration::from_secs(6));
        let mut called = asked.iter_mut().map(|asked| got(asked).is_some());
        assert!(called.next().unwrap() && !called.next().unwrap() && called.next().unwrap());
    }

    #[tokio::test]
    async fn nobody_waits_longer_than_they_may() {
        let turns = Turns::new(1, Duration::ZERO);
        let held = turns.take(Reach::Server).await.unwrap();
        for _ in 0..2 {
            assert_eq!(turns.take(organization(1)).await.unwrap_err(), Late);
        }
        drop(held);
        assert!(turns.take(organization(1)).await.is_ok());
        assert_eq!(turns.lines().lines.len(), 0);
    }

    #[tokio::test]
    async fn so_many_wait_and_those_who_went_away_are_none_of_them() {
        let turns = Turns::new(1, Duration::from_secs(60));
        let held = turns.take(organization(1)).await.unwrap();
        let asked: Vec<_> = (0..MOST_WAITING).map(|_| ask(&turns, 1)).collect();
        assert_eq!(ask(&turns, 1).await.unwrap_err(), Late);
        // Another's line is another's.
        assert!(ask(&turns, 2).now_or_never().is_none());
        drop(asked);
        let mut one = ask(&turns, 1);
        drop(held);
        assert!(got(&mut one).is_some());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nobody_is_forgotten_by_several_threads() {
        let turns = Turns::new(3, Duration::from_secs(60));
        let work = (0..400_i64).map(|each| {
            let turns = turns.clone();
            tokio::spawn(async move {
                let turn = turns.take(organization(1 + each % 7)).await;
                tokio::task::yield_now().await;
                turn.map(drop)
            })
        });
        for done in join_all(work).await {
            assert_eq!(done.unwrap(), Ok(()));
        }
        assert_eq!(turns.lines().taken, 0);
        assert_eq!(turns.lines().lines.len(), 0);
    }

    proptest! {
        /// There are never more than there may be, none is free while somebody waits, and nothing is left.
        #[test]
        fn turns_are_neither_lost_nor_made(
            most in 1_usize..4,
            steps in prop::collection::vec((0_u8..4, 1_i64..4, any::<prop::sample::Index>()), 1..60),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let _guard = runtime.enter();
            let turns = Turns::new(most, Duration::from_secs(60));
            let (mut held, mut asked) = (Vec::new(), Vec::new());
            for (step, number, which) in steps {
                match step {
                    0 | 1 => asked.push((number, ask(&turns, number))),
                    2 if !held.is_empty() => drop(held.swap_remove(which.index(held.len()))),
                    3 if !asked.is_empty() => drop(asked.swap_remove(which.index(asked.len()))),
                    _ => {}
                }
                let mut wait = Vec::new();
                for (number, mut asked) in asked.drain(..) {
                    match got(&mut asked) {
                        Some(turn) => held.push((number, turn)),
                        None => wait.push((number, asked)),
                    }
                }
                asked = wait;
                prop_assert!(held.len() <= most);
                for (number, _) in &asked {
                    let its = held.iter().filter(|(whose, _)| whose == number).count();
                    prop_assert!(held.len() == most || its >= turns.lines().share(most));
                }
                prop_assert_eq!(turns.lines().taken, held.len());
            }
            drop((asked, held));
            prop_assert_eq!(turns.lines().taken, 0);
        }
    }
}
