//! Whoever is told of events.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use chrono::TimeDelta;

use crate::ports::{WebhookMessage, WebhookSender};
use crate::time::Timestamp;
use crate::webhooks::AttemptResult;

/// A message that somebody was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    pub url: String,
    /// What tells the message apart.
    pub id: String,
    pub body: Vec<u8>,
    /// What it was signed with, as it is.
    pub secrets: Vec<String>,
    pub at: Timestamp,
}

#[derive(Debug, Default)]
struct Inner {
    sent: Vec<SentMessage>,
    answers: HashMap<String, VecDeque<AttemptResult>>,
}

/// Whoever is told of events takes everything, unless a test has them answer otherwise.
#[derive(Debug, Default)]
pub struct FakeWebhookSender {
    inner: Mutex<Inner>,
}

impl FakeWebhookSender {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the URL answer so once more: each is used once, in order.
    pub fn then(&self, url: &str, answer: AttemptResult) -> &Self {
        let mut inner = self.inner();
        inner
            .answers
            .entry(url.to_owned())
            .or_default()
            .push_back(answer);
        drop(inner);
        self
    }

    /// Has the URL answer with this status so many times more.
    pub fn answers(&self, url: &str, status: u16, times: usize) -> &Self {
        for _ in 0..times {
            self.then(url, webhook_answer(status, None));
        }
        self
    }

    /// What was sent since this was asked last, in the order in which it was.
    pub fn sent(&self) -> Vec<SentMessage> {
        std::mem::take(&mut self.inner().sent)
    }
}

/// An answer of this status.
#[must_use]
pub fn webhook_answer(status: u16, retry_after: Option<TimeDelta>) -> AttemptResult {
    AttemptResult::Answered {
        status,
        body: "noted".to_owned(),
        retry_after,
    }
}

#[async_trait]
impl WebhookSender for FakeWebhookSender {
    async fn send<'a>(&self, message: WebhookMessage<'a>) -> AttemptResult {
        let url = message.url.to_string();
        let secrets = message.secrets.iter();
        let sent = SentMessage {
            url: url.clone(),
            id: message.id.to_owned(),
            body: message.body.to_vec(),
            secrets: secrets.map(|secret| secret.expose().to_owned()).collect(),
            at: message.at,
        };
        let mut inner = self.inner();
        inner.sent.push(sent);
        let answers = inner.answers.get_mut(&url);
        let scripted = answers.and_then(VecDeque::pop_front);
        scripted.unwrap_or_else(|| webhook_answer(200, None))
    }
}
