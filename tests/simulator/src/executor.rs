//! One thread that runs tasks by the decisions of a story, and lets processes die.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::stage::Stage;

/// A process: what dies together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    /// Serves requests and takes messages in.
    Server,
    /// Carries jobs out and does chores.
    WorkerOne,
    /// The same, of another version: for a time both run.
    WorkerTwo,
}

impl Process {
    pub(crate) const ALL: [Self; 3] = [Self::Server, Self::WorkerOne, Self::WorkerTwo];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Server => "the server",
            Self::WorkerOne => "worker one",
            Self::WorkerTwo => "worker two",
        }
    }
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    number: u64,
    process: Process,
    name: String,
    future: Pin<Box<dyn Future<Output = ()>>>,
    awake: Arc<Flag>,
    place: &'static str,
    /// Until which move it waits.
    parked: u32,
}

/// The tasks of all processes.
#[derive(Default)]
pub(crate) struct Executor {
    tasks: Vec<Task>,
    made: u64,
    /// The one that ran last.
    current: u64,
    /// How many moves there were.
    moves: u32,
}

impl Executor {
    pub(crate) fn spawn(
        &mut self,
        process: Process,
        name: String,
        future: impl Future<Output = ()> + 'static,
    ) {
        self.made += 1;
        self.tasks.push(Task {
            number: self.made,
            process,
            name,
            future: Box::pin(future),
            awake: Arc::new(Flag(AtomicBool::new(true))),
            place: "its beginning",
            parked: 0,
        });
    }

    /// Another move begins: what waits for moves waits for one less.
    pub(crate) const fn next_move(&mut self) {
        self.moves += 1;
    }

    /// Whatever waits for moves goes on.
    pub(crate) fn release(&mut self) {
        for task in &mut self.tasks {
            task.parked = 0;
        }
    }

    /// Lets one task run to its next pause. False when none can.
    pub(crate) fn step(&mut self, stage: &Stage) -> bool {
        let can_run =
            |task: &Task| task.parked <= self.moves && task.awake.0.load(Ordering::Relaxed);
        let runnable: Vec<usize> = (0..)
            .zip(&self.tasks)
            .filter_map(|(index, task)| can_run(task).then_some(index))
            .collect();
        let Some(first) = runnable.first().copied() else {
            return false;
        };
        let same = runnable
            .iter()
            .copied()
            .find(|index| self.tasks[*index].number == self.current);
        let mut chosen = same.unwrap_or(first);
        if runnable.len() > 1 {
            let mut scene = stage.scene();
            let often = scene.trouble.interrupts;
            if often > 0 && scene.choices.weighted(&[100 - often, often]) == 1 {
                let others: Vec<usize> = runnable.into_iter().filter(|it| *it != chosen).collect();
                let bound = u32::try_from(others.len()).unwrap_or(1);
                let other = scene.choices.below(bound);
                let before = &self.tasks[chosen];
                if before.place != "its beginning" {
                    scene.tell(|| format!("    … {} waits {}", before.name, before.place));
                }
                chosen = others
                    .get(usize::try_from(other).unwrap_or(0))
                    .copied()
                    .unwrap_or(chosen);
                let after = &self.tasks[chosen];
                scene.tell(|| format!("    … meanwhile: {}", after.name));
            }
        }
        self.poll(chosen, stage);
        true
    }

    fn poll(&mut self, index: usize, stage: &Stage) {
        let task = &mut self.tasks[index];
        self.current = task.number;
        task.awake.0.store(false, Ordering::Relaxed);
        stage.scene().place = "for another's unit of work";
        let waker = Waker::from(Arc::clone(&task.awake));
        match task.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(()) => {
                self.tasks.remove(index);
            }
            Poll::Pending => {
                let mut scene = stage.scene();
                task.place = scene.place;
                if let Some(moves) = scene.parked.take() {
                    task.parked = self.moves.saturating_add(moves);
                }
            }
        }
    }

    /// The process dies: whatever it was at is gone. Answers what that was.
    pub(crate) fn kill(&mut self, process: Process) -> Vec<String> {
        let mut lost = Vec::new();
        self.tasks.retain(|task| {
            if task.process == process {
                lost.push(format!("{} {}", task.name, task.place));
            }
            task.process != process
        });
        lost
    }

    /// What is not at its end, and where it stands.
    pub(crate) fn open(&self) -> Vec<String> {
        let told = |task: &Task| format!("{} waits {}", task.name, task.place);
        self.tasks.iter().map(told).collect()
    }

    /// How many tasks of the process are not at their end.
    pub(crate) fn busy(&self, process: Process) -> usize {
        let of = |task: &&Task| task.process == process;
        self.tasks.iter().filter(of).count()
    }
}
