//! The double without a network, a runtime or chance: for simulations that replay.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::double::Double;
use crate::error::ApiError;
use crate::events::Event;
use crate::fault::{Fault, When};
use crate::state::{Incoming, Reply, Shared};
use crate::store::merge;

/// A request, as a client sends it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Such as `POST`.
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// The header `Authorization`.
    pub authorization: &'a str,
    /// The header `Idempotency-Key`.
    pub key: Option<&'a str>,
    /// The form of a `POST`.
    pub body: &'a str,
}

/// What a client is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// Headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Double {
    /// One that is [called](Self::call) and not connected to. Its clock stands until it is moved,
    /// and its ids hold this text: with the same calls it does the same, byte for byte.
    #[must_use]
    pub fn offline(time: DateTime<Utc>, marker: &str) -> Self {
        // Nobody sends its events: who wants them asks for them.
        let (fresh, _) = mpsc::unbounded_channel();
        let shared = Shared::marked(Clock::Standing(time), marker.to_owned(), fresh);
        Self {
            shared: Arc::new(shared),
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            stop: None,
            thread: None,
        }
    }

    /// Carries the request out. `fault` is what goes wrong with it, besides what
    /// [rules](crate::Rule) say; without an answer nothing comes back. Faults that
    /// wait are the caller's to play, who knows when.
    pub fn call(&self, asked: Asked<'_>, fault: Option<Fault>) -> Option<Answered> {
        let (path, query) = asked.target.split_once('?').unwrap_or((asked.target, ""));
        let incoming = Incoming {
            method: asked.method.to_owned(),
            path: path.to_owned(),
            raw: match asked.method {
                "POST" => asked.body.to_owned(),
                _ => query.to_owned(),
            },
            authorization: Some(asked.authorization.to_owned()),
            version: None,
            key: asked.key.map(ToOwned::to_owned),
            agent: None,
            traceparent: None,
            connection: 0,
        };
        let mut state = self.lock();
        if state.down {
            return None;
        }
        let (id, ruled) = state.arrive(&incoming);
        let fault = fault.or(ruled);
        let (mut reply, mut advice) = match &fault {
            Some(Fault::Hang { when: When::Before } | Fault::Reset { when: When::Before }) => {
                return None;
            }
            Some(Fault::RateLimited { .. }) => (ApiError::rate_limited().into(), None),
            Some(Fault::Answer { status, body, .. }) => {
                return Some(Answered {
                    status: *status,
                    headers: Vec::new(),
                    body: body.clone().into_bytes(),
                });
            }
            Some(Fault::Status {
                status,
                when: When::Before,
                stored: false,
                should_retry,
            }) => (ApiError::own(*status).into(), *should_retry),
            _ => match (state.prepare(&incoming), &fault) {
                (Err(reply), _) => {
                    let advice = (reply.answer.status == 409).then_some(true);
                    (reply, advice)
                }
                (
                    Ok(prepared),
                    Some(Fault::Status {
                        status,
                        when: When::Before,
                        should_retry,
                        ..
                    }),
                ) => {
                    let reply: Reply = ApiError::own(*status).into();
                    state.keep(&prepared, &reply);
                    (reply, *should_retry)
                }
                (Ok(prepared), _) => {
                    let done = state.perform(&id, &prepared);
                    match &fault {
                        Some(Fault::Status {
                            status,
                            stored,
                            should_retry,
                            ..
                        }) => {
                            let reply: Reply = ApiError::own(*status).into();
                            if *stored {
                                state.keep(&prepared, &reply);
                            }
                            (reply, *should_retry)
                        }
                        _ => (done, None),
                    }
                }
            },
        };
        if matches!(
            fault,
            Some(Fault::Hang { .. } | Fault::Reset { .. } | Fault::Cut)
        ) {
            return None;
        }
        if let Some(Fault::Merge { members }) = fault {
            merge(&mut reply.answer.body, members);
            advice = None;
        }
        state.ended(&id, &reply);
        let mut headers = vec![("request-id".to_owned(), id)];
        if reply.replayed {
            headers.push(("idempotent-replayed".to_owned(), "true".to_owned()));
        }
        if let Some(advice) = advice {
            headers.push(("stripe-should-retry".to_owned(), advice.to_string()));
        }
        Some(Answered {
            status: reply.answer.status,
            headers,
            body: reply.answer.body.to_string().into_bytes(),
        })
    }

    /// The events since those that are known already, oldest first.
    #[must_use]
    pub fn events_from(&self, known: usize) -> Vec<Event> {
        // Taking the state brings what is due; letting go of it gathers its events.
        drop(self.lock());
        self.lock().events.get(known..).unwrap_or_default().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW_CUSTOMER: Asked<'_> = Asked {
        method: "POST",
        target: "/v1/customers",
        authorization: "Bearer sk_test_1",
        key: Some("one"),
        body: "email=ada%40example.com",
    };

    fn double() -> Double {
        Double::offline(DateTime::UNIX_EPOCH, "seed")
    }

    #[test]
    fn the_same_calls_do_the_same() {
        let told = || {
            let double = double();
            let answered = double.call(NEW_CUSTOMER, None);
            (answered, double.events_from(0))
        };
        let (answered, events) = told();
        assert_eq!((answered, events), told());
        let answered = double()
            .call(NEW_CUSTOMER, None)
            .expect("an answer of a double that works");
        assert_eq!(answered.status, 200);
    }

    #[test]
    fn a_lost_answer_is_there_for_the_next_try() {
        let double = double();
        let lost = Some(Fault::Reset { when: When::After });
        assert_eq!(double.call(NEW_CUSTOMER, lost), None);
        assert_eq!(double.objects("customer").len(), 1);
        let again = double
            .call(NEW_CUSTOMER, None)
            .expect("an answer of a double that works");
        let replayed = ("idempotent-replayed".to_owned(), "true".to_owned());
        assert!(again.headers.contains(&replayed));
        assert_eq!(double.objects("customer").len(), 1);
        double.down(true);
        assert_eq!(double.call(NEW_CUSTOMER, None), None);
    }

    #[test]
    fn events_are_told_from_where_one_left_off() {
        let double = double();
        double.call(NEW_CUSTOMER, None);
        let all = double.events_from(0);
        assert_eq!(double.events_from(all.len()), []);
    }
}
