//! One life: a setting, moves, and the rest that everything comes to.

use chrono::TimeDelta;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::Database as _;
use lessor_domain::time::Timestamp;
use lessor_domain::workers::reconcile::Finding;

use crate::actors::Wish;
use crate::executor::{Executor, Process};
use crate::invariants::End;
use crate::moves;
use crate::post::{Letter, Post};
use crate::stage::Trouble;
use crate::version::Version;
use crate::world::{Crew, at_once};

/// More steps than any life takes that comes to rest.
const MOST_STEPS: usize = 200_000;

/// A customer and their checkout.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) name: &'static str,
    pub(crate) checkout: CheckoutPubId,
    /// When they did anything last.
    pub(crate) acted: Timestamp,
}

pub(crate) struct Life {
    pub(crate) crew: Crew,
    pub(crate) executor: Executor,
    pub(crate) people: Vec<Person>,
    pub(crate) letters: Vec<Letter>,
    pub(crate) wish: Wish,
    pub(crate) stock: Option<u32>,
    pub(crate) findings: Vec<Finding>,
    /// What was in doubt when nothing went wrong any more.
    pub(crate) doubts: Vec<String>,
    pub(crate) post: Post,
    /// The version that worker two runs, where that is not the newest.
    pub(crate) before: Option<Version>,
    pub(crate) trouble: Trouble,
    /// How many of the processor's messages were seen.
    pub(crate) events: usize,
    pub(crate) steps: usize,
}

impl Life {
    /// Whether things go wrong from now on.
    pub(crate) fn worry(&self, worry: bool) {
        self.crew.stage.scene().trouble = if worry {
            self.trouble
        } else {
            Trouble::default()
        };
    }

    pub(crate) fn run(&mut self) {
        while self.crew.stage.scene().choices.next_move() {
            self.executor.next_move();
            moves::play(self);
            self.crew.stage.scene().stirred = true;
            let some = self.weighted(&[72, 28]) == 1;
            if some {
                let steps = 1 + self.below(14);
                for _ in 0..steps {
                    if !self.step() {
                        break;
                    }
                }
                let open = self.executor.open();
                if !open.is_empty() {
                    self.say(|| format!("    (under way: {})", open.join("; ")));
                }
            } else {
                self.until_idle();
            }
        }
    }

    /// Everything that is under way comes to rest, but what waits for moves.
    pub(crate) fn until_idle(&mut self) {
        while self.step() {}
    }

    /// Everything that is under way comes to its end: no process sleeps for hours, and nobody waits
    /// for an answer that long.
    pub(crate) fn nobody_sleeps(&mut self) {
        self.until_idle();
        // Whoever goes on may ask for more, and wait again.
        while !self.executor.open().is_empty() && self.steps < MOST_STEPS {
            self.wait(TimeDelta::minutes(1));
            self.executor.release();
            self.until_idle();
        }
    }

    fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return false;
        }
        self.collect();
        self.executor.step(&self.crew.stage)
    }

    /// A process dies, and is started again.
    pub(crate) fn kill(&mut self, process: Process) {
        let lost = self.executor.kill(process);
        self.say(|| {
            let at = if lost.is_empty() {
                "at nothing".to_owned()
            } else {
                lost.join("; ")
            };
            format!("{} dies ({at}).", capital(process.name()))
        });
        if process == Process::Server {
            self.send_again();
        }
    }

    pub(crate) fn wait(&mut self, time: TimeDelta) {
        self.crew.wait(time);
        self.crew.stage.scene().stirred = true;
    }

    pub(crate) fn state(&self, id: CheckoutPubId) -> Option<Lifecycle> {
        let organization = self.crew.organization();
        at_once(async {
            let mut view = self.crew.memory.read(organization.into()).await.ok()?;
            let checkout = view.checkouts().get(id).await.ok()??;
            Some(checkout.lifecycle())
        })
    }

    /// How many units are free to promise, where they are counted.
    pub(crate) fn free(&self) -> Option<u32> {
        let organization = self.crew.organization();
        at_once(async {
            let mut view = self.crew.memory.read(organization.into()).await.ok()?;
            let variant = self.crew.variants[self.wish.variant];
            let known = view.variants().get(organization, variant);
            known.await.ok()??.stock.sandbox.quantity()
        })
    }

    pub(crate) fn say(&self, words: impl FnOnce() -> String) {
        self.crew.stage.scene().tell(words);
    }

    pub(crate) fn below(&self, bound: u32) -> u32 {
        self.crew.stage.scene().choices.below(bound)
    }

    pub(crate) fn weighted(&self, weights: &[u32]) -> usize {
        self.crew.stage.scene().choices.weighted(weights)
    }

    /// What the process is made of.
    pub(crate) fn crew_of(&self, process: Process) -> Crew {
        let before = self.before.filter(|_| process == Process::WorkerTwo);
        self.crew.of_version(before)
    }

    /// A worker does its rounds: jobs, messages and, where they are due, chores.
    pub(crate) fn work(&mut self, process: Process, chores: bool) {
        let name = process.name();
        let crew = self.crew_of(process);
        let jobs = crew.clone().jobs(name.to_owned());
        let messages = crew.clone().messages(name.to_owned());
        let spawn = &mut self.executor;
        spawn.spawn(process, format!("{name}, jobs"), jobs);
        spawn.spawn(process, format!("{name}, messages"), messages);
        if chores {
            let chores = crew.chores(name.to_owned());
            spawn.spawn(process, format!("{name}, chores"), chores);
        }
    }

    pub(crate) fn end(self) -> End {
        let checkouts: Vec<_> = self.people.iter().map(|it| it.checkout).collect();
        let books = self
            .crew
            .books(&checkouts, self.wish.variant, &self.findings);
        let now = self.crew.now();
        let idle = self.people.iter().map(|it| {
            let days = (now - it.acted).num_days();
            (it.checkout.to_string(), days)
        });
        End {
            idle_days: idle.collect(),
            doubts: self.doubts.clone(),
            books,
            accounts: crate::ledger::accounts(&self.crew.double),
            stock: self.stock,
            lost_messages: self.letters.iter().filter(|letter| letter.lost).count(),
            broken: self.crew.stage.scene().broken.clone(),
            rests: self.steps < MOST_STEPS && self.executor.open().is_empty(),
        }
    }
}

/// With a capital letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
