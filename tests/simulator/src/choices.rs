//! The decisions of a life: made by chance from a seed, or told again.
//!
//! Every decision is a number, and 0 is always the calm one: nothing goes wrong, nobody interrupts
//! anybody. They stand in parts, the setting first and then one for each move, so that a part that
//! is taken out changes nothing in the others.

/// All the decisions of a life.
#[derive(Debug, Clone, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct Story {
    /// The setting's decisions, then those of each move.
    pub parts: Vec<Vec<u32>>,
}

impl Story {
    /// How long it is: fewer moves, then fewer and smaller decisions.
    #[must_use]
    pub fn length(&self) -> (usize, usize, u64) {
        let decisions = self.parts.iter().flatten();
        (
            self.parts.len(),
            decisions.clone().filter(|decision| **decision != 0).count(),
            decisions.map(|decision| u64::from(*decision)).sum(),
        )
    }

    /// Without the zeros that every part ends with: they are what is decided when nothing is told.
    pub(crate) fn trim(&mut self) {
        for part in &mut self.parts {
            while part.last() == Some(&0) {
                part.pop();
            }
        }
    }
}

/// Numbers that follow from a seed: Sebastiano Vigna's splitmix64.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u32) -> u32 {
        let number = (self.next() >> 32) * u64::from(bound.max(1));
        u32::try_from(number >> 32).unwrap_or(0)
    }
}

enum Source {
    /// Chance, for so many moves, in a mood of its own.
    Chance(Chance, usize, u64),
    /// A story that is told again.
    Told(Story),
}

/// Where the decisions come from; remembers them.
pub(crate) struct Choices {
    source: Source,
    part: usize,
    place: usize,
    made: Story,
    calm: bool,
}

impl Choices {
    pub(crate) fn by_chance(seed: u64, moves: usize) -> Self {
        let mood = Chance::seeded(!seed).next();
        Self::of(Source::Chance(Chance::seeded(seed), moves, mood))
    }

    pub(crate) fn told(story: Story) -> Self {
        Self::of(Source::Told(story))
    }

    fn of(source: Source) -> Self {
        Self {
            source,
            part: 0,
            place: 0,
            made: Story {
                parts: vec![Vec::new()],
            },
            calm: false,
        }
    }

    /// Begins the next move; false when there is none.
    pub(crate) fn next_move(&mut self) -> bool {
        let moves = match &self.source {
            Source::Chance(_, moves, _) => *moves,
            Source::Told(story) => story.parts.len().saturating_sub(1),
        };
        if self.part >= moves {
            return false;
        }
        self.part += 1;
        self.place = 0;
        self.made.parts.push(Vec::new());
        true
    }

    /// Which of so many, the first of them the calm one.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.decide(bound, |chance| chance.below(bound))
    }

    /// Which of these, each as often as its weight says.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let bound = u32::try_from(weights.len()).unwrap_or(u32::MAX);
        let decided = self.decide(bound, |chance| {
            let mut at = chance.below(weights.iter().sum());
            for (index, weight) in (0..).zip(weights) {
                if at < *weight {
                    return index;
                }
                at -= weight;
            }
            0
        });
        usize::try_from(decided).unwrap_or(0)
    }

    /// The same, where each life has a mood: some of these are made often in it, and some never.
    /// What all lives do in the same measure, no life does much of.
    pub(crate) fn moody<const N: usize>(&mut self, mut weights: [u32; N]) -> usize {
        if let Source::Chance(_, _, mood) = &self.source {
            for (place, weight) in (0..).zip(&mut weights).skip(1) {
                *weight *= match (mood >> (3 * place)) & 7 {
                    0 => 0,
                    1..=4 => 1,
                    _ => 4,
                };
            }
        }
        self.weighted(&weights)
    }

    fn decide(&mut self, bound: u32, by_chance: impl FnOnce(&mut Chance) -> u32) -> u32 {
        if self.calm || bound < 2 {
            return 0;
        }
        let decided = match &mut self.source {
            Source::Chance(chance, ..) => by_chance(chance),
            Source::Told(story) => {
                let part = story.parts.get(self.part);
                let told = part.and_then(|part| part.get(self.place)).copied();
                told.filter(|told| *told < bound).unwrap_or(0)
            }
        };
        self.place += 1;
        if let Some(part) = self.made.parts.last_mut() {
            part.push(decided);
        }
        decided
    }

    /// From now on every decision is the calm one.
    pub(crate) const fn calm_down(&mut self) {
        self.calm = true;
    }

    /// What was decided so far.
    pub(crate) fn made(&self) -> Story {
        let mut made = self.made.clone();
        made.trim();
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(choices: &mut Choices) -> Vec<u32> {
        let mut all = vec![choices.below(10), choices.below(1_000)];
        while choices.next_move() {
            all.push(choices.below(6));
            all.push(u32::try_from(choices.weighted(&[90, 5, 5])).unwrap_or(9));
        }
        all
    }

    #[test]
    fn a_story_is_told_again_as_it_was_made() {
        let mut first = Choices::by_chance(7, 20);
        let decided = some(&mut first);
        let mut again = Choices::told(first.made());
        assert_eq!(some(&mut again), decided);
        assert_eq!(again.made(), first.made());
        assert_ne!(some(&mut Choices::by_chance(8, 20)), decided);
    }

    #[test]
    fn what_is_not_told_is_calm() {
        let mut silent = Choices::told(Story {
            parts: vec![vec![], vec![9], vec![2]],
        });
        // A decision that is out of range is none.
        assert_eq!(some(&mut silent), [0, 0, 0, 0, 2, 0]);
    }

    #[test]
    fn a_part_that_is_taken_out_leaves_the_others() {
        let mut story = Story {
            parts: vec![vec![1, 2], vec![1, 1], vec![5, 2]],
        };
        story.parts.remove(1);
        assert_eq!(some(&mut Choices::told(story)), [1, 2, 5, 2]);
    }

    #[test]
    fn calm_is_calm() {
        let mut choices = Choices::by_chance(3, 5);
        choices.calm_down();
        assert!(some(&mut choices).iter().all(|decided| *decided == 0));
        assert_eq!(choices.made().length().1, 0);
    }
}
