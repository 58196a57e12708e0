//! Mails to customers and to organizations, and how far each is.
//!
//! A mail is queued with the change that is its cause, and knows no more than what it is about. Whom it
//! goes to and what it says is read when it is sent: what waits tells of nobody.

use chrono::TimeDelta;

use crate::access::Mode;
use crate::events::EventType;
use crate::ids::{CheckoutPubId, EventPubId, MailPubId, OrganizationId, WebhookEndpointPubId};
use crate::names::named_enum;
use crate::ports::Scope;
use crate::time::Timestamp;

/// The pauses between attempts, in seconds: a minute, five, a quarter of an hour, one hour, two, four, eight,
/// twelve and a day.
const PAUSES: [i64; 9] = [60, 300, 900, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400];
/// How often a mail is tried.
pub const MAX_ATTEMPTS: u32 = 10;
/// The longest reason that is kept, in characters.
const LONGEST_REASON: usize = 255;
/// How often somebody is mailed the link of a checkout again, at the most.
pub const LINK_AGAIN_EVERY: TimeDelta = TimeDelta::minutes(15);

named_enum! {
    /// What a mail says.
    pub enum MailKind {
        /// The link of a checkout that an organization made.
        CheckoutLink = "checkoutLink",
        /// The checkout waits no more.
        OffWaitlist = "offWaitlist",
        /// The agreement is to be signed.
        AgreementReady = "agreementReady",
        /// The agreement is signed, with the document.
        AgreementSigned = "agreementSigned",
        /// The lease is refused, with the reasons and whom to ask.
        Refused = "refused",
        /// The goods are on their way.
        Shipped = "shipped",
        /// A payment failed, with the link to pay otherwise.
        PaymentFailed = "paymentFailed",
        /// The lease ends soon.
        LeaseEndsSoon = "leaseEndsSoon",
        /// The link of the checkout, as its customer asked for it.
        LinkAgain = "linkAgain",
        /// To the organization: somebody has to look at a checkout.
        NeedsAttention = "needsAttention",
        /// To the organization: an endpoint is told of nothing any more.
        EndpointDisabled = "endpointDisabled",
    }
}

named_enum! {
    /// How far a mail is.
    pub enum MailState {
        /// To be sent.
        Pending = "pending",
        /// The mail server took it.
        Sent = "sent",
        /// Not sent: nothing is sent to the address any more.
        Suppressed = "suppressed",
        /// Not sent: there is nobody to send it to, or what it says is not so any more.
        Skipped = "skipped",
        /// There is no such mailbox, as the mail server said or was reported afterwards.
        Bounced = "bounced",
        /// Whoever got it called it unwanted.
        Complained = "complained",
        /// Given up until somebody says otherwise.
        Dead = "dead",
    }
}

named_enum! {
    /// Why nothing is sent to an address any more.
    pub enum SuppressionReason {
        /// There is no such mailbox.
        HardBounce = "hardBounce",
        /// Whoever has it called a mail unwanted.
        Complaint = "complaint",
    }
}

named_enum! {
    /// What whoever delivers mails reports of one that was sent.
    pub enum MailReport {
        /// It came back.
        Bounced = "bounced",
        /// Whoever got it called it unwanted.
        Complained = "complained",
    }
}

impl MailReport {
    /// Why the address is sent nothing more; none where it is sent mails still, since what came back would not
    /// do so again.
    #[must_use]
    pub const fn reason(self, is_permanent: bool) -> Option<SuppressionReason> {
        match self {
            Self::Bounced if !is_permanent => None,
            Self::Bounced => Some(SuppressionReason::HardBounce),
            Self::Complained => Some(SuppressionReason::Complaint),
        }
    }
}

/// What a mail is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MailSubject {
    Checkout(CheckoutPubId),
    /// Of the organization's endpoints.
    Endpoint(WebhookEndpointPubId),
}

impl MailKind {
    /// The mail that an event is a cause of.
    #[must_use]
    pub const fn of(event: EventType) -> Option<Self> {
        Some(match event {
            EventType::CheckoutCreated => Self::CheckoutLink,
            EventType::CheckoutPromoted => Self::OffWaitlist,
            EventType::CheckoutDocumentsReady => Self::AgreementReady,
            EventType::CheckoutDocumentsSigned => Self::AgreementSigned,
            EventType::CheckoutDeclined => Self::Refused,
            EventType::CheckoutShipped => Self::Shipped,
            EventType::PaymentFailed => Self::PaymentFailed,
            EventType::CheckoutNeedsAttention => Self::NeedsAttention,
            EventType::WebhookEndpointDisabled => Self::EndpointDisabled,
            _ => return None,
        })
    }

    /// Whether it goes to the organization, and not to a customer of it.
    #[must_use]
    pub const fn is_for_organization(self) -> bool {
        matches!(self, Self::NeedsAttention | Self::EndpointDisabled)
    }
}

/// What one mail is sent for, and no second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailCause {
    /// Something happened.
    Event(EventPubId),
    /// The lease comes to its end.
    Lease(CheckoutPubId),
    /// The customer asked at this time: what is asked for again soon after is the same.
    Asked(CheckoutPubId, Timestamp),
}

impl MailCause {
    /// What a store tells the causes of an organization's mails apart by.
    #[must_use]
    pub fn key(self, kind: MailKind) -> String {
        match self {
            Self::Event(id) => format!("{kind}:{id}"),
            Self::Lease(id) => format!("{kind}:{id}"),
            Self::Asked(id, at) => {
                let stretch = at
                    .timestamp()
                    .div_euclid(LINK_AGAIN_EVERY.num_seconds().max(1));
                format!("{kind}:{id}:{stretch}")
            }
        }
    }
}

/// A mail that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMail {
    /// What its `Message-ID` is made of.
    pub id: MailPubId,
    pub organization_id: OrganizationId,
    pub mode: Mode,
    pub kind: MailKind,
    /// What it is about.
    pub subject: MailSubject,
    /// What it is sent for, as [`MailCause::key`] says it.
    pub cause: String,
    /// It is due then.
    pub created_at: Timestamp,
}

impl NewMail {
    /// Whose it is.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        Scope {
            organization_id: self.organization_id,
            mode: self.mode,
        }
    }
}

/// A mail, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    pub new: NewMail,
    pub state: MailState,
    /// How many attempts have ended.
    pub attempts: u32,
    /// When it is tried next; none once that is over.
    pub next_attempt_at: Option<Timestamp>,
    /// Why it was not sent. It names nobody.
    pub reason: Option<String>,
    pub updated_at: Timestamp,
    /// How often it was taken to be sent: whoever has taken it is known by this.
    pub claims: u32,
}

impl From<NewMail> for Mail {
    fn from(new: NewMail) -> Self {
        Self {
            state: MailState::Pending,
            attempts: 0,
            next_attempt_at: Some(new.created_at),
            reason: None,
            updated_at: new.created_at,
            claims: 0,
            new,
        }
    }
}

/// What a mail server said of a mail. Its own words may name whom it was for, so that no more than its
/// codes are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It took it.
    Accepted,
    /// There is no such mailbox, and there will be none.
    NoSuchMailbox(String),
    /// It takes it from nobody: sent again it is refused again.
    Refused(String),
    /// Not now.
    Later(String),
    /// It could not be spoken with, or does not let us send: an operator's to mend.
    Trouble(String),
}

impl Mail {
    /// Whether it is over: nothing is to be done about it any more.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        !matches!(self.state, MailState::Pending | MailState::Dead)
    }

    /// An attempt has ended so at this time.
    pub fn tried(&mut self, posted: &Posted, at: Timestamp) {
        self.attempts = self.attempts.saturating_add(1);
        match posted {
            Posted::Accepted => self.end(MailState::Sent, None, at),
            Posted::NoSuchMailbox(reason) => self.end(MailState::Bounced, Some(reason), at),
            Posted::Refused(reason) => self.end(MailState::Dead, Some(reason), at),
            Posted::Later(reason) | Posted::Trouble(reason) => match self.pause() {
                Some(pause) => {
                    self.reason = Some(beginning(reason));
                    self.updated_at = at;
                    self.next_attempt_at = Some(at.checked_add_signed(pause).unwrap_or(at));
                }
                None => self.end(MailState::Dead, Some(reason), at),
            },
        }
    }

    /// It is over, or given up, for this reason.
    pub fn end(&mut self, state: MailState, reason: Option<&str>, at: Timestamp) {
        self.state = state;
        self.reason = reason.map(beginning);
        self.updated_at = at;
        self.next_attempt_at = None;
    }

    /// How long it is left after the attempts that were made; none when there were enough.
    fn pause(&self) -> Option<TimeDelta> {
        let made = usize::try_from(self.attempts).ok()?.checked_sub(1)?;
        PAUSES.get(made).copied().map(TimeDelta::seconds)
    }
}

/// The beginning of a reason, without what no store keeps.
fn beginning(text: &str) -> String {
    let kept = text.chars().filter(|letter| !letter.is_control());
    kept.take(LONGEST_REASON).collect()
}

/// In which modes mails are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailModes {
    pub live: bool,
    pub sandbox: bool,
}

impl MailModes {
    /// Whether mails of the mode are sent.
    #[must_use]
    pub const fn of(self, mode: Mode) -> bool {
        match mode {
            Mode::Live => self.live,
            Mode::Sandbox => self.sandbox,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn mail() -> Mail {
        let id = EventPubId::from_uuid(Uuid::from_u128(3));
        Mail::from(NewMail {
            id: MailPubId::from_uuid(Uuid::from_u128(1)),
            organization_id: OrganizationId::new(1).unwrap(),
            mode: Mode::Live,
            kind: MailKind::Shipped,
            subject: MailSubject::Checkout(CheckoutPubId::from_uuid(Uuid::from_u128(2))),
            cause: MailCause::Event(id).key(MailKind::Shipped),
            created_at: Timestamp::UNIX_EPOCH,
        })
    }

    #[test]
    fn it_is_tried_so_often_and_then_given_up() {
        let mut mail = mail();
        let mut at = mail.new.created_at;
        for attempt in 1..MAX_ATTEMPTS {
            mail.tried(&Posted::Later("450".into()), at);
            assert_eq!((mail.state, mail.attempts), (MailState::Pending, attempt));
            let next = mail.next_attempt_at.unwrap();
            assert!(next > at, "each pause is one");
            at = next;
        }
        mail.tried(&Posted::Trouble("it is not there".into()), at);
        assert_eq!(mail.state, MailState::Dead);
        assert_eq!(mail.next_attempt_at, None);
        assert_eq!(mail.reason.as_deref(), Some("it is not there"));
    }

    #[test]
    fn what_is_final_is_not_tried_again() {
        for (posted, state) in [
            (Posted::Accepted, MailState::Sent),
            (Posted::NoSuchMailbox("550".into()), MailState::Bounced),
            (Posted::Refused("554".into()), MailState::Dead),
        ] {
            let mut mail = mail();
            mail.tried(&posted, Timestamp::UNIX_EPOCH);
            assert_eq!((mail.state, mail.next_attempt_at), (state, None));
        }
    }

    #[test]
    fn who_asks_again_soon_asks_for_the_same() {
        let id = CheckoutPubId::from_uuid(Uuid::from_u128(2));
        let key = |seconds| {
            let at = Timestamp::from_timestamp(seconds, 0).unwrap();
            MailCause::Asked(id, at).key(MailKind::LinkAgain)
        };
        assert_eq!(key(0), key(899));
        assert_ne!(key(899), key(900));
    }
}
