//! Where lives are lived: by a seed, or by a story that is told again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::choices::{Chance, Choices, Story};
use crate::invariants::{End, Failure};
use crate::life::Life;
use crate::stage::Stage;
use crate::world::Shop;

/// Moves of a life at most.
const MOST_MOVES: u64 = 36;

/// How a life came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// All decisions that were made.
    pub story: Story,
    /// The story in words, when they were asked for.
    pub words: Vec<String>,
    /// What did not hold.
    pub failures: Vec<Failure>,
    /// What it came to.
    pub end: End,
}

/// A place where lives are lived, one after the other, in one thread.
pub struct Stagehand {
    shop: Shop,
}

impl Default for Stagehand {
    fn default() -> Self {
        Self { shop: Shop::open() }
    }
}

impl Stagehand {
    /// Lives the life of this seed.
    #[must_use]
    pub fn live(&self, seed: u64) -> Outcome {
        self.lived(choices_of(seed), false)
    }

    /// Lives the life of this seed, and tells it.
    #[must_use]
    pub fn tell(&self, seed: u64) -> Outcome {
        self.lived(choices_of(seed), true)
    }

    /// Lives a story again.
    #[must_use]
    pub fn replay(&self, story: &Story, told: bool) -> Outcome {
        self.lived(Choices::told(story.clone()), told)
    }

    fn lived(&self, choices: Choices, told: bool) -> Outcome {
        let stage = Arc::new(Stage::new(choices, told));
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut life = Life::begin(&self.shop, Arc::clone(&stage));
            life.run();
            life.settle();
            life.end()
        }));
        let end = ended.unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            End {
                broken: vec![text.unwrap_or("a panic").to_owned()],
                rests: true,
                ..End::default()
            }
        });
        let mut scene = stage.scene();
        Outcome {
            story: scene.choices.made(),
            words: scene.words.take().unwrap_or_default(),
            failures: end.failures(),
            end,
        }
    }
}

fn choices_of(seed: u64) -> Choices {
    let mut chance = Chance::seeded(seed ^ 0x5eed);
    let moves = 4 + chance.next() % (MOST_MOVES - 4);
    Choices::by_chance(seed, usize::try_from(moves).unwrap_or(4))
}
