//! The store of mails, who writes them and who sends them.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use crate::access::Mode;
use crate::cause::Cause;
use crate::checkout::Checkout;
use crate::credit::Qualification;
use crate::customer::Customer;
use crate::ids::{CheckoutPubId, MailPubId};
use crate::mail::{Mail, MailKind, MailState, NewMail, Posted, SuppressionReason};
use crate::organization::Organization;
use crate::text::Email;
use crate::time::{Day, Timestamp};
use crate::webhooks::WebhookEndpoint;

/// Which mails a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailFilter {
    /// In this state; in any without one.
    pub state: Option<MailState>,
    /// About this checkout.
    pub checkout: Option<CheckoutPubId>,
}

/// How many mails wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailBacklog {
    /// Mails that are to be sent.
    pub pending: u64,
    /// Mails that were given up and wait for a person.
    pub dead: u64,
}

/// Mails and what became of them, and the addresses that nothing is sent to any more: those of the
/// organization that is reached.
///
/// No address is kept as it is: a store knows one again, and nobody reads it there. Addresses that are the
/// same [folded](Email::folded) are one.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait MailStore: Send {
    /// Keeps new mails. Of a cause that is known already none is kept, whoever queues it at the same time.
    /// Tells how many were.
    async fn queue(&mut self, new: &[NewMail]) -> Result<u64, StoreError>;
    /// The mail of this id.
    async fn get(&mut self, id: MailPubId) -> Result<Option<Mail>, StoreError>;
    /// Takes up to so many pending mails that are due by `now`, the first due first, and keeps others from
    /// taking them for the time of the lease, by the store's own clock. Counts their claims up. Several
    /// workers take different ones.
    async fn claim(
        &mut self,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Mail>, StoreError>;
    /// Writes how far the mail is, and to whom it was sent or was to be, and gives it back. Tells whether this
    /// claim of it was the last one; otherwise nothing is written.
    async fn settle<'a>(&mut self, mail: &Mail, to: Option<&'a Email>) -> Result<bool, StoreError>;
    /// Gives a mail that was taken back as it was, so that others may take it at once.
    async fn hand_back(&mut self, mail: &Mail) -> Result<(), StoreError>;
    /// Up to so many mails, newest first: by id, which sorts by the time it was made.
    async fn list(&mut self, filter: &MailFilter, limit: u32) -> Result<Vec<Mail>, StoreError>;
    /// Makes a mail that is dead or waits due now, with all of its attempts before it: this one, or all of
    /// them. Tells how many.
    async fn requeue(&mut self, id: Option<MailPubId>, now: Timestamp) -> Result<u64, StoreError>;
    /// Why nothing is sent to the address any more, where that is so.
    async fn suppression(
        &mut self,
        address: &Email,
    ) -> Result<Option<SuppressionReason>, StoreError>;
    /// Sends the address nothing any more. Tells whether that is new.
    async fn suppress(
        &mut self,
        address: &Email,
        reason: SuppressionReason,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// A mail that was sent came to this: it is noted at it, and whomever it went to is sent nothing any
    /// more. Tells whether that is new.
    async fn report(
        &mut self,
        id: MailPubId,
        reason: SuppressionReason,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Sends the address mails again. Tells whether it was sent none.
    async fn unsuppress(&mut self, address: &Email) -> Result<bool, StoreError>;
    /// Up to so many active leases whose last day is one of these days, from the first to before the other,
    /// and of which there is no mail of [`MailKind::LeaseEndsSoon`], the first to end first.
    async fn ending(
        &mut self,
        mode: Mode,
        from: Day,
        before: Day,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// Forgets up to so many mails that are over and were made before the time, the oldest first. Tells how
    /// many there were.
    async fn purge(&mut self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

/// What a mail is about, as it is now.
#[derive(Debug, Clone, Copy)]
pub enum MailMatter<'a> {
    Checkout {
        checkout: &'a Checkout,
        customer: &'a Customer,
        /// What was decided about the customer's credit last.
        qualification: Option<&'a Qualification>,
    },
    Endpoint(&'a WebhookEndpoint),
}

/// What a mail is written from.
#[derive(Debug, Clone, Copy)]
pub struct MailView<'a> {
    pub kind: MailKind,
    pub mode: Mode,
    /// In whose name it is sent.
    pub organization: &'a Organization,
    pub matter: MailMatter<'a>,
}

/// A mail as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailText {
    /// One line.
    pub subject: String,
    pub text: String,
    pub html: String,
}

/// The mail could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the mail cannot be written")]
pub struct MailTextError(#[source] pub Cause);

/// Writes mails.
pub trait MailWriter: Send + Sync {
    /// The mail in the language of whom it is for.
    ///
    /// # Errors
    /// [`MailTextError`].
    fn write(&self, view: &MailView<'_>) -> Result<MailText, MailTextError>;
}

/// A file that comes with a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// What it is called.
    pub name: String,
    /// What it is, such as `application/pdf`.
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

/// A mail on its way to the mail server.
#[derive(Debug, Clone, Copy)]
pub struct MailMessage<'a> {
    /// What its `Message-ID` is made of: the same whenever it is sent again.
    pub id: MailPubId,
    /// In whose name it is sent.
    pub from_name: &'a str,
    pub to: &'a Email,
    /// Where an answer goes.
    pub reply_to: Option<&'a Email>,
    pub text: &'a MailText,
    pub attachments: &'a [Attachment],
    /// When it is sent.
    pub at: Timestamp,
}

/// Sends mails.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait MailSender: Send + Sync {
    /// Gives the mail to the mail server once, within two minutes. Whatever comes of it is a result. A mail
    /// that the server took whose word of it was lost is told of as one to be sent later: it then comes twice,
    /// with the same `Message-ID`.
    async fn send<'a>(&self, message: MailMessage<'a>) -> Posted;
}
