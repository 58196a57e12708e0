//! What is asked before it is known whose it is.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{Backlog, Held, MailBacklog, PageToken, StoreError};
use crate::access::Mode;
use crate::checkout::{AttentionReason, Lifecycle, Tracking};
use crate::ids::{CheckoutPubId, MailPubId, OrganizationId};
use crate::time::{Day, Timestamp};

/// Work that some organizations have and others have not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Errand {
    /// Jobs that are due by the time.
    Jobs { due: Timestamp },
    /// Checkouts in states that expire, untouched since before the time.
    Expiry { before: Timestamp },
    /// Running checkouts with a deposit that lapses before the time.
    Lapse { before: Timestamp },
    /// Active leases whose last day is before the day.
    LeaseEnd { before: Day },
    /// Subscriptions that were asked for before the time and are not there.
    Billing { before: Timestamp },
    /// Shipments under way of which the carrier said nothing since the time.
    Silence { before: Timestamp },
    /// Shipments under way whose carrier can be asked.
    Shipments,
    /// Checkouts of the mode whose subscription was asked for.
    Billed { mode: Mode },
    /// An account of the mode of their own at the payment processor.
    OwnAccount { mode: Mode },
    /// Answers to requests, kept before the time.
    OldAnswers { before: Timestamp },
    /// Jobs that were done or skipped before the time.
    OldJobs { before: Timestamp },
    /// Events that have no number yet.
    UnnumberedEvents,
    /// Events that happened before the time.
    OldEvents { before: Timestamp },
    /// Deliveries that can be taken: pending, due by the time, of an endpoint that is enabled and does
    /// not rest then.
    Deliveries { due: Timestamp },
    /// Deliveries that are over and were made before the time.
    OldDeliveries { before: Timestamp },
    /// Mails that are to be sent, due by the time, and that nobody is at.
    Mails { due: Timestamp },
    /// Mails that are over and were made before the time.
    OldMails { before: Timestamp },
    /// Active leases of the mode that end on one of these days, from the first to before the other, whose
    /// customers were not mailed of it.
    Endings { mode: Mode, from: Day, before: Day },
}

/// Counts of checkouts by mode and state; a state that none is in has no entry.
pub type StateCounts = BTreeMap<(Mode, Lifecycle), u64>;

/// The questions that are asked across organizations, and no others: whose something is that is known
/// by a secret, a number or an id alone, who has work waiting, and how much of it there is in all.
/// An answer names organizations and counts; records are read in [their organization's
/// name](super::Reach::Organization).
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Doors: Send {
    /// Whose checkout it is.
    async fn owner_of_checkout(
        &mut self,
        id: CheckoutPubId,
    ) -> Result<Option<OrganizationId>, StoreError>;
    /// Whose checkout's page the token opens.
    async fn owner_of_page(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<OrganizationId>, StoreError>;
    /// Whose checkout's page the token opened, before the page was given another address.
    async fn owner_of_ended_page(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<OrganizationId>, StoreError>;
    /// Whose ledger has the processor's thing of this id, or the invoice that the payment of this id
    /// pays.
    async fn owner_of_payment(
        &mut self,
        mode: Mode,
        id: &str,
    ) -> Result<Option<OrganizationId>, StoreError>;
    /// Whose customer's verification session it is.
    async fn owner_of_verification(
        &mut self,
        mode: Mode,
        session_id: &str,
    ) -> Result<Option<OrganizationId>, StoreError>;
    /// Whose job it is.
    async fn owner_of_job(&mut self, id: uuid::Uuid) -> Result<Option<OrganizationId>, StoreError>;
    /// Whose mail it is.
    async fn owner_of_mail(&mut self, id: MailPubId) -> Result<Option<OrganizationId>, StoreError>;
    /// Who has checkouts with this tracking number that have not ended, in the order of their numbers.
    async fn owners_of_shipment(
        &mut self,
        tracking: &Tracking,
    ) -> Result<Vec<OrganizationId>, StoreError>;
    /// Who has work of this kind waiting, in the order of their numbers. Some may have none any more.
    async fn owners_with(&mut self, errand: Errand) -> Result<Vec<OrganizationId>, StoreError>;
    /// How many checkouts a person must look at, by reason, in both modes.
    async fn attention(&mut self) -> Result<Vec<(AttentionReason, u64)>, StoreError>;
    /// How many checkouts there are in each state. Looks at every checkout.
    async fn states(&mut self) -> Result<StateCounts, StoreError>;
    /// How many jobs wait, and since when.
    async fn backlog(&mut self) -> Result<Backlog, StoreError>;
    /// How many mails wait.
    async fn mail_backlog(&mut self) -> Result<MailBacklog, StoreError>;
    /// What is held of customers' money, in both modes.
    async fn held(&mut self) -> Result<Held, StoreError>;
}
