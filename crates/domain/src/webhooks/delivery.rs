//! One event on its way to one endpoint.

use std::fmt;
use std::str::FromStr;

use chrono::TimeDelta;
use uuid::Uuid;

use crate::access::Mode;
use crate::events::EventType;
use crate::ids::{DeliveryPubId, EventPubId, OrganizationId, WebhookEndpointPubId};
use crate::names::{UnknownName, named_enum};
use crate::ports::Scope;
use crate::time::Timestamp;

/// How long after the attempt before it each attempt is made, in seconds; the first at once.
const DELAYS: [i64; 11] = [
    0, 5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
];
/// How often a delivery is tried before it has failed.
pub const MAX_ATTEMPTS: u32 = 11;
/// The longest that an endpoint may ask to be left alone for.
pub const MAX_RETRY_AFTER: TimeDelta = TimeDelta::hours(24);
/// The most bytes that are kept of an answer.
pub const MAX_RESPONSE_BODY: usize = 1_024;
/// Every delay is longer or shorter by up to so many parts of a thousand, so that what failed at once
/// does not come back at once.
const JITTER: i64 = 200;

/// The name of the type that is no event's.
const TEST: &str = "webhook_endpoint.test";
/// The answers whose `Retry-After` is obeyed.
const BUSY: [u16; 2] = [429, 503];
/// The answer of who is gone for good.
const GONE: u16 = 410;

/// The delays between attempts, without their jitter: one for each attempt.
pub fn delays() -> impl Iterator<Item = TimeDelta> {
    DELAYS.into_iter().map(TimeDelta::seconds)
}

/// What an endpoint is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// Something that happened.
    Event(EventType),
    /// Nothing: somebody tries the endpoint out.
    Test,
}

impl fmt::Display for Occasion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(event_type) => event_type.fmt(f),
            Self::Test => f.write_str(TEST),
        }
    }
}

impl FromStr for Occasion {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        if text == TEST {
            Ok(Self::Test)
        } else {
            text.parse().map(Self::Event)
        }
    }
}

named_enum! {
    /// What became of a delivery.
    pub enum DeliveryStatus {
        /// It is tried, or tried again.
        Pending = "pending",
        /// The endpoint took it.
        Succeeded = "succeeded",
        /// It is not tried any more.
        Failed = "failed",
    }
}

/// A delivery that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    pub id: DeliveryPubId,
    pub organization_id: OrganizationId,
    pub mode: Mode,
    pub endpoint_id: WebhookEndpointPubId,
    /// The event; of a test an id that no event has.
    pub event_id: EventPubId,
    pub occasion: Occasion,
    /// The record that the event is about: those about one record are told in their order.
    pub subject: Uuid,
    /// The event's place in its feed; 0 for a test.
    pub sequence: u64,
    pub created_at: Timestamp,
}

impl NewDelivery {
    /// Whose it is.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        Scope {
            organization_id: self.organization_id,
            mode: self.mode,
        }
    }
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptResult {
    /// The endpoint answered.
    Answered {
        /// The HTTP status.
        status: u16,
        /// What the answer said, as far as it is kept.
        body: String,
        /// How long the endpoint asks to be left alone for.
        retry_after: Option<TimeDelta>,
    },
    /// It did not.
    Unanswered {
        /// Why.
        error: String,
    },
}

/// The attempt that was made last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastAttempt {
    /// The HTTP status of the answer; none without an answer.
    pub response_status: Option<u16>,
    /// The beginning of the answer, up to [`MAX_RESPONSE_BODY`] bytes.
    pub response_body: Option<String>,
    /// From the look-up of the endpoint's name to the end of the answer, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Why the delivery was not taken.
    pub error: Option<String>,
}

/// What follows from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The endpoint took it.
    Acknowledged,
    /// It is tried again at this time.
    Later(Timestamp),
    /// It was tried as often as it may be.
    GivenUp,
    /// The endpoint says that nobody is there any more.
    Gone,
}

/// A delivery, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub new: NewDelivery,
    pub status: DeliveryStatus,
    /// How many attempts have ended.
    pub attempts: u32,
    /// When it is tried next; none once that is over.
    pub next_attempt_at: Option<Timestamp>,
    pub last: LastAttempt,
    pub updated_at: Timestamp,
    /// How often it was taken to be tried: whoever has taken it is known by this.
    pub claims: u32,
}

impl From<NewDelivery> for Delivery {
    fn from(new: NewDelivery) -> Self {
        Self {
            status: DeliveryStatus::Pending,
            attempts: 0,
            next_attempt_at: Some(new.created_at),
            last: LastAttempt::default(),
            updated_at: new.created_at,
            claims: 0,
            new,
        }
    }
}

/// The beginning of a text, so many bytes at the most and no half letters, without what no store keeps.
fn beginning(text: &str, most: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(most));
    for letter in text.chars() {
        let letter = if letter == '\0' { '\u{fffd}' } else { letter };
        if kept.len().saturating_add(letter.len_utf8()) > most {
            break;
        }
        kept.push(letter);
    }
    kept
}

/// The delay, longer or shorter by chance: 0 is the shortest, 255 the longest.
fn with_jitter(delay: TimeDelta, chance: u8) -> TimeDelta {
    let millis = delay.num_milliseconds();
    let spread = i64::from(chance)
        .saturating_mul(JITTER.saturating_mul(2))
        .checked_div(i64::from(u8::MAX))
        .unwrap_or(JITTER);
    let parts = 1_000_i64.saturating_sub(JITTER).saturating_add(spread);
    let changed = millis.saturating_mul(parts).checked_div(1_000);
    TimeDelta::milliseconds(changed.unwrap_or(millis))
}

impl Delivery {
    /// An attempt has ended at this time, after so many milliseconds. `chance` sets how much longer or
    /// shorter the pause is than the schedule says: 0 by 20 % shorter, 255 by 20 % longer. What an endpoint
    /// asks for by `Retry-After` is the least that it is left alone for, a day at the most.
    pub fn tried(
        &mut self,
        result: AttemptResult,
        duration_ms: u64,
        at: Timestamp,
        chance: u8,
    ) -> Verdict {
        self.attempts = self.attempts.saturating_add(1);
        self.updated_at = at;
        let (asked_for, is_taken, is_gone) = match &result {
            AttemptResult::Answered {
                status,
                retry_after,
                ..
            } => (
                retry_after.filter(|_| BUSY.contains(status)),
                (200..300).contains(status),
                *status == GONE,
            ),
            AttemptResult::Unanswered { .. } => (None, false, false),
        };
        self.last = match result {
            AttemptResult::Answered { status, body, .. } => LastAttempt {
                response_status: Some(status),
                response_body: Some(beginning(&body, MAX_RESPONSE_BODY))
                    .filter(|it| !it.is_empty()),
                duration_ms: Some(duration_ms),
                error: (!is_taken).then(|| format!("the endpoint answered {status}")),
            },
            AttemptResult::Unanswered { error } => LastAttempt {
                response_status: None,
                response_body: None,
                duration_ms: Some(duration_ms),
                error: Some(beginning(&error, MAX_RESPONSE_BODY)),
            },
        };
        if is_taken {
            return self.end(DeliveryStatus::Succeeded, Verdict::Acknowledged);
        }
        if is_gone {
            return self.end(DeliveryStatus::Failed, Verdict::Gone);
        }
        match self.pause(asked_for, chance) {
            Some(pause) => {
                let next = at.checked_add_signed(pause).unwrap_or(at);
                self.next_attempt_at = Some(next);
                Verdict::Later(next)
            }
            None => self.end(DeliveryStatus::Failed, Verdict::GivenUp),
        }
    }

    /// It cannot be told any more, for this reason, and no attempt was made.
    pub fn abandon(&mut self, reason: &str, at: Timestamp) {
        self.last.error = Some(beginning(reason, MAX_RESPONSE_BODY));
        self.updated_at = at;
        self.end(DeliveryStatus::Failed, Verdict::GivenUp);
    }

    fn end(&mut self, status: DeliveryStatus, verdict: Verdict) -> Verdict {
        self.status = status;
        self.next_attempt_at = None;
        verdict
    }

    /// How long to wait for the next attempt; none where there is none.
    fn pause(&self, asked_for: Option<TimeDelta>, chance: u8) -> Option<TimeDelta> {
        let made = usize::try_from(self.attempts).ok()?;
        let delay = with_jitter(delays().nth(made)?, chance);
        Some(match asked_for {
            Some(asked_for) => delay.max(asked_for.min(MAX_RETRY_AFTER)),
            None => delay,
        })
    }
}

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    reason = "small numbers that a test has written down"
)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::events::EventSubject;
    use crate::ids::CheckoutPubId;

    fn at() -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::days(20_000)
    }

    fn delivery() -> Delivery {
        let checkout = CheckoutPubId::from_uuid(Uuid::from_u128(3));
        Delivery::from(NewDelivery {
            id: DeliveryPubId::from_uuid(Uuid::from_u128(1)),
            organization_id: crate::testing::first_organization_id(),
            mode: Mode::Live,
            endpoint_id: WebhookEndpointPubId::from_uuid(Uuid::from_u128(2)),
            event_id: EventPubId::from_uuid(Uuid::from_u128(4)),
            occasion: Occasion::Event(EventType::CheckoutCreated),
            subject: EventSubject::Checkout(checkout).as_uuid(),
            sequence: 7,
            created_at: at(),
        })
    }

    fn answered(status: u16, retry_after: Option<i64>) -> AttemptResult {
        AttemptResult::Answered {
            status,
            body: "so".to_owned(),
            retry_after: retry_after.map(TimeDelta::seconds),
        }
    }

    /// In the middle of the jitter.
    const EVEN: u8 = 127;

    /// How far a pause in the middle of the jitter may be from what the schedule says.
    fn is_about(pause: TimeDelta, seconds: i64) -> bool {
        let millis = seconds * 1_000;
        (pause.num_milliseconds() - millis).abs() * 400 <= millis
    }

    #[test]
    fn occasions_have_names() {
        for text in ["checkout.created", "webhook_endpoint.test"] {
            let occasion: Occasion = text.parse().unwrap();
            assert_eq!(occasion.to_string(), text);
        }
        assert!("webhook_endpoint.tested".parse::<Occasion>().is_err());
    }

    #[test]
    fn what_fails_is_tried_by_the_schedule_and_then_given_up() {
        let mut delivery = delivery();
        assert_eq!(delivery.next_attempt_at, Some(at()), "the first at once");
        let expected = [
            5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
        ];
        for (made, seconds) in (1..).zip(expected) {
            let Verdict::Later(next) = delivery.tried(answered(500, None), 3, at(), EVEN) else {
                panic!("it is tried again after {made} attempts");
            };
            assert!(is_about(next - at(), seconds), "{made}: {}", next - at());
            assert_eq!(
                (delivery.status, delivery.next_attempt_at, delivery.attempts),
                (DeliveryStatus::Pending, Some(next), made)
            );
        }
        let last = delivery.tried(answered(500, None), 3, at(), EVEN);
        assert_eq!(last, Verdict::GivenUp);
        assert_eq!(
            (delivery.status, delivery.next_attempt_at, delivery.attempts),
            (DeliveryStatus::Failed, None, MAX_ATTEMPTS)
        );
        assert_eq!(delays().count(), MAX_ATTEMPTS as usize);
    }

    #[test]
    fn each_answer_means_something() {
        for (status, retry_after, seconds) in [
            (199, None, 5),
            (300, None, 5),
            (301, None, 5),
            (400, None, 5),
            (404, Some(600), 5),
            (500, Some(600), 5),
            (429, Some(600), 600),
            (503, Some(600), 600),
            (503, Some(0), 5),
            (503, Some(1), 5),
            (429, None, 5),
            (429, Some(86_400), 86_400),
            (429, Some(86_401), 86_400),
            (503, Some(i64::MAX / 1_000), 86_400),
        ] {
            let verdict = delivery().tried(answered(status, retry_after), 3, at(), EVEN);
            let Verdict::Later(next) = verdict else {
                panic!("{status} {retry_after:?}: {verdict:?}");
            };
            assert!(
                is_about(next - at(), seconds),
                "{status} {retry_after:?}: {}",
                next - at()
            );
        }
        for status in [200, 201, 202, 204, 299] {
            let mut taken = delivery();
            let verdict = taken.tried(answered(status, Some(9)), 3, at(), EVEN);
            assert_eq!(verdict, Verdict::Acknowledged, "{status}");
            assert_eq!(
                (taken.status, taken.next_attempt_at, taken.attempts),
                (DeliveryStatus::Succeeded, None, 1)
            );
            assert_eq!(taken.last.error, None);
            assert_eq!(taken.last.response_status, Some(status));
            assert_eq!(taken.last.duration_ms, Some(3));
        }
        let mut gone = delivery();
        assert_eq!(
            gone.tried(answered(410, None), 3, at(), EVEN),
            Verdict::Gone
        );
        assert_eq!(gone.status, DeliveryStatus::Failed);
    }

    #[test]
    fn no_answer_is_told_by_its_reason() {
        let mut delivery = delivery();
        delivery.tried(answered(500, None), 3, at(), EVEN);
        assert_eq!(delivery.last.response_body.as_deref(), Some("so"));
        let error = "it could not be reached".to_owned();
        let verdict = delivery.tried(AttemptResult::Unanswered { error }, 9, at(), EVEN);
        assert!(matches!(verdict, Verdict::Later(_)));
        assert_eq!(
            delivery.last,
            LastAttempt {
                response_status: None,
                response_body: None,
                duration_ms: Some(9),
                error: Some("it could not be reached".to_owned()),
            }
        );
    }

    #[test]
    fn of_an_answer_a_kibibyte_is_kept() {
        assert_eq!(beginning(&"x".repeat(5_000), 1_024).len(), 1_024);
        assert_eq!(beginning(&"ä".repeat(5_000), 1_023).len(), 1_022);
        assert_eq!(beginning("a\0b", 1_024), "a\u{fffd}b");
        assert_eq!(beginning("", 1_024), "");
    }

    fn some_result() -> impl Strategy<Value = AttemptResult> {
        prop_oneof![
            3 => (100_u16..600, proptest::option::of(-10_i64..200_000)).prop_map(
                |(status, retry_after)| answered(status, retry_after)
            ),
            1 => Just(AttemptResult::Unanswered { error: "no".to_owned() }),
        ]
    }

    proptest! {
        /// Whatever endpoints answer: a delivery ends, within its attempts; a pause is never shorter than the
        /// schedule less a fifth, and never longer than the longer of the schedule and a fifth and a day.
        #[test]
        fn every_delivery_ends(results in proptest::collection::vec((some_result(), any::<u8>()), 11)) {
            let mut delivery = delivery();
            let mut now = at();
            let mut ended = false;
            for (made, (result, chance)) in results.into_iter().enumerate() {
                let verdict = delivery.tried(result, 1, now, chance);
                prop_assert_eq!(delivery.attempts as usize, made + 1);
                match verdict {
                    Verdict::Later(next) => {
                        prop_assert_eq!(delivery.status, DeliveryStatus::Pending);
                        prop_assert_eq!(delivery.next_attempt_at, Some(next));
                        let planned = delays().nth(made + 1).unwrap();
                        let pause = next - now;
                        prop_assert!(pause * 5 >= planned * 4, "{} of {}", pause, planned);
                        let longest = (planned * 6 / 5).max(MAX_RETRY_AFTER);
                        prop_assert!(pause <= longest, "{} of {}", pause, planned);
                        now = next;
                    }
                    Verdict::Acknowledged => {
                        prop_assert_eq!(delivery.status, DeliveryStatus::Succeeded);
                        ended = true;
                    }
                    Verdict::GivenUp | Verdict::Gone => {
                        prop_assert_eq!(delivery.status, DeliveryStatus::Failed);
                        ended = true;
                    }
                }
                if ended {
                    prop_assert_eq!(delivery.next_attempt_at, None);
                    break;
                }
            }
            prop_assert!(ended);
        }

        #[test]
        fn jitter_is_a_fifth_at_the_most(seconds in 0_i64..200_000, chance in any::<u8>()) {
            let delay = TimeDelta::seconds(seconds);
            let changed = with_jitter(delay, chance);
            prop_assert!(changed * 5 >= delay * 4 && changed * 5 <= delay * 6);
        }
    }

    #[test]
    fn jitter_goes_both_ways() {
        let delay = TimeDelta::seconds(100);
        assert_eq!(with_jitter(delay, 0), TimeDelta::seconds(80));
        assert_eq!(with_jitter(delay, u8::MAX), TimeDelta::seconds(120));
    }
}
