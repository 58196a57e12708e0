//! Sending mails.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lessor_domain::mail::{Mail, MailState};
use lessor_domain::ports::StoreError;
use lessor_domain::workers::Round;
use lessor_domain::workers::mailers::{Mailed, Mailer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::{LONGEST_PAUSE, note_access};
use crate::telemetry::{MAILS, outage};

/// How often it is looked for mails that are due.
const POLL: Duration = Duration::from_secs(3);

/// Who sends mails, and how many at a time.
pub struct Mailers {
    /// Makes one attempt.
    pub mailer: Mailer,
    /// Attempts under way at a time. Each holds a connection to the mail server, and none to the database.
    pub at_once: NonZeroUsize,
}

/// Takes mails and gives each a task.
pub(super) struct Dispatcher {
    pub(super) mailers: Mailers,
    pub(super) stop: CancellationToken,
    pub(super) cut: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl Dispatcher {
    pub(super) async fn run(self) {
        let stop = self.stop.clone();
        stop.run_until_cancelled(self.dispatch()).await;
    }

    async fn dispatch(&self) {
        let free = Arc::new(Semaphore::new(self.mailers.at_once.get()));
        let mut round = Round::default();
        let mut pause = POLL;
        loop {
            let Ok(first) = Arc::clone(&free).acquire_owned().await else {
                // Nobody closes the semaphore.
                return;
            };
            let taken = self.take_with(&free, first, &mut round).await;
            note_access(&taken);
            match taken {
                Ok(0) => {
                    pause = POLL;
                    sleep(POLL).await;
                }
                Ok(_) => pause = POLL,
                Err(error) => {
                    outage::hinders("the worker cannot take mails", &error);
                    sleep(pause).await;
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Takes as many mails as there are free places. A claim that is cut off by the stop took nothing, or
    /// its lease ends by itself.
    async fn take_with(
        &self,
        free: &Arc<Semaphore>,
        first: OwnedSemaphorePermit,
        round: &mut Round,
    ) -> Result<usize, StoreError> {
        let mut permits = vec![first];
        while let Ok(permit) = Arc::clone(free).try_acquire_owned() {
            permits.push(permit);
        }
        let limit = u32::try_from(permits.len()).unwrap_or(u32::MAX);
        let mails = self.mailers.mailer.take(round, limit).await?;
        let taken = mails.len();
        for (mail, permit) in mails.into_iter().zip(permits) {
            let mailer = self.mailers.mailer.clone();
            let cut = self.cut.clone();
            let span = tracing::info_span!("mail", id = %mail.new.id, kind = %mail.new.kind);
            self.tasks.spawn(
                async move {
                    send(&mailer, mail, &cut).await;
                    drop(permit);
                }
                .instrument(span),
            );
        }
        Ok(taken)
    }
}

async fn send(mailer: &Mailer, mail: Mail, cut: &CancellationToken) {
    let Some(tried) = cut.run_until_cancelled(mailer.send(mail.clone())).await else {
        match mailer.hand_back(&mail).await {
            Ok(()) => tracing::info!("handed back"),
            Err(error) => outage::hinders("cannot be handed back", &error),
        }
        return;
    };
    let outcome = match tried {
        Ok(Mailed::Ended(state)) => {
            if state == MailState::Dead {
                tracing::error!("dead: see `lessor mail list`");
            } else {
                tracing::debug!(%state, "over");
            }
            state.as_str()
        }
        Ok(Mailed::Later(at)) => {
            tracing::info!(%at, "to be tried again");
            "later"
        }
        Ok(Mailed::Trouble(at)) => {
            tracing::warn!(%at, "the mail server lets nothing be sent: see `lessor mail list`");
            "trouble"
        }
        Ok(Mailed::Moot) => "moot",
        Err(error) => {
            outage::hinders("what became of the mail cannot be written down", &error);
            "unknown"
        }
    };
    metrics::counter!(MAILS, "outcome" => outcome).increment(1);
}
