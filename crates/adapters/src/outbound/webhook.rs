//! Telling organizations' endpoints what happened.

use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_domain::cause::chain;
use lessor_domain::ports::{WebhookMessage, WebhookSender};
use lessor_domain::webhooks::{AttemptResult, MAX_RESPONSE_BODY};

use super::{Outbound, SignedPost};
use crate::processor::standard_webhooks::SharedSecret;

/// Tells endpoints by signed requests.
#[derive(Debug, Clone, Copy)]
pub struct HttpWebhookSender {
    outbound: Outbound,
}

impl HttpWebhookSender {
    /// By these requests.
    #[must_use]
    pub const fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

#[async_trait]
impl WebhookSender for HttpWebhookSender {
    async fn send<'a>(&self, message: WebhookMessage<'a>) -> AttemptResult {
        let secrets = message.secrets.iter();
        let secrets: Result<Vec<SharedSecret>, _> =
            secrets.map(|secret| secret.expose().parse()).collect();
        let secrets = match secrets {
            Ok(secrets) => secrets,
            Err(error) => {
                return AttemptResult::Unanswered {
                    error: error.to_string(),
                };
            }
        };
        let url = message.url.to_string();
        let post = SignedPost {
            url: &url,
            id: message.id,
            body: message.body,
            secrets: &secrets,
            at: message.at,
        };
        match self.outbound.notify(&post, MAX_RESPONSE_BODY).await {
            Ok(answer) => AttemptResult::Answered {
                status: answer.status,
                body: String::from_utf8_lossy(&answer.body).into_owned(),
                retry_after: answer
                    .retry_after
                    .map(|pause| TimeDelta::from_std(pause).unwrap_or(TimeDelta::MAX)),
            },
            Err(error) => {
                // What it came of may tell of our own network, which is nobody else's business.
                tracing::debug!(error = %chain(&error), event = message.id, "an endpoint did not answer");
                AttemptResult::Unanswered {
                    error: error.to_string(),
                }
            }
        }
    }
}
