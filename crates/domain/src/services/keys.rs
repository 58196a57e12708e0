//! API keys: administration by the operator of the installation.
//!
//! How a secret looks and is hashed is the edge's; here is what a key may do and
//! when it ends.

use std::time::Duration;

use super::Error;
use super::audit::{self, Entry};
use crate::access::{ApiKey, KeyHash, KeyKind, Mode, Permissions};
use crate::audit::{AuditAction, Origin};
use crate::customer::{Customer, Profile};
use crate::ids::{ApiKeyPubId, CustomerPubId, OrganizationRef, UserPubId};
use crate::organization::Organization;
use crate::ports::{IdGenerator, InsertedCustomer, KeyHolder, NewCustomer, UnitOfWork};
use crate::text::{Email, Name};
use crate::time::Timestamp;

/// Whose key it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyUser {
    /// A user that the organization has. One of the other mode stands for the user of the same address
    /// in the key's mode, who is made with the same profile when there is none.
    Id(UserPubId),
    /// The organization's user of the address in the key's mode; made when there is none.
    Email(Email),
}

/// A key to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateKey {
    /// The organization that it acts for.
    pub organization: OrganizationRef,
    /// The user that it acts as, who is of its mode.
    pub user: KeyUser,
    /// Whom it may be shown to.
    pub kind: KeyKind,
    /// Live or sandbox.
    pub mode: Mode,
    /// What it may do; nothing when it is publishable.
    pub permissions: Permissions,
    /// A name for people.
    pub name: Option<Name>,
    /// When it ends, if ever.
    pub expires_at: Option<Timestamp>,
    /// Hash of its secret.
    pub hash: KeyHash,
    /// The secret's last four characters.
    pub hint: String,
}

/// A key to be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollKey {
    /// Which one.
    pub id: ApiKeyPubId,
    /// How long it still opens.
    pub overlap: Duration,
    /// Hash of the new key's secret.
    pub hash: KeyHash,
    /// The new secret's last four characters.
    pub hint: String,
}

/// Notes when the organization's first live key is made: from then on its catalog is the live one's,
/// unless its operator says otherwise. Answers the organization as it is then.
async fn note_live_key(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    organization: Organization,
) -> Result<Organization, Error> {
    if organization.first_live_key_at.is_some() {
        return Ok(organization);
    }
    let mut organization = uow
        .organizations()
        .lock(organization.id)
        .await?
        .ok_or(Error::not_found("organization"))?;
    // Another may have been made meanwhile.
    if organization.first_live_key_at.is_none() {
        let before = organization.clone();
        organization.first_live_key_at = Some(now);
        organization.updated_at = now;
        uow.organizations().update(&mut organization).await?;
        let noted = Entry::changed(AuditAction::OrganizationUpdated, &before, &organization);
        audit::record(uow, ids, now, origin, organization.id, noted).await?;
    }
    Ok(organization)
}

/// Creates a key. Answers it with its user. The work goes on in the organization's name.
///
/// # Errors
/// [`Error::Invalid`] of a publishable key with permissions; [`Error::NotFound`] of the organization or
/// user.
pub async fn create_key(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    input: CreateKey,
) -> Result<(KeyHolder, Customer), Error> {
    if input.kind == KeyKind::Publishable && input.permissions != Permissions::default() {
        return Err(Error::invalid(
            "permissions",
            "a publishable key has none: it reads prices, and nothing else",
        ));
    }
    let mut organization = uow
        .organizations()
        .find(input.organization)
        .await?
        .ok_or(Error::not_found("organization"))?;
    uow.enter(organization.id).await?;
    if input.mode == Mode::Live {
        organization = note_live_key(uow, ids, now, origin, organization).await?;
    }
    let new = |email, profile| NewCustomer {
        id: CustomerPubId::from_uuid(ids.next()),
        organization_id: organization.id,
        mode: input.mode,
        email,
        profile,
        created_at: now,
    };
    let user = match input.user {
        KeyUser::Id(id) => {
            let named = uow.customers().get(id).await?;
            let named = named.ok_or(Error::not_found("user"))?;
            if named.mode == input.mode {
                named
            } else {
                find_or_make(uow, ids, origin, &new(named.email, named.profile)).await?
            }
        }
        KeyUser::Email(email) => {
            find_or_make(uow, ids, origin, &new(email, Profile::default())).await?
        }
    };
    let key = ApiKey {
        id: ApiKeyPubId::from_uuid(ids.next()),
        organization_id: organization.id,
        user_id: user.user_id,
        kind: input.kind,
        mode: input.mode,
        permissions: input.permissions,
        name: input.name,
        hash: input.hash,
        hint: input.hint,
        created_at: now,
        expires_at: input.expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    uow.keys().insert(&key).await?;
    let holder = KeyHolder {
        key,
        organization_pub_id: organization.pub_id,
        user_pub_id: user.id,
        sandbox_writes_catalog: organization.lets_sandbox_write_catalog(),
    };
    let made = Entry::created(AuditAction::KeyCreated, &holder);
    audit::record(uow, ids, now, origin, organization.id, made).await?;
    Ok((holder, user))
}

/// The customer of the mode and the address, who stays as they are when there is one.
async fn find_or_make(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    origin: &Origin,
    new: &NewCustomer,
) -> Result<Customer, Error> {
    match uow.customers().insert(new).await? {
        InsertedCustomer::New(user) => {
            let made = Entry::created(AuditAction::CustomerCreated, &user);
            let organization = user.organization_id;
            audit::record(uow, ids, new.created_at, origin, organization, made).await?;
            Ok(user)
        }
        InsertedCustomer::Existing(user) => Ok(user),
    }
}

/// Revokes a key at once; again changes nothing. The catalog stays the live one's also when no live key
/// is left. The work goes on in the name of the key's organization.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn revoke_key(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    id: ApiKeyPubId,
) -> Result<KeyHolder, Error> {
    let mut holder = uow
        .keys()
        .get(id)
        .await?
        .ok_or(Error::not_found("API key"))?;
    if holder.key.revoked_at.is_none() {
        let organization = holder.key.organization_id;
        uow.enter(organization).await?;
        let before = holder.clone();
        holder.key.revoked_at = Some(now);
        uow.keys()
            .close(id, holder.key.revoked_at, holder.key.expires_at)
            .await?;
        let revoked = Entry::changed(AuditAction::KeyRevoked, &before, &holder);
        audit::record(uow, ids, now, origin, organization, revoked).await?;
    }
    Ok(holder)
}

/// Replaces a key by one of the same user that may do the same; the old one still opens for the
/// overlap. The work goes on in the name of the key's organization.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Rule`] when the key is revoked or has ended.
pub async fn roll_key(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    input: RollKey,
) -> Result<KeyHolder, Error> {
    let RollKey {
        id,
        overlap,
        hash,
        hint,
    } = input;
    let old = uow
        .keys()
        .get(id)
        .await?
        .ok_or(Error::not_found("API key"))?;
    if !old.key.is_valid_at(now) {
        return Err(Error::rule(
            "the key is revoked or has ended: create a new one",
        ));
    }
    let organization_id = old.key.organization_id;
    uow.enter(organization_id).await?;
    let new = ApiKey {
        id: ApiKeyPubId::from_uuid(ids.next()),
        hash,
        hint,
        created_at: now,
        last_used_at: None,
        revoked_at: None,
        ..old.key.clone()
    };
    let mut sandbox_writes_catalog = old.sandbox_writes_catalog;
    if new.mode == Mode::Live {
        let organization = uow
            .organizations()
            .get(organization_id)
            .await?
            .ok_or(Error::not_found("organization"))?;
        sandbox_writes_catalog = note_live_key(uow, ids, now, origin, organization)
            .await?
            .lets_sandbox_write_catalog();
    }
    uow.keys().insert(&new).await?;
    let until = chrono::TimeDelta::from_std(overlap)
        .ok()
        .and_then(|overlap| now.checked_add_signed(overlap));
    let ends = match (until, old.key.expires_at) {
        (Some(until), Some(expires)) => Some(until.min(expires)),
        (until, expires) => until.or(expires),
    };
    uow.keys().close(id, None, ends).await?;
    let mut ending = old.clone();
    ending.key.expires_at = ends;
    let holder = KeyHolder {
        key: new,
        organization_pub_id: old.organization_pub_id,
        user_pub_id: old.user_pub_id,
        sandbox_writes_catalog,
    };
    let mut rolled = Entry::changed(AuditAction::KeyRolled, &old, &ending);
    rolled.change.after.set("newKeyId", holder.key.id);
    let made = Entry::created(AuditAction::KeyCreated, &holder);
    audit::record_all(uow, ids, now, origin, organization_id, vec![rolled, made]).await?;
    Ok(holder)
}
