//! Sending mails.
//!
//! A mail is taken in a short unit of work, written and sent outside of any, and what came of it is written
//! in a third. Dying after the mail server took it and before that is written sends it again, with the same
//! `Message-ID`: SMTP itself can do no better.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{Days, TimeDelta};

use super::rounds::{Round, Work};
use crate::access::Mode;
use crate::cause::chain;
use crate::checkout::{Checkout, Lifecycle};
use crate::customer::Customer;
use crate::ids::{AgreementPubId, CheckoutPubId, WebhookEndpointPubId};
use crate::mail::{Mail, MailKind, MailModes, MailState, MailSubject, Posted, SuppressionReason};
use crate::organization::Organization;
use crate::ports::{
    Attachment, Clock, Database, Entropy, Errand, IdGenerator, MailMatter, MailMessage, MailSender,
    MailText, MailView, MailWriter, Reach, StoreError, UnitOfWork,
};
use crate::services::mails;
use crate::text::Email;
use crate::time::Timestamp;

/// How long a mail that was taken is kept from others: more than twice as long as sending it may take.
pub const MAIL_LEASE: Duration = Duration::from_secs(300);
/// How many leases are told of in a transaction.
const ENDINGS_AT_ONCE: u32 = 100;

/// Sends mails.
#[derive(Clone)]
pub struct Mailer {
    /// Where mails are, and what they are about.
    pub database: Arc<dyn Database>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What the order comes from in which organizations have their turn.
    pub entropy: Arc<dyn Entropy>,
    /// Who writes them.
    pub writer: Arc<dyn MailWriter>,
    /// Who sends them.
    pub sender: Arc<dyn MailSender>,
    /// To whom those of the sandbox go, whoever they are for; without it none are sent.
    pub sandbox_to: Option<Email>,
    /// How long a mail that was taken is kept from others; usually [`MAIL_LEASE`].
    pub lease: Duration,
}

/// What became of an attempt to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mailed {
    /// It is over, or given up.
    Ended(MailState),
    /// It is tried again at this time.
    Later(Timestamp),
    /// So it is, and an operator has to see to it: the mail server cannot be spoken with or does not let us
    /// send, or the mail cannot be written.
    Trouble(Timestamp),
    /// Somebody else has it by now: nothing is written.
    Moot,
}

/// What is sent, and to whom.
struct Letter {
    to: Email,
    from_name: String,
    reply_to: Option<Email>,
    text: Result<MailText, String>,
    attachments: Vec<Attachment>,
}

/// What there is to be sent of a mail.
enum Contents {
    Letter(Box<Letter>),
    /// Nothing, and why.
    Nothing(MailState, &'static str),
}

const fn skipped(why: &'static str) -> Contents {
    Contents::Nothing(MailState::Skipped, why)
}

/// Why there is nothing to be said of the checkout any more.
fn moot(kind: MailKind, checkout: &Checkout) -> Option<&'static str> {
    let lifecycle = checkout.lifecycle();
    match kind {
        MailKind::CheckoutLink | MailKind::OffWaitlist if lifecycle.is_ended() => {
            Some("the checkout has ended")
        }
        MailKind::AgreementReady if lifecycle.is_ended() => Some("the checkout has ended"),
        MailKind::AgreementReady if checkout.signed_at.is_some() => Some("it is signed"),
        MailKind::Refused if lifecycle != Lifecycle::QualificationFailed => {
            Some("the lease is not refused any more")
        }
        MailKind::LeaseEndsSoon if lifecycle != Lifecycle::LeaseActive => {
            Some("the lease is not active any more")
        }
        MailKind::NeedsAttention if !checkout.progress().needs_attention() => {
            Some("nobody has to look any more")
        }
        MailKind::CheckoutLink
        | MailKind::OffWaitlist
        | MailKind::AgreementReady
        | MailKind::AgreementSigned
        | MailKind::Refused
        | MailKind::Shipped
        | MailKind::PaymentFailed
        | MailKind::LeaseEndsSoon
        | MailKind::LinkAgain
        | MailKind::NeedsAttention
        | MailKind::EndpointDisabled => None,
    }
}

/// Where the customer is written to; nowhere once they were erased.
fn mailbox_of(customer: &Customer) -> Option<&Email> {
    let nobody = Email::of_nobody(customer.id.as_uuid());
    Some(&customer.email).filter(|email| **email != nobody)
}

#[async_trait]
impl Work for Mailer {
    type Piece = Mail;

    fn database(&self) -> &dyn Database {
        &*self.database
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.entropy
    }

    fn errand(&self, now: Timestamp) -> Errand {
        Errand::Mails { due: now }
    }

    async fn claim(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<Mail>, StoreError> {
        uow.mails().claim(now, self.lease, most).await
    }
}

impl Mailer {
    /// Takes up to so many mails that are due: organization by organization, in shares and in an order by
    /// chance, so that nobody who has many keeps anybody else's waiting. Goes on where the round was left the
    /// last time.
    ///
    /// # Errors
    /// [`StoreError`], where none were taken.
    pub async fn take(&self, round: &mut Round, limit: u32) -> Result<Vec<Mail>, StoreError> {
        round.take(self, self.clock.now(), limit).await
    }

    /// Gives a mail that was taken back, so that others may take it at once.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn hand_back(&self, mail: &Mail) -> Result<(), StoreError> {
        let mut uow = self.database.begin(mail.new.organization_id.into()).await?;
        uow.mails().hand_back(mail).await?;
        uow.commit().await
    }

    /// Makes one attempt of a mail that was taken, and writes what came of it.
    ///
    /// # Errors
    /// [`StoreError`]: what came of it is not written, and it is made again when the lease has ended.
    pub async fn send(&self, mut mail: Mail) -> Result<Mailed, StoreError> {
        let letter = match self.contents(&mail).await? {
            Contents::Letter(letter) => letter,
            Contents::Nothing(state, why) => {
                mail.end(state, Some(why), self.clock.now());
                return self.write_down(&mail, None, Mailed::Ended(state)).await;
            }
        };
        let posted = match &letter.text {
            Ok(text) => {
                let message = MailMessage {
                    id: mail.new.id,
                    from_name: &letter.from_name,
                    to: &letter.to,
                    reply_to: letter.reply_to.as_ref(),
                    text,
                    attachments: &letter.attachments,
                    at: self.clock.now(),
                };
                self.sender.send(message).await
            }
            Err(why) => Posted::Trouble(why.clone()),
        };
        mail.tried(&posted, self.clock.now());
        let became = match (mail.next_attempt_at, &posted) {
            (Some(at), Posted::Trouble(_)) => Mailed::Trouble(at),
            (Some(at), _) => Mailed::Later(at),
            (None, _) => Mailed::Ended(mail.state),
        };
        self.write_down(&mail, Some(&letter.to), became).await
    }

    async fn write_down(
        &self,
        mail: &Mail,
        to: Option<&Email>,
        became: Mailed,
    ) -> Result<Mailed, StoreError> {
        let mut uow = self.database.begin(mail.new.organization_id.into()).await?;
        if let Some(address) = to.filter(|_| mail.state == MailState::Bounced) {
            // Also where another has the mail by now: there is no such mailbox.
            let reason = SuppressionReason::HardBounce;
            uow.mails()
                .suppress(address, reason, mail.updated_at)
                .await?;
        }
        let is_written = uow.mails().settle(mail, to).await?;
        uow.commit().await?;
        Ok(if is_written { became } else { Mailed::Moot })
    }

    /// What is to be sent. Nothing of the database is held when this has answered.
    async fn contents(&self, mail: &Mail) -> Result<Contents, StoreError> {
        let new = &mail.new;
        let mut view = self.database.read(new.scope().into()).await?;
        let organization = view.organizations().get(new.organization_id).await?;
        let organization = organization.ok_or(StoreError::Missing("organization"))?;
        match new.subject {
            MailSubject::Checkout(id) => {
                self.about_checkout(view.as_mut(), mail, &organization, id)
                    .await
            }
            MailSubject::Endpoint(id) => {
                self.about_endpoint(view.as_mut(), mail, &organization, id)
                    .await
            }
        }
    }

    async fn about_checkout(
        &self,
        view: &mut dyn UnitOfWork,
        mail: &Mail,
        organization: &Organization,
        id: CheckoutPubId,
    ) -> Result<Contents, StoreError> {
        let kind = mail.new.kind;
        let Some(checkout) = view.checkouts().get(id).await? else {
            return Ok(skipped("there is no such checkout"));
        };
        if let Some(why) = moot(kind, &checkout) {
            return Ok(skipped(why));
        }
        let customer = view.customers().get(checkout.customer_id).await?;
        let customer = customer.ok_or(StoreError::Missing("customer"))?;
        let meant = if kind.is_for_organization() {
            mails::address_of(organization)
        } else {
            mailbox_of(&customer)
        };
        let to = match self.address(view, mail.new.mode, meant).await? {
            Ok(to) => to,
            Err(nothing) => return Ok(nothing),
        };
        let latest = view.qualifications().latest(&[id]).await?;
        let matter = MailMatter::Checkout {
            checkout: &checkout,
            customer: &customer,
            qualification: latest.first(),
        };
        let attachments = if kind == MailKind::AgreementSigned {
            signed_copy(view, &checkout).await?
        } else {
            Vec::new()
        };
        Ok(self.letter(mail, organization, matter, to, attachments))
    }

    async fn about_endpoint(
        &self,
        view: &mut dyn UnitOfWork,
        mail: &Mail,
        organization: &Organization,
        id: WebhookEndpointPubId,
    ) -> Result<Contents, StoreError> {
        let found = view.webhook_endpoints().get(mail.new.scope(), id).await?;
        let Some(endpoint) = found.filter(|endpoint| !endpoint.is_enabled()) else {
            return Ok(skipped("the endpoint is enabled, or gone"));
        };
        let meant = mails::address_of(organization);
        let to = match self.address(view, mail.new.mode, meant).await? {
            Ok(to) => to,
            Err(nothing) => return Ok(nothing),
        };
        let matter = MailMatter::Endpoint(&endpoint);
        Ok(self.letter(mail, organization, matter, to, Vec::new()))
    }

    /// Where a mail goes that is meant for this address.
    async fn address(
        &self,
        view: &mut dyn UnitOfWork,
        mode: Mode,
        meant: Option<&Email>,
    ) -> Result<Result<Email, Contents>, StoreError> {
        let to = match mode {
            Mode::Live => meant,
            Mode::Sandbox => self.sandbox_to.as_ref().filter(|_| meant.is_some()),
        };
        let Some(to) = to else {
            return Ok(Err(skipped("there is nobody to send it to")));
        };
        Ok(match view.mails().suppression(to).await? {
            None => Ok(to.clone()),
            Some(reason) => Err(Contents::Nothing(
                MailState::Suppressed,
                match reason {
                    SuppressionReason::HardBounce => "there is no such mailbox",
                    SuppressionReason::Complaint => "whoever has the address wants no mails",
                },
            )),
        })
    }

    fn letter(
        &self,
        mail: &Mail,
        organization: &Organization,
        matter: MailMatter<'_>,
        to: Email,
        attachments: Vec<Attachment>,
    ) -> Contents {
        let view = MailView {
            kind: mail.new.kind,
            mode: mail.new.mode,
            organization,
            matter,
        };
        let text = self
            .writer
            .write(&view)
            .map_err(|error| chain(&error).to_string());
        Contents::Letter(Box::new(Letter {
            to,
            from_name: organization.shown_name().to_string(),
            reply_to: organization.face.support_email.clone(),
            text,
            attachments,
        }))
    }
}

/// The document that was signed. Of a person who was erased there is none.
async fn signed_copy(
    view: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<Vec<Attachment>, StoreError> {
    let id = checkout.lease_document_id.as_ref();
    let id = id.and_then(|id| id.parse::<AgreementPubId>().ok());
    let Some(id) = id else {
        return Ok(Vec::new());
    };
    let pdf = view.agreements().pdf(id).await?;
    Ok(pdf
        .map(|bytes| Attachment {
            name: format!("{id}.pdf"),
            media_type: "application/pdf",
            bytes,
        })
        .into_iter()
        .collect())
}

/// Tells customers that their leases end soon.
#[derive(Clone)]
pub struct Endings {
    /// Where leases and mails are.
    pub database: Arc<dyn Database>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
    /// In which modes mails are sent.
    pub modes: MailModes,
    /// How long before the end.
    pub soon: TimeDelta,
}

impl Endings {
    /// Queues a mail for each active lease that ends soon, and no second one. Tells how many leases there
    /// were.
    ///
    /// # Errors
    /// [`StoreError`]; what was queued before is.
    pub async fn run(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let from = now.date_naive();
        let days = u64::try_from(self.soon.num_days()).unwrap_or(0);
        let Some(before) = from.checked_add_days(Days::new(days.saturating_add(1))) else {
            return Ok(0);
        };
        let mut told = 0_usize;
        for mode in Mode::ALL {
            if !self.modes.of(mode) {
                continue;
            }
            let mut view = self.database.read(Reach::Server).await?;
            let errand = Errand::Endings { mode, from, before };
            let owners = view.doors().owners_with(errand).await?;
            drop(view);
            for owner in owners {
                loop {
                    let mut uow = self.database.begin(owner.into()).await?;
                    let (ids, days) = (&*self.ids, (from, before));
                    let count =
                        mails::tell_of_endings(&mut *uow, ids, mode, days, now, ENDINGS_AT_ONCE)
                            .await?;
                    uow.commit().await?;
                    told = told.saturating_add(count);
                    if count < usize::try_from(ENDINGS_AT_ONCE).unwrap_or(usize::MAX) {
                        break;
                    }
                }
            }
        }
        Ok(told)
    }
}
