//! The rest that every life comes to: nothing goes wrong any more, and all that is due is done.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::ports::{Database as _, JobFilter, JobState};
use lessor_domain::time::Timestamp;
use lessor_domain::workers::jobs::JOB_LEASE;

use crate::executor::Process;
use crate::life::Life;
use crate::moves;
use crate::world::at_once;

/// Longer than any pause between two tries of a job.
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(8);
/// Longer than a message waits for what it is about.
const LONGEST_WAIT: TimeDelta = TimeDelta::hours(97);
/// Rounds after which what is not done is never done.
const MOST_ROUNDS: usize = 300;

impl Life {
    pub(crate) fn settle(&mut self) {
        self.say(|| "Then nothing goes wrong any more, and all that is due is done.".to_owned());
        {
            let mut scene = self.crew.stage.scene();
            scene.choices.calm_down();
            scene.down = false;
        }
        self.worry(false);
        // Whoever is still to be verified is, so that nobody waits for them.
        moves::verified(self);
        self.crew.stage.scene().stirred = true;
        self.executor.release();
        self.until_idle();
        // Whatever waits for another try has had one by then.
        let tried = self.crew.now() + LONGEST_PAUSE;
        self.done(tried);
        self.doubts = self.in_doubt();
        self.done(Timestamp::MAX_UTC);
        // What was never paid is given up, what is asked for again may be under new keys.
        self.wait(TimeDelta::hours(25));
        self.done(Timestamp::MAX_UTC);
        self.compare(true);
        self.done(Timestamp::MAX_UTC);
        // A message waits for what it is about, and not for ever.
        self.wait(LONGEST_WAIT);
        self.done(Timestamp::MAX_UTC);
        self.compare(false);
        self.done(Timestamp::MAX_UTC);
    }

    /// What is still in doubt although nothing goes wrong any more, and nobody is told.
    fn in_doubt(&self) -> Vec<String> {
        let checkouts: Vec<_> = self.people.iter().map(|it| it.checkout).collect();
        let books = self.crew.books(&checkouts, self.wish.variant, &[]);
        let leases = books.leases.iter();
        leases
            .filter(|lease| !lease.is_shown && !lease.open_jobs.is_empty())
            .map(|lease| format!("it is {}: {}", lease.state, lease.open_jobs.join(", ")))
            .collect()
    }

    /// Does what is due until nothing is left that time would bring, or not before then.
    fn done(&mut self, until: Timestamp) {
        // What a dead process was at lies for the time of its lease.
        self.wait(TimeDelta::from_std(JOB_LEASE).unwrap_or_default() + TimeDelta::seconds(1));
        let mut looked = None;
        for _ in 0..MOST_ROUNDS {
            for letter in self.late() {
                self.send(letter);
            }
            self.until_idle();
            // What time brings about it brings about once for each time.
            let now = self.crew.now();
            self.work(Process::WorkerOne, looked != Some(now));
            looked = Some(now);
            self.until_idle();
            if !self.late().is_empty() {
                continue;
            }
            match self.next_due() {
                Some(at) if at > until => return,
                Some(at) if at > self.crew.now() => self.wait(at - self.crew.now()),
                Some(_) => {}
                None => return,
            }
        }
    }

    /// When the next job is due that nothing stands before.
    fn next_due(&self) -> Option<Timestamp> {
        let organization = self.crew.organization();
        let jobs = at_once(async {
            let mut view = self.crew.memory.read(organization.into()).await.ok()?;
            view.jobs().list(&JobFilter::default(), 1_000).await.ok()
        })?;
        let (mut begun, mut dead) = (Vec::new(), Vec::new());
        let mut due = Vec::new();
        for job in jobs {
            let subject = job.new.subject;
            if begun.contains(&subject) || dead.contains(&subject) && !job.new.effect.passes_dead()
            {
                continue;
            }
            if job.state == JobState::Dead {
                dead.push(subject);
                continue;
            }
            begun.push(subject);
            if job.state == JobState::Pending {
                due.push(job.new.available_at);
            }
        }
        due.into_iter().min()
    }

    /// Compares leases with the processor, and keeps what is found that nobody mends.
    fn compare(&mut self, mend: bool) {
        let reconciler = self.crew.reconciler();
        let (sender, receiver) = std::sync::mpsc::channel();
        self.executor
            .spawn(Process::WorkerOne, "comparing".to_owned(), async move {
                let compared = reconciler.run(Mode::Sandbox, mend).await;
                // Who asked is there until it is answered.
                drop(sender.send(compared));
            });
        self.until_idle();
        match receiver.try_recv() {
            Ok(Ok(compared)) => self.findings = compared.findings,
            Ok(Err(error)) => {
                let mut scene = self.crew.stage.scene();
                scene.broken.push(format!("reconciliation: {error}"));
            }
            Err(_) => {}
        }
    }
}
