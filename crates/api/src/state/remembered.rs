//! Answers to reads, and how long they are true.
//!
//! Whoever asks the same again is answered the same as long as nothing of that has changed which the answer [shows](Shows). What
//! has is asked each time, in the name of the organization: an answer that is remembered is as new as one that
//! is read anew, whichever process changed what. One short statement takes the place of those of the read.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_web::HttpResponse;
use actix_web::body::{BoxBody, MessageBody as _};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::http::uri::PathAndQuery;
use actix_web::web::Bytes;
use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::events::EventSubject;
use lessor_domain::ids::OrganizationId;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::time::sleep;

use crate::state::editions::Moment;
use crate::state::journal::Shows;
use crate::telemetry::{REMEMBERED, Tally};

/// Most memory that answers take, in bytes.
const MEMORY_MAX: u64 = 64 * 1024 * 1024;
/// About how many of them that is.
const ANSWERS: usize = 16 * 1024;
/// The largest answer that is remembered, in bytes.
const LARGEST: usize = 1024 * 1024;
/// For how long an answer is remembered: what somebody changes in the database by hand no event tells of.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
/// How often an answer is to be given again before it changes.
const WORTH: u32 = 4;
/// For how long a question is answered anew whose answer was not: where it changes more often than it is asked for, it would be asked in
/// vain each time whether it has.
const RESTLESS_FOR: Duration = Duration::from_secs(1);
/// Of how many questions it is known that somebody asked them: what is asked once is not worth a statement.
const ASKED: usize = 8 * 1024;

thread_local! {
    /// Found by their name once for each thread.
    static HITS: Tally = Tally::of_counter(metrics::counter!(REMEMBERED, "result" => "hit"));
    static MISSES: Tally = Tally::of_counter(metrics::counter!(REMEMBERED, "result" => "miss"));
}

/// What somebody asks, and everything else that the answer depends on but for the records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    organization: OrganizationId,
    mode: Mode,
    kind: KeyKind,
    permissions: Permissions,
    target: PathAndQuery,
    /// The hash of the body, where there is one.
    body: Option<[u8; 32]>,
}

impl Question {
    pub(crate) fn new(access: &Access, target: PathAndQuery, body: Option<[u8; 32]>) -> Self {
        Self {
            organization: access.organization_id,
            mode: access.mode,
            kind: access.kind,
            permissions: access.permissions,
            target,
            body,
        }
    }
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// When it was true: the records were read then or later.
    pub(crate) moment: Moment,
    pub(crate) shows: Shows,
    /// How often it was given again.
    given: AtomicU32,
    until: Instant,
    headers: Box<[(HeaderName, HeaderValue)]>,
    body: Bytes,
}

impl Answer {
    /// The answer once more.
    pub(crate) fn respond(&self) -> HttpResponse {
        HITS.with(Tally::add);
        self.given.fetch_add(1, Ordering::Relaxed);
        let mut response = HttpResponse::Ok();
        for header in &*self.headers {
            response.append_header(header.clone());
        }
        response.body(self.body.clone())
    }
}

/// An extension of an answer that may be of a while ago already: until when it will do, where no record changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fleeting {
    pub(crate) until: Instant,
}

/// What is known of a question.
#[derive(Clone)]
enum Known {
    Answer(Arc<Answer>),
    /// Until when its answer is believed to change at the moment.
    Restless(Instant),
}

/// What that takes of [`MEMORY_MAX`], in bytes.
#[derive(Clone)]
struct Memory;

impl Weighter<Question, Known> for Memory {
    fn weight(&self, question: &Question, known: &Known) -> u64 {
        let answer = match known {
            Known::Restless(_) => 0,
            Known::Answer(answer) => {
                let headers = answer.headers.iter();
                let headers: usize = headers.map(|(_, value)| value.len() + 64).sum();
                let records = answer.shows.len() * size_of::<EventSubject>();
                answer.body.len() + headers + records
            }
        };
        (question.target.as_str().len() + answer + 256) as u64
    }
}

/// Answers to what was asked lately. Cloning it shares them.
#[derive(Clone)]
pub(crate) struct Remembered(Arc<Inner>);

struct Inner {
    known: Cache<Question, Known, Memory>,
    /// The hashes of questions that were asked, each in the one place that it can have.
    asked: Box<[AtomicU64]>,
    hasher: RandomState,
}

/// What is to be done about a question.
pub(crate) enum Recall {
    /// It is answered anew: nobody asked it before, or its answer is changing.
    No,
    /// It is answered anew, and the answer remembered.
    Learn,
    /// This is the answer, where nothing that it shows has changed.
    Known(Arc<Answer>),
}

impl Remembered {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            known: Cache::with_weighter(ANSWERS, MEMORY_MAX, Memory),
            asked: (0..ASKED).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }))
    }

    /// What is to be done about the question.
    pub(crate) fn recall(&self, question: &Question) -> Recall {
        let now = Instant::now();
        let Self(inner) = self;
        match inner.known.get(question) {
            Some(Known::Answer(answer)) if now < answer.until => return Recall::Known(answer),
            Some(Known::Restless(until)) if now < until => return Recall::No,
            _ => {}
        }
        // Two questions that have one place at times forget each other: then one is asked once more.
        let hash = inner.hasher.hash_one(question);
        let place = inner.asked.get(hash as usize % ASKED);
        match place.map(|place| place.swap(hash, Ordering::Relaxed)) {
            Some(before) if before == hash => Recall::Learn,
            _ => Recall::No,
        }
    }

    /// The question is answered anew.
    pub(crate) fn missed() {
        MISSES.with(Tally::add);
    }

    /// Remembers the answer, which was read after that moment, in place of one that is not true any more. Where that was
    /// hardly ever given again, others would not be either, and none is remembered for a while. Gives the answer back.
    pub(crate) fn learn(
        &self,
        question: Question,
        before: Option<&Answer>,
        moment: Moment,
        mut response: HttpResponse,
    ) -> HttpResponse {
        if response.status() != StatusCode::OK {
            return response;
        }
        let now = Instant::now();
        if before.is_some_and(|before| before.given.load(Ordering::Relaxed) < WORTH) {
            let restless = Known::Restless(now + RESTLESS_FOR);
            self.0.known.insert(question, restless);
            return response;
        }
        let until = now + REMEMBERED_FOR;
        let shows = response.extensions_mut().remove::<Shows>();
        let fleeting = response.extensions().get::<Fleeting>().copied();
        let until = fleeting.map_or(until, |fleeting| fleeting.until.min(until));
        let (head, body) = response.into_parts();
        let body = match body.try_into_bytes() {
            Ok(body) => body,
            Err(streamed) => return head.set_body(streamed),
        };
        if body.len() <= LARGEST {
            let headers = head.headers().iter();
            let answer = Answer {
                moment,
                shows: shows.unwrap_or_default(),
                given: AtomicU32::new(0),
                until,
                headers: headers
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
                body: body.clone(),
            };
            let known = Known::Answer(Arc::new(answer));
            self.0.known.insert(question, known);
        }
        head.set_body(BoxBody::new(body))
    }

    /// Forgets what is too old, as long as it is polled: of whoever was erased nothing is left in memory that nobody asks for.
    pub(crate) async fn keep_swept(self) {
        loop {
            sleep(REMEMBERED_FOR).await;
            self.sweep(Instant::now());
        }
    }

    fn sweep(&self, now: Instant) {
        self.0.known.retain(|_, known| match known {
            Known::Answer(answer) => now < answer.until,
            Known::Restless(until) => now < *until,
        });
    }
}

impl fmt::Debug for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remembered").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Moment = Moment {
        number: 7,
        is_behind: false,
    };

    fn question(organization: i64, target: &'static str) -> Question {
        Question {
            organization: OrganizationId::new(organization).unwrap(),
            mode: Mode::Sandbox,
            kind: KeyKind::Secret,
            permissions: Permissions::default(),
            target: PathAndQuery::from_static(target),
            body: None,
        }
    }

    fn is_known(remembered: &Remembered, question: &Question) -> bool {
        matches!(remembered.recall(question), Recall::Known(_))
    }

    fn learned(response: HttpResponse) -> bool {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products"));
        let status = response.status();
        let given = remembered.learn(asked.clone(), None, MOMENT, response);
        assert_eq!(given.status(), status);
        is_known(&remembered, &asked)
    }

    #[test]
    fn what_is_asked_again_is_learned_and_known_then() {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products?limit=5"));
        assert!(matches!(remembered.recall(&asked), Recall::No));
        assert!(matches!(remembered.recall(&asked), Recall::Learn));
        let response = HttpResponse::Ok()
            .insert_header(("x-total-count", "3"))
            .body("[]");
        let given = remembered.learn(asked.clone(), None, MOMENT, response);
        assert_eq!(given.into_body().try_into_bytes().unwrap(), "[]");
        let Recall::Known(known) = remembered.recall(&asked) else {
            panic!("it is known");
        };
        let again = known.respond();
        assert_eq!(again.headers().get("x-total-count").unwrap(), "3");
        assert_eq!(again.into_body().try_into_bytes().unwrap(), "[]");
    }

    #[test]
    fn another_question_is_another_answers() {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products"));
        let ok = || HttpResponse::Ok().body("[]");
        drop(remembered.learn(asked.clone(), None, MOMENT, ok()));
        let with = |change: fn(&mut Question)| {
            let mut other = asked.clone();
            change(&mut other);
            other
        };
        for other in [
            question(2, "/v1/products"),
            question(1, "/v1/products?limit=1"),
            with(|other| other.mode = Mode::Live),
            with(|other| other.kind = KeyKind::Publishable),
            with(|other| other.permissions = "ProductRead".parse().unwrap()),
            with(|other| other.body = Some([0; 32])),
        ] {
            assert!(!is_known(&remembered, &other), "{other:?}");
        }
        assert!(is_known(&remembered, &asked));
    }

    #[test]
    fn only_what_stays_true_is_learned() {
        let fleeting = |until| {
            let mut response = HttpResponse::Ok();
            response.extensions_mut().insert(Fleeting { until });
            response.body("[]")
        };
        let now = Instant::now();
        for (response, is_learned) in [
            (HttpResponse::Ok().body("[]"), true),
            (HttpResponse::Ok().body(vec![b' '; LARGEST + 1]), false),
            (HttpResponse::NotFound().body("{}"), false),
            (fleeting(now + REMEMBERED_FOR), true),
            (fleeting(now), false),
        ] {
            let said = format!("{response:?}");
            assert_eq!(learned(response), is_learned, "{said}");
        }
    }

    #[test]
    fn what_changes_again_and_again_is_not_recalled_for_a_while() {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products"));
        let neighbour = question(1, "/v1/products?limit=1");
        let learn = |asked: &Question, before: Option<&Answer>| {
            let ok = HttpResponse::Ok().body("[]");
            drop(remembered.learn(asked.clone(), before, MOMENT, ok));
        };
        let answer = |given| Answer {
            moment: MOMENT,
            shows: Shows::default(),
            given: AtomicU32::new(given),
            until: Instant::now() + REMEMBERED_FOR,
            headers: Box::default(),
            body: Bytes::new(),
        };
        learn(&neighbour, None);
        learn(&asked, Some(&answer(WORTH)));
        assert!(is_known(&remembered, &asked), "it was given often enough");
        learn(&asked, Some(&answer(WORTH - 1)));
        for _ in 0..3 {
            assert!(matches!(remembered.recall(&asked), Recall::No));
        }
        assert!(is_known(&remembered, &neighbour));
        remembered.sweep(Instant::now() + RESTLESS_FOR);
        remembered.recall(&asked);
        assert!(matches!(remembered.recall(&asked), Recall::Learn));
    }

    #[test]
    fn an_answer_shows_what_it_says_and_else_anything() {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products/1"));
        let shown = || {
            let Recall::Known(known) = remembered.recall(&asked) else {
                panic!("it is known");
            };
            known.shows.clone()
        };
        let ok = HttpResponse::Ok().body("{}");
        drop(remembered.learn(asked.clone(), None, MOMENT, ok));
        assert_eq!(shown(), Shows::default());
        let mut ok = HttpResponse::Ok();
        ok.extensions_mut().insert(Shows::records([]));
        drop(remembered.learn(asked.clone(), None, MOMENT, ok.body("{}")));
        assert_eq!(shown(), Shows::records([]));
    }

    #[test]
    fn what_is_too_old_is_forgotten() {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products"));
        let ok = HttpResponse::Ok().body("[]");
        drop(remembered.learn(asked.clone(), None, MOMENT, ok));
        remembered.sweep(Instant::now() + REMEMBERED_FOR / 2);
        assert!(is_known(&remembered, &asked));
        remembered.sweep(Instant::now() + REMEMBERED_FOR * 2);
        assert!(!is_known(&remembered, &asked));
    }
}
