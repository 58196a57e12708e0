//! Asking organizations' endpoints for decisions about credit.

mod wire;

use async_trait::async_trait;
use lessor_domain::credit::CreditEndpoint;
use lessor_domain::ports::{Attempt, CreditAnswer, CreditDesk, CreditRequest, Doubt};
use sha2::{Digest as _, Sha256};

use crate::outbound::{Outbound, SignedPost};
use crate::processor::standard_webhooks::SharedSecret;

/// How much of the hash of a question is part of its id.
const HASH_PART: usize = 16;

/// Asks by signed requests.
#[derive(Debug, Clone, Copy)]
pub struct HttpCreditDesk {
    outbound: Outbound,
}

impl HttpCreditDesk {
    /// By these requests.
    #[must_use]
    pub const fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

/// What tells the question apart: it is another when the attempt or anything that is asked is.
fn id_of(attempt: &Attempt, body: &[u8]) -> String {
    let hash = hex::encode(Sha256::digest(body));
    let part = hash.get(..HASH_PART).unwrap_or(&hash);
    format!("{}-{part}", attempt.idempotency_key)
}

#[async_trait]
impl CreditDesk for HttpCreditDesk {
    async fn ask(
        &self,
        attempt: &Attempt,
        endpoint: &CreditEndpoint,
        request: &CreditRequest,
    ) -> Result<CreditAnswer, Doubt> {
        let body = wire::request(attempt.mode, request).map_err(Doubt::failed)?;
        let secret: SharedSecret = endpoint
            .secret
            .expose()
            .parse()
            .map_err(Doubt::unconfigured)?;
        let url = endpoint.url.to_string();
        let post = SignedPost {
            url: &url,
            id: &id_of(attempt, &body),
            body: &body,
            secrets: &[secret],
            at: attempt.now,
        };
        let answer = self
            .outbound
            .send(&post)
            .await
            .map_err(Doubt::unreachable)?;
        if !answer.is_success() {
            return Err(Doubt::failed(format!(
                "the endpoint answered {}",
                answer.status
            )));
        }
        if answer.is_cut {
            return Err(Doubt::failed("the endpoint's answer is too long"));
        }
        wire::answer(&answer.body).map_err(Doubt::failed)
    }
}
