//! Who writes mails, and who takes them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::ids::MailPubId;
use crate::mail::Posted;
use crate::ports::{MailMessage, MailSender, MailText, MailTextError, MailView, MailWriter};

/// Writes what kind of mail it is, and nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct FakeMailWriter;

impl MailWriter for FakeMailWriter {
    fn write(&self, view: &MailView<'_>) -> Result<MailText, MailTextError> {
        Ok(MailText {
            subject: view.kind.to_string(),
            text: view.organization.shown_name().to_string(),
            html: String::new(),
        })
    }
}

/// A mail that somebody was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMail {
    /// What tells it apart.
    pub id: MailPubId,
    pub to: String,
    pub subject: String,
    /// The names of what came with it.
    pub attachments: Vec<String>,
}

#[derive(Debug, Default)]
struct Inner {
    sent: Vec<SentMail>,
    answers: VecDeque<Posted>,
}

/// A mail server that takes everything, unless a test has it answer otherwise.
#[derive(Debug, Default)]
pub struct FakeMailSender {
    inner: Mutex<Inner>,
}

impl FakeMailSender {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has it answer so once more: each is used once, in order.
    pub fn then(&self, answer: Posted) -> &Self {
        self.inner().answers.push_back(answer);
        self
    }

    /// What was given to it since this was asked last, in the order in which it was.
    pub fn sent(&self) -> Vec<SentMail> {
        std::mem::take(&mut self.inner().sent)
    }
}

#[async_trait]
impl MailSender for FakeMailSender {
    async fn send<'a>(&self, message: MailMessage<'a>) -> Posted {
        let attachments = message.attachments.iter();
        let sent = SentMail {
            id: message.id,
            to: message.to.to_string(),
            subject: message.text.subject.clone(),
            attachments: attachments.map(|it| it.name.clone()).collect(),
        };
        let mut inner = self.inner();
        inner.sent.push(sent);
        inner.answers.pop_front().unwrap_or(Posted::Accepted)
    }
}
