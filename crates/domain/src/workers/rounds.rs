//! Whose turn it is, where many organizations have work for few.

use std::collections::VecDeque;

use async_trait::async_trait;
use chrono::TimeDelta;

use crate::ids::OrganizationId;
use crate::ports::{Database, Entropy, Errand, Reach, StoreError, UnitOfWork};
use crate::time::Timestamp;

/// How long those who have come since may wait while others are asked again.
const OTHERS_WAIT: TimeDelta = TimeDelta::milliseconds(100);

/// Work of one kind, which organizations have.
#[async_trait]
pub(super) trait Work: Sync {
    /// A piece of it.
    type Piece: Send;

    /// The least that an organization is asked for, however many have some.
    const LEAST: u32 = 1;

    /// Where it is.
    fn database(&self) -> &dyn Database;

    /// Where chance comes from.
    fn entropy(&self) -> &dyn Entropy;

    /// By what those are found who have some.
    fn errand(&self, now: Timestamp) -> Errand;

    /// Takes up to so many pieces of the organization in whose name the work is.
    async fn claim(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<Self::Piece>, StoreError>;
}

/// Whose turn it still is of those who had work when it was looked last.
///
/// To look who has some is dearer than to take it, and whoever had more than was taken has more a moment later.
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// They were not asked yet.
    unasked: VecDeque<OrganizationId>,
    /// They had as much as they were asked for.
    hungry: VecDeque<OrganizationId>,
    /// When it was looked who has some.
    looked: Option<Timestamp>,
}

impl Round {
    /// Takes up to so many pieces: organization by organization, in equal shares and in an order by chance,
    /// so that nobody who has many keeps anybody else's waiting. Goes on where it was left the last time.
    ///
    /// # Errors
    /// [`StoreError`], where none were taken.
    pub(super) async fn take<W: Work>(
        &mut self,
        work: &W,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<W::Piece>, StoreError> {
        let mut taken = Vec::new();
        match self.take_into(&mut taken, work, now, limit).await {
            Err(error) if taken.is_empty() => Err(error),
            // What was taken before is not left lying until its lease ends.
            Ok(()) | Err(_) => Ok(taken),
        }
    }

    async fn take_into<W: Work>(
        &mut self,
        taken: &mut Vec<W::Piece>,
        work: &W,
        now: Timestamp,
        limit: u32,
    ) -> Result<(), StoreError> {
        let mut has_looked = false;
        let mut left = limit;
        let mut share = self.share_of::<W>(left);
        while left > 0 {
            let Some(owner) = self.unasked.pop_front() else {
                if !self.begins_again(has_looked || self.has_looked_since(now)) {
                    if has_looked {
                        break;
                    }
                    self.look(work, now).await?;
                    has_looked = true;
                }
                share = self.share_of::<W>(left);
                continue;
            };
            let most = share.min(left);
            let mut uow = work.database().begin(owner.into()).await?;
            let claimed = work.claim(&mut *uow, now, most).await?;
            uow.commit().await?;
            let count = u32::try_from(claimed.len()).unwrap_or(u32::MAX);
            left = left.saturating_sub(count);
            if count == most {
                self.hungry.push_back(owner);
            }
            taken.extend(claimed);
        }
        Ok(())
    }

    /// What each of those whose turn it is has of what is left.
    fn share_of<W: Work>(&self, left: u32) -> u32 {
        let many = u32::try_from(self.unasked.len()).unwrap_or(u32::MAX);
        left.div_ceil(many.max(1)).max(W::LEAST)
    }

    /// Has the turn be theirs again who had more, if they may. Answers whether it is anybody's.
    fn begins_again(&mut self, may: bool) -> bool {
        if may {
            self.unasked.append(&mut self.hungry);
        }
        !self.unasked.is_empty()
    }

    /// Whether it was looked so lately that nobody who has come since waits for long.
    fn has_looked_since(&self, now: Timestamp) -> bool {
        self.looked.is_some_and(|looked| {
            (TimeDelta::zero()..OTHERS_WAIT).contains(&now.signed_duration_since(looked))
        })
    }

    async fn look<W: Work>(&mut self, work: &W, now: Timestamp) -> Result<(), StoreError> {
        let mut view = work.database().read(Reach::Server).await?;
        let mut owners = view.doors().owners_with(work.errand(now)).await?;
        drop(view);
        shuffle(work.entropy(), &mut owners);
        self.unasked = owners.into();
        self.hungry.clear();
        self.looked = Some(now);
        Ok(())
    }
}

/// Puts them in an order by chance, so that nobody is always last.
fn shuffle(entropy: &dyn Entropy, owners: &mut [OrganizationId]) {
    for last in (1..owners.len()).rev() {
        let mut bytes = [0_u8; 4];
        entropy.fill(&mut bytes);
        let chance = usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(last);
        let places = last.saturating_add(1);
        owners.swap(last, chance.checked_rem(places).unwrap_or(last));
    }
}
