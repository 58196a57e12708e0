//! Answers to reads, and how long they are true.
//!
//! Whoever asks the same again is answered the same as long as the [edition](Edition) of the organization's records is the
//! same. The edition is asked for each time, in the name of the organization: an answer that is remembered is as new as one that
//! is read anew, whichever process changed what. One short statement takes the place of those of the read.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_web::HttpResponse;
use actix_web::body::{BoxBody, MessageBody as _};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::http::uri::PathAndQuery;
use actix_web::web::Bytes;
use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::Edition;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::time::sleep;

use crate::telemetry::REMEMBERED;

/// Most memory that answers take, in bytes.
const MEMORY_MAX: u64 = 64 * 1024 * 1024;
/// About how many of them that is.
const ANSWERS: usize = 16 * 1024;
/// The largest answer that is remembered, in bytes.
const LARGEST: usize = 1024 * 1024;
/// For how long an answer is remembered: what somebody changes in the database by hand no edition tells of.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
/// For how long an organization's records are read anew once one was seen to change: where they change all the time, the
/// edition would be asked for in vain each time.
const RESTLESS_FOR: Duration = Duration::from_secs(1);
/// The most organizations of which that is known.
const SEEN: usize = 1024;
/// Of how many questions it is known that somebody asked them: what is asked once is not worth a statement.
const ASKED: usize = 8 * 1024;

thread_local! {
    /// Found by their name once for each thread.
    static HITS: metrics::Counter = metrics::counter!(REMEMBERED, "result" => "hit");
    static MISSES: metrics::Counter = metrics::counter!(REMEMBERED, "result" => "miss");
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
    /// Of the records that it shows, or before.
    edition: Edition,
    until: Instant,
    headers: Box<[(HeaderName, HeaderValue)]>,
    body: Bytes,
}

impl Answer {
    /// Whether the records are still those that it shows.
    pub(crate) fn is_true(&self, now: &Edition) -> bool {
        now.is_still(&self.edition)
    }

    /// The answer once more.
    pub(crate) fn respond(&self) -> HttpResponse {
        HITS.with(|hits| hits.increment(1));
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

/// What an answer takes of [`MEMORY_MAX`], in bytes.
#[derive(Clone)]
struct Memory;

impl Weighter<Question, Arc<Answer>> for Memory {
    fn weight(&self, question: &Question, answer: &Arc<Answer>) -> u64 {
        let headers = answer.headers.iter();
        let headers: usize = headers.map(|(_, value)| value.len() + 64).sum();
        let target = question.target.as_str().len();
        (target + answer.body.len() + headers + 256) as u64
    }
}

/// The edition of an organization's records that was seen last.
#[derive(Clone, Copy)]
struct Seen {
    edition: Edition,
    /// Until when the records are believed to change at the moment.
    restless: Instant,
}

/// Answers to what was asked lately. Cloning it shares them.
#[derive(Clone)]
pub(crate) struct Remembered(Arc<Inner>);

struct Inner {
    answers: Cache<Question, Arc<Answer>, Memory>,
    /// The editions that were seen last.
    seen: Cache<OrganizationId, Seen>,
    /// The hashes of questions that were asked, each in the one place that it can have.
    asked: Box<[AtomicU64]>,
    hasher: RandomState,
}

/// What is to be done about a question.
pub(crate) enum Recall {
    /// It is answered anew: nobody asked it before, or the records are changing.
    No,
    /// It is answered anew, and the answer remembered.
    Learn,
    /// This is the answer, where the edition is still the same.
    Known(Arc<Answer>),
}

impl Remembered {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            answers: Cache::with_weighter(ANSWERS, MEMORY_MAX, Memory),
            seen: Cache::new(SEEN),
            asked: (0..ASKED).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }))
    }

    /// What is to be done about the question.
    pub(crate) fn recall(&self, question: &Question) -> Recall {
        let now = Instant::now();
        let Self(inner) = self;
        let seen = inner.seen.get(&question.organization);
        if seen.is_some_and(|seen| now < seen.restless) {
            return Recall::No;
        }
        let known = inner.answers.get(question);
        if let Some(known) = known.filter(|known| now < known.until) {
            return Recall::Known(known);
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
        MISSES.with(|misses| misses.increment(1));
    }

    /// This is the edition of the organization's records, by which an answer was not true any more, or is learned. Their first
    /// change that is seen tells of others to come.
    pub(crate) fn see(&self, organization: OrganizationId, edition: Edition) {
        let now = Instant::now();
        let before = self.0.seen.get(&organization);
        let is_new = before.is_some_and(|before| !edition.is_still(&before.edition));
        let restless = match before {
            Some(before) if !is_new => before.restless,
            None if !edition.is_behind => now,
            _ => now + RESTLESS_FOR,
        };
        self.0.seen.insert(organization, Seen { edition, restless });
    }

    /// Remembers the answer, which was read after the edition was. Gives it back.
    pub(crate) fn learn(
        &self,
        question: Question,
        edition: Edition,
        response: HttpResponse,
    ) -> HttpResponse {
        if response.status() != StatusCode::OK || edition.is_behind {
            return response;
        }
        let until = Instant::now() + REMEMBERED_FOR;
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
                edition,
                until,
                headers: headers
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
                body: body.clone(),
            };
            self.0.answers.insert(question, Arc::new(answer));
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
        self.0.answers.retain(|_, answer| now < answer.until);
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

    const EDITION: Edition = Edition {
        told: 7,
        is_behind: false,
        organization: 1,
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

    fn learned(edition: Edition, response: HttpResponse) -> bool {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products"));
        let status = response.status();
        let given = remembered.learn(asked.clone(), edition, response);
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
        let given = remembered.learn(asked.clone(), EDITION, response);
        assert_eq!(given.into_body().try_into_bytes().unwrap(), "[]");
        let Recall::Known(known) = remembered.recall(&asked) else {
            panic!("it is known");
        };
        let again = known.respond();
        assert_eq!(again.headers().get("x-total-count").unwrap(), "3");
        assert_eq!(again.into_body().try_into_bytes().unwrap(), "[]");
        let later = Edition { told: 8, ..EDITION };
        let behind = Edition {
            is_behind: true,
            ..EDITION
        };
        let written = Edition {
            organization: 2,
            ..EDITION
        };
        assert!(known.is_true(&EDITION));
        for other in [later, behind, written] {
            assert!(!known.is_true(&other), "{other:?}");
        }
    }

    #[test]
    fn another_question_is_another_answers() {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products"));
        let ok = || HttpResponse::Ok().body("[]");
        drop(remembered.learn(asked.clone(), EDITION, ok()));
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
        let behind = Edition {
            is_behind: true,
            ..EDITION
        };
        for (edition, response, is_learned) in [
            (EDITION, HttpResponse::Ok().body("[]"), true),
            (
                EDITION,
                HttpResponse::Ok().body(vec![b' '; LARGEST + 1]),
                false,
            ),
            (EDITION, HttpResponse::NotFound().body("{}"), false),
            (EDITION, fleeting(now + REMEMBERED_FOR), true),
            (EDITION, fleeting(now), false),
            (behind, HttpResponse::Ok().body("[]"), false),
        ] {
            let said = format!("{edition:?} {response:?}");
            assert_eq!(learned(edition, response), is_learned, "{said}");
        }
    }

    #[test]
    fn while_records_change_nothing_of_their_organization_is_recalled() {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products"));
        let neighbour = question(2, "/v1/products");
        for asked in [&asked, &neighbour] {
            let ok = HttpResponse::Ok().body("[]");
            drop(remembered.learn(asked.clone(), EDITION, ok));
        }
        let recalled = |edition: Edition| {
            remembered.see(asked.organization, edition);
            is_known(&remembered, &asked)
        };
        let calm = || remembered.0.seen.clear();
        let later = Edition { told: 8, ..EDITION };
        let behind = Edition {
            is_behind: true,
            ..EDITION
        };
        assert!(recalled(EDITION), "the first that is seen");
        assert!(recalled(EDITION), "no other");
        assert!(!recalled(later), "another");
        assert!(!recalled(later), "that was a moment ago");
        assert!(is_known(&remembered, &neighbour));
        calm();
        assert!(!recalled(behind), "there are others already");
    }

    #[test]
    fn what_is_too_old_is_forgotten() {
        let (remembered, asked) = (Remembered::new(), question(1, "/v1/products"));
        let ok = HttpResponse::Ok().body("[]");
        drop(remembered.learn(asked.clone(), EDITION, ok));
        remembered.sweep(Instant::now() + REMEMBERED_FOR / 2);
        assert!(is_known(&remembered, &asked));
        remembered.sweep(Instant::now() + REMEMBERED_FOR * 2);
        assert!(!is_known(&remembered, &asked));
    }
}
