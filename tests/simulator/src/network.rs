//! The way between Lessor and the processor: calls that are lost before or after their effect,
//! answers that are late, the processor's own failures.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_adapters::processor::{Pacing, RawResponse, Sent, Transport};
use lessor_domain::cause::Cause;
use lessor_domain::ports::Clock as _;
use lessor_domain::testing::ManualClock;
use lessor_processor_double::{Asked, Double, Fault, When};

use crate::stage::Stage;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Fine,
    /// The answer is lost: the call had its effect.
    AnswerLost,
    /// The request is lost.
    RequestLost,
    /// The answer comes so many moves later.
    Late(u32),
    /// The processor fails, and says so for ever.
    Failed(When),
    /// The processor is busy, for this once.
    Busy,
    /// Another request with the key is under way.
    Conflict,
}

/// How long an answer is waited for, as the client's time limits have it.
const PATIENCE: TimeDelta = TimeDelta::seconds(30);

/// How often each is, where something goes wrong at all.
const FATES: [u32; 8] = [30, 25, 20, 10, 5, 5, 5, 3];

/// The line of one process to the processor's double.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) double: Arc<Double>,
    pub(crate) stage: Arc<Stage>,
    pub(crate) clock: Arc<ManualClock>,
}

impl Network {
    fn fate(&self) -> Fate {
        let mut scene = self.stage.scene();
        let often = scene.trouble.calls;
        if often == 0 || scene.choices.weighted(&[100 - often, often]) == 0 {
            return Fate::Fine;
        }
        // A decision of its own, so that a story tells what went wrong apart from that it did.
        match scene.choices.weighted(&FATES) {
            0 => Fate::AnswerLost,
            1 => Fate::RequestLost,
            2 => Fate::Late(1 + scene.choices.below(6)),
            3 => Fate::Failed(When::After),
            4 => Fate::Failed(When::Before),
            5 => Fate::Busy,
            6 => Fate::Conflict,
            _ => Fate::Late(20),
        }
    }

    fn tell(&self, request: &Sent, what: &str) {
        self.stage.scene().tell(|| {
            let path = request.target.split('?').next().unwrap_or_default();
            let key = request.idempotency_key.as_deref().map(short);
            let key = key.map_or_else(String::new, |key| format!(" ({key})"));
            format!("    {} {path}{key}: {what}", request.method)
        });
    }
}

/// A key as people can tell it from others: what it is for, and the end of the work's id.
fn short(key: &str) -> String {
    let (what, id) = key.split_once('-').unwrap_or((key, ""));
    let (id, part) = id.split_once(':').unwrap_or((id, ""));
    let part = part.split(':').next().unwrap_or_default();
    let end = id.get(id.len().saturating_sub(4)..).unwrap_or_default();
    format!("{what} …{end} {part}").trim_end().to_owned()
}

#[async_trait]
impl Transport for Network {
    async fn send(&self, request: Sent) -> Result<RawResponse, Cause> {
        self.stage.pause("before it asks the processor").await;
        if self.stage.scene().down {
            self.tell(&request, "the processor is down");
            return Err(Cause::new("connection refused"));
        }
        let fate = self.fate();
        if fate == Fate::RequestLost {
            self.tell(&request, "the request is lost");
            return Err(Cause::new("connection reset"));
        }
        let fault = match fate {
            Fate::Failed(when) => Some(Fault::Status {
                status: 500,
                when,
                stored: true,
                should_retry: None,
            }),
            Fate::Busy => Some(Fault::RateLimited { retry_after: None }),
            Fate::Conflict => Some(Fault::status(409, When::Before)),
            _ => None,
        };
        let asked = Asked {
            method: request.method,
            target: &request.target,
            authorization: &request.authorization,
            key: request.idempotency_key.as_deref(),
            body: request.body.as_deref().unwrap_or_default(),
        };
        let answered = self.double.call(asked, fault);
        self.stage.scene().stirred = true;
        let (what, waits) = match fate {
            Fate::Late(moves) => (", and the answer is late", moves),
            Fate::AnswerLost => (", and the answer is lost", 0),
            Fate::Failed(When::After) => (", though it was done", 0),
            _ => ("", 0),
        };
        let status = answered.as_ref().map_or(0, |answered| answered.status);
        self.tell(&request, &format!("{status}{what}"));
        let sent = self.clock.now();
        if waits > 0 {
            self.stage.park("for the processor's answer", waits).await;
        } else {
            self.stage.pause("for the processor's answer").await;
        }
        if self.clock.now() - sent > PATIENCE {
            self.tell(&request, "nobody waits for the answer any more");
            return Err(Cause::new("operation timed out"));
        }
        match answered {
            Some(answered) if fate != Fate::AnswerLost => Ok(RawResponse {
                status: answered.status,
                headers: answered.headers,
                body: answered.body,
            }),
            _ => Err(Cause::new("connection reset")),
        }
    }
}

/// Pauses between two tries of one call take a moment in which others go on, and no time.
#[derive(Clone)]
pub(crate) struct Moments(pub(crate) Arc<Stage>);

#[async_trait]
impl Pacing for Moments {
    async fn pause(&self, _: Duration) {
        self.0.pause("before it asks the processor again").await;
    }

    fn fraction(&self) -> f64 {
        0.5
    }
}
