//! Mails: what they are sent for, and what is reported of them.
//!
//! No use case queues one: a [unit of work that tells](super::events::TellingDatabase) of what it changes
//! queues, with the event, the mail that the event is a cause of.

use crate::checkout::Checkout;
use crate::events::{EventSubject, NewEvent};
use crate::ids::{CheckoutPubId, MailPubId, OrganizationId};
use crate::mail::{MailCause, MailKind, MailModes, MailSubject, NewMail, SuppressionReason};
use crate::organization::Organization;
use crate::ports::{IdGenerator, StoreError, UnitOfWork};
use crate::text::Email;
use crate::time::{Day, Timestamp};

/// Where an organization is told of what it has to see to; none where it wants to be told nothing.
#[must_use]
pub fn address_of(organization: &Organization) -> Option<&Email> {
    let face = &organization.face;
    face.notify_email.as_ref().or(face.support_email.as_ref())
}

fn mail_of(event: &NewEvent, modes: MailModes, ids: &dyn IdGenerator) -> Option<NewMail> {
    let kind = MailKind::of(event.event_type).filter(|_| modes.of(event.mode))?;
    let subject = match event.subject {
        EventSubject::Checkout(id) => MailSubject::Checkout(id),
        EventSubject::WebhookEndpoint(id) => MailSubject::Endpoint(id),
        EventSubject::Product(_)
        | EventSubject::ProductVariant(_)
        | EventSubject::Customer(_)
        | EventSubject::LeaseTerm(_) => return None,
    };
    Some(NewMail {
        id: MailPubId::from_uuid(ids.next()),
        organization_id: event.organization_id,
        mode: event.mode,
        kind,
        subject,
        cause: MailCause::Event(event.id).key(kind),
        created_at: event.created_at,
    })
}

/// Queues the mails that the events are causes of. An organization that is told nowhere is queued none.
pub(super) async fn queue_of(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    modes: MailModes,
    events: &[NewEvent],
) -> Result<(), StoreError> {
    let mut mails: Vec<NewMail> = events
        .iter()
        .filter_map(|event| mail_of(event, modes, ids))
        .collect();
    if let Some(mail) = mails.iter().find(|mail| mail.kind.is_for_organization()) {
        let organization = uow.organizations().get(mail.organization_id).await?;
        if organization.as_ref().and_then(address_of).is_none() {
            mails.retain(|mail| !mail.kind.is_for_organization());
        }
    }
    if !mails.is_empty() {
        uow.mails().queue(&mails).await?;
    }
    Ok(())
}

fn about(
    checkout: &Checkout,
    kind: MailKind,
    cause: MailCause,
    ids: &dyn IdGenerator,
    now: Timestamp,
) -> NewMail {
    NewMail {
        id: MailPubId::from_uuid(ids.next()),
        organization_id: checkout.organization_id,
        mode: checkout.mode,
        kind,
        subject: MailSubject::Checkout(checkout.id),
        cause: cause.key(kind),
        created_at: now,
    }
}

/// Has the link of the checkout mailed to its customer, if the address is theirs. Whoever asks is told the
/// same whatever comes of it, since anybody may ask; and however often they do, not much is sent.
///
/// # Errors
/// [`StoreError`].
pub async fn ask_for_link(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    modes: MailModes,
    id: CheckoutPubId,
    address: &Email,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(owner) = uow.doors().owner_of_checkout(id).await? else {
        return Ok(());
    };
    uow.enter(owner).await?;
    let found = uow.checkouts().get(id).await?;
    let Some(checkout) = found.filter(|checkout| modes.of(checkout.mode)) else {
        return Ok(());
    };
    let customer = uow.customers().get(checkout.customer_id).await?;
    if customer.is_none_or(|customer| customer.email.folded() != address.folded()) {
        return Ok(());
    }
    let cause = MailCause::Asked(id, now);
    let mail = about(&checkout, MailKind::LinkAgain, cause, ids, now);
    uow.mails().queue(&[mail]).await?;
    Ok(())
}

/// Queues mails about up to so many leases that end on one of these days. Tells how many leases there were.
///
/// # Errors
/// [`StoreError`].
pub async fn tell_of_endings(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    mode: crate::access::Mode,
    (from, before): (Day, Day),
    now: Timestamp,
    limit: u32,
) -> Result<usize, StoreError> {
    let ending = uow.mails().ending(mode, from, before, limit).await?;
    let mut mails = Vec::with_capacity(ending.len());
    for id in &ending {
        if let Some(checkout) = uow.checkouts().get(*id).await? {
            let cause = MailCause::Lease(*id);
            mails.push(about(&checkout, MailKind::LeaseEndsSoon, cause, ids, now));
        }
    }
    if !mails.is_empty() {
        uow.mails().queue(&mails).await?;
    }
    Ok(ending.len())
}

/// Takes in what became of a mail after it was sent. The unit of work goes on in the name of whose it is. Tells
/// whose it was; none where nobody has such a mail.
///
/// # Errors
/// [`StoreError`].
pub async fn report(
    uow: &mut dyn UnitOfWork,
    id: MailPubId,
    reason: SuppressionReason,
    at: Timestamp,
) -> Result<Option<OrganizationId>, StoreError> {
    let owner = uow.doors().owner_of_mail(id).await?;
    if let Some(owner) = owner {
        uow.enter(owner).await?;
        uow.mails().report(id, reason, at).await?;
    }
    Ok(owner)
}
