//! The shortest story that fails in the same way.

use crate::choices::Story;
use crate::hand::{Outcome, Stagehand};

/// How many stories are tried at most.
const MOST_TRIES: usize = 4_000;

/// Whether a story still shows what is to be shown.
pub type Shows<'a> = dyn Fn(&Outcome) -> bool + 'a;

struct Shrinking<'a> {
    hand: &'a Stagehand,
    shows: &'a Shows<'a>,
    best: Story,
    tries: usize,
}

/// Takes away from the story whatever it does not need.
#[must_use]
pub fn shrink(hand: &Stagehand, story: &Story, shows: &Shows<'_>) -> Story {
    let mut shrinking = Shrinking {
        hand,
        shows,
        best: story.clone(),
        tries: 0,
    };
    loop {
        let before = shrinking.best.length();
        shrinking.without_moves();
        shrinking.without_decisions();
        shrinking.with_smaller_decisions();
        if shrinking.best.length() == before || shrinking.tries >= MOST_TRIES {
            return shrinking.best;
        }
    }
}

impl Shrinking<'_> {
    /// Takes the story if it is shorter and shows the same.
    fn take(&mut self, story: &Story) -> bool {
        if story.length() >= self.best.length() || self.tries >= MOST_TRIES {
            return false;
        }
        self.tries += 1;
        let outcome = self.hand.replay(story, false);
        let shorter = outcome.story.length() < self.best.length();
        if shorter && (self.shows)(&outcome) {
            self.best = outcome.story;
            return true;
        }
        false
    }

    /// Half of the moves, a quarter, … and each alone.
    fn without_moves(&mut self) {
        let mut size = self.best.parts.len() / 2;
        while size > 0 {
            let mut from = 1;
            while from < self.best.parts.len() {
                let to = (from + size).min(self.best.parts.len());
                let mut story = self.best.clone();
                story.parts.drain(from..to);
                if !self.take(&story) {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    /// What of each part is decided after its first so many.
    fn without_decisions(&mut self) {
        for part in 0..self.best.parts.len() {
            let mut keep = 0;
            while keep < self.decisions(part) {
                let mut story = self.best.clone();
                if let Some(part) = story.parts.get_mut(part) {
                    part.truncate(keep);
                }
                if self.take(&story) {
                    break;
                }
                keep = (keep * 2).max(1);
            }
            let mut at = 0;
            while at < self.decisions(part) {
                let mut story = self.best.clone();
                if let Some(part) = story.parts.get_mut(part) {
                    part.remove(at);
                }
                if !self.take(&story) {
                    at += 1;
                }
            }
        }
    }

    fn with_smaller_decisions(&mut self) {
        for part in 0..self.best.parts.len() {
            for at in 0..self.decisions(part) {
                let Some(value) = self.decision(part, at) else {
                    continue;
                };
                let mut smaller = vec![0, 1, value / 2, value.saturating_sub(1)];
                smaller.retain(|it| *it < value);
                for smaller in smaller {
                    let mut story = self.best.clone();
                    if let Some(place) = story.parts.get_mut(part).and_then(|it| it.get_mut(at)) {
                        *place = smaller;
                    }
                    if self.take(&story) {
                        break;
                    }
                }
            }
        }
    }

    fn decisions(&self, part: usize) -> usize {
        self.best.parts.get(part).map_or(0, Vec::len)
    }

    fn decision(&self, part: usize, at: usize) -> Option<u32> {
        let value = *self.best.parts.get(part)?.get(at)?;
        (value > 0).then_some(value)
    }
}
