//! What happens next in a life: somebody acts, time passes, something dies.

mod leasing;
mod outside;

use chrono::TimeDelta;

pub(crate) use self::leasing::verified;
use self::leasing::{another_customer, customer_turns_back, lease_goes_on, operator_intervenes};
use self::outside::{bank_decides, dashboard};
use crate::executor::Process;
use crate::life::{Life, Person, capital};

/// How far time jumps, in seconds.
const JUMPS: [(i64, &str); 12] = [
    (5, "5 seconds"),
    (50, "50 seconds"),
    (600, "10 minutes"),
    (7_200, "2 hours"),
    (82_800, "23 hours"),
    (90_000, "25 hours"),
    (4 * 86_400, "4 days"),
    (5 * 86_400, "5 days"),
    (6 * 86_400 + 43_200, "6 days and a half"),
    (8 * 86_400, "8 days"),
    (31 * 86_400, "31 days"),
    (95 * 86_400, "95 days"),
];

/// How long whatever is under way may take at most, in seconds.
const LONGEST_SLEEP: i64 = 600;

type Move = fn(&mut Life);

/// Each kind of move, and how often it is made.
const MOVES: [(u32, Move); 14] = [
    (34, lease_goes_on),
    (14, worker_works),
    (6, operator_intervenes),
    (4, customer_turns_back),
    (11, time_jumps),
    (5, days_go_by),
    (2, minutes_go_by),
    (6, messages_come),
    (5, processor_goes_down_or_up),
    (6, bank_decides),
    (6, process_dies),
    (2, dashboard),
    (3, reconciled),
    (2, another_customer),
];

/// One move.
pub(crate) fn play(life: &mut Life) {
    let weights = MOVES.map(|(weight, _)| weight);
    let at = life.crew.stage.scene().choices.moody(weights);
    if let Some((_, made)) = MOVES.get(at) {
        made(life);
    }
}

fn worker(life: &Life) -> Process {
    match life.below(2) {
        0 => Process::WorkerOne,
        _ => Process::WorkerTwo,
    }
}

fn worker_works(life: &mut Life) {
    let process = worker(life);
    if life.executor.busy(process) < 4 {
        life.say(|| format!("{} works.", capital(process.name())));
        life.work(process, true);
    }
}

fn reconciled(life: &mut Life) {
    let process = worker(life);
    life.say(|| {
        format!(
            "{} compares leases with the processor.",
            capital(process.name())
        )
    });
    let step = life.crew_of(process).reconcile(process.name().to_owned());
    life.executor
        .spawn(process, format!("{}, comparing", process.name()), step);
}

fn time_jumps(life: &mut Life) {
    let at = usize::try_from(life.below(12)).unwrap_or(0);
    let (seconds, words) = JUMPS[at];
    if seconds > LONGEST_SLEEP {
        let open = !life.executor.open().is_empty();
        if open && life.below(2) == 1 {
            for process in Process::ALL {
                life.kill(process);
            }
        }
        life.nobody_sleeps();
    }
    life.say(|| format!("{} pass.", capital(words)));
    life.wait(TimeDelta::seconds(seconds));
}

/// Time passes while everybody works as they should.
fn goes_by(life: &mut Life, steps: u32, each: TimeDelta) {
    life.nobody_sleeps();
    life.worry(false);
    for _ in 0..steps {
        life.wait(each);
        life.work(Process::WorkerOne, true);
        life.until_idle();
    }
    life.worry(true);
}

fn days_go_by(life: &mut Life) {
    let before_the_lease = |person: &Person| {
        let state = life.state(person.checkout);
        state.is_some_and(|it| !it.is_confirmed() && !it.is_ended())
    };
    let holds = life.people.iter().any(before_the_lease);
    let (days, hours) = if holds { (4, 12) } else { (5 * 7, 84) };
    let weeks = i64::from(1 + life.below(3));
    let steps = u32::try_from(weeks * days * 24 / hours).unwrap_or(1);
    life.say(|| format!("{} days go by, and the workers work.", weeks * days));
    goes_by(life, steps, TimeDelta::hours(hours));
}

fn minutes_go_by(life: &mut Life) {
    life.say(|| "Half an hour goes by, and the workers work.".to_owned());
    goes_by(life, 15, TimeDelta::minutes(2));
}

fn messages_come(life: &mut Life) {
    let mut late = life.late();
    if late.is_empty() {
        return;
    }
    let how = life.below(4);
    match how {
        1 => late.reverse(),
        2 => {
            let at = usize::try_from(life.below(u32::try_from(late.len()).unwrap_or(1)));
            late = late.get(at.unwrap_or(0)).copied().into_iter().collect();
        }
        3 => {
            let again = late.clone();
            late.extend(again);
        }
        _ => {}
    }
    life.say(|| {
        let told = ["", ", the last first", ", one of them", ", each twice"];
        let how = told[usize::try_from(how).unwrap_or(0)];
        format!("The messages that were late come{how}.")
    });
    for letter in late {
        life.send(letter);
    }
}

fn processor_goes_down_or_up(life: &mut Life) {
    let mut scene = life.crew.stage.scene();
    scene.down = !scene.down;
    let what = if scene.down {
        "goes down"
    } else {
        "is up again"
    };
    scene.tell(|| format!("The processor {what}."));
}

/// One that is at something dies; where all are idle nothing would come of it.
fn process_dies(life: &mut Life) {
    let busy = |process: &Process| life.executor.busy(*process) > 0;
    let busy: Vec<_> = Process::ALL.into_iter().filter(busy).collect();
    let at = life.below(u32::try_from(busy.len()).unwrap_or(1));
    match busy.get(usize::try_from(at).unwrap_or(0)) {
        Some(process) => life.kill(*process),
        None => worker_works(life),
    }
}
