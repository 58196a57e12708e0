//! What the processor keeps of idempotency keys.

use std::collections::HashMap;

use serde_json::Value;

use crate::error::ApiError;

/// How long a key is kept, seconds.
pub(crate) const LIFETIME: i64 = 24 * 3_600;

/// The keys in use, of both modes.
#[derive(Debug)]
pub(crate) struct Keys {
    kept: HashMap<(bool, String), Kept>,
    /// Whether keys are forgotten after a day.
    pub(crate) expire: bool,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            kept: HashMap::new(),
            expire: true,
        }
    }
}

#[derive(Debug)]
struct Kept {
    since: i64,
    request: Fingerprint,
    answer: Option<Answer>,
}

/// What makes two requests the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fingerprint {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) params: Value,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// What a key says of a request.
#[derive(Debug, PartialEq)]
pub(crate) enum Begun {
    /// It is the first with the key, which it now holds.
    First,
    /// It was answered before.
    Again(Answer),
}

impl Keys {
    /// Takes the key for the request.
    ///
    /// # Errors
    /// The answer when the key belongs to another request, or is in use.
    pub(crate) fn begin(
        &mut self,
        live: bool,
        key: &str,
        request: Fingerprint,
        now: i64,
    ) -> Result<Begun, ApiError> {
        if self.expire {
            self.kept
                .retain(|_, kept| kept.answer.is_none() || now - kept.since < LIFETIME);
        }
        let place = (live, key.to_owned());
        match self.kept.get(&place) {
            None => {
                let kept = Kept {
                    since: now,
                    request,
                    answer: None,
                };
                self.kept.insert(place, kept);
                Ok(Begun::First)
            }
            Some(kept) if kept.request != request => Err(ApiError::other_request(key)),
            Some(Kept { answer: None, .. }) => Err(ApiError::in_flight(key)),
            Some(Kept {
                answer: Some(answer),
                ..
            }) => Ok(Begun::Again(answer.clone())),
        }
    }

    /// Keeps the answer for the key.
    pub(crate) fn keep(&mut self, live: bool, key: &str, answer: Answer) {
        if let Some(kept) = self.kept.get_mut(&(live, key.to_owned())) {
            kept.answer = Some(answer);
        }
    }

    /// Lets the key go, as if it had not been used.
    pub(crate) fn release(&mut self, live: bool, key: &str) {
        self.kept.remove(&(live, key.to_owned()));
    }

    /// Forgets what is not in use.
    pub(crate) fn forget(&mut self) {
        self.kept.retain(|_, kept| kept.answer.is_none());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(amount: u32) -> Fingerprint {
        Fingerprint {
            method: "POST".to_owned(),
            path: "/v1/refunds".to_owned(),
            params: json!({ "amount": amount }),
        }
    }

    #[test]
    fn a_key_answers_the_first_answer_for_a_day() {
        let mut keys = Keys::default();
        let answer = Answer {
            status: 500,
            body: json!({ "error": {} }),
        };
        assert_eq!(keys.begin(false, "k", request(1), 0), Ok(Begun::First));
        let meanwhile = keys
            .begin(false, "k", request(1), 1)
            .expect_err("in flight");
        assert_eq!(meanwhile.status, 409);
        keys.keep(false, "k", answer.clone());
        assert_eq!(
            keys.begin(false, "k", request(1), LIFETIME - 1),
            Ok(Begun::Again(answer))
        );
        let other = keys
            .begin(false, "k", request(2), 2)
            .expect_err("other parameters");
        assert_eq!(
            (other.status, &other.members["type"]),
            (400, &"idempotency_error".into())
        );
        assert_eq!(
            keys.begin(true, "k", request(2), 2),
            Ok(Begun::First),
            "another mode"
        );
        assert_eq!(
            keys.begin(false, "k", request(2), LIFETIME),
            Ok(Begun::First),
            "forgotten"
        );
    }

    #[test]
    fn keys_live_on_when_they_do_not_expire() {
        let mut keys = Keys {
            expire: false,
            ..Keys::default()
        };
        assert_eq!(keys.begin(false, "k", request(1), 0), Ok(Begun::First));
        let answer = Answer {
            status: 200,
            body: Value::Null,
        };
        keys.keep(false, "k", answer.clone());
        let later = keys.begin(false, "k", request(1), 10 * LIFETIME);
        assert_eq!(later, Ok(Begun::Again(answer)));
        keys.forget();
        assert_eq!(keys.begin(false, "k", request(1), 0), Ok(Begun::First));
    }
}
