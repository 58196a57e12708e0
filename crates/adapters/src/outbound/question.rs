//! What is asked of organizations' endpoints as a job: until somebody answers, by the same id.

use chrono::TimeDelta;
use lessor_domain::endpoint::Endpoint;
use lessor_domain::ports::{Attempt, Doubt};
use sha2::{Digest as _, Sha256};

use super::{Answer, Outbound, SignedPost};
use crate::processor::standard_webhooks::SharedSecret;

/// How much of the hash of a question is part of its id.
const HASH_PART: usize = 16;
/// The statuses whose `Retry-After` says when to come back.
const BUSY: [u16; 2] = [429, 503];

/// What tells the question apart: it is another when the attempt or anything that is asked is.
fn id_of(attempt: &Attempt, body: &[u8]) -> String {
    let hash = hex::encode(Sha256::digest(body));
    let part = hash.get(..HASH_PART).unwrap_or(&hash);
    format!("{}-{part}", attempt.idempotency_key)
}

/// What an answer that is none leaves.
fn doubt_of(answer: &Answer) -> Doubt {
    let told = format!("the endpoint answered {}", answer.status);
    let pause = answer
        .retry_after
        .filter(|_| BUSY.contains(&answer.status))
        .and_then(|pause| TimeDelta::from_std(pause).ok());
    match pause {
        Some(pause) => Doubt::busy(told, pause),
        None => Doubt::failed(told),
    }
}

impl Outbound {
    /// Asks once. The same attempt with the same body has the same id whenever it is asked.
    ///
    /// # Errors
    /// [`Doubt`] unless the endpoint takes the request.
    pub async fn ask(
        &self,
        attempt: &Attempt,
        endpoint: &Endpoint,
        body: &[u8],
    ) -> Result<Answer, Doubt> {
        let secret: SharedSecret = endpoint
            .secret
            .expose()
            .parse()
            .map_err(Doubt::unconfigured)?;
        let url = endpoint.url.to_string();
        let post = SignedPost {
            url: &url,
            id: &id_of(attempt, body),
            body,
            secrets: &[secret],
            at: attempt.now,
        };
        let answer = self.send(&post).await.map_err(Doubt::unreachable)?;
        if answer.is_success() {
            Ok(answer)
        } else {
            Err(doubt_of(&answer))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn whoever_is_busy_says_when_to_come_back() {
        let answered = |status, seconds: Option<u64>| {
            doubt_of(&Answer {
                status,
                retry_after: seconds.map(Duration::from_secs),
                body: Vec::new(),
                is_cut: false,
            })
            .retry_after()
        };
        let minutes = Some(TimeDelta::minutes(2));
        assert_eq!(answered(429, Some(120)), minutes);
        assert_eq!(answered(503, Some(120)), minutes);
        assert_eq!(answered(503, None), None);
        assert_eq!(answered(500, Some(120)), None);
        assert_eq!(answered(429, Some(u64::MAX)), None);
    }
}
