//! Mails, and the addresses that nothing is sent to.
//!
//! An address is kept as a mark, by which it is known again and from which it cannot be had without the
//! server's key. During a rotation of that key it is looked for by what it is under both; one that was
//! marked under a key that is gone is not known any more, and is marked anew when it bounces again.

use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{
    BigInt, Bool, Date, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::ids::{CheckoutPubId, MailPubId, WebhookEndpointPubId};
use lessor_domain::mail::{Mail, MailKind, MailState, MailSubject, NewMail, SuppressionReason};
use lessor_domain::ports::{Erasure, MailFilter, MailStore, StoreError};
use lessor_domain::text::Email;
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::{Place, counted};
use super::encode::text;
use super::error::store_error;
use super::kept::Keep as _;
use super::schema::{mail_suppressions, mails};

/// To be sent, word for word as the partial indexes say it.
const IS_PENDING: &str = "state = 'pending'";

/// Takes up to `$4` mails of the organization `$3` that are due at `$1`, for `$2` microseconds. Leases count
/// by the clock of the database, which all workers share.
const CLAIM: &str = "\
WITH taken AS MATERIALIZED ( \
    SELECT id FROM mails \
    WHERE organization_id = $3 AND state = 'pending' AND due_at <= $1 \
        AND (claimed_until IS NULL OR claimed_until <= statement_timestamp()) \
    ORDER BY due_at, id LIMIT $4 \
    FOR UPDATE SKIP LOCKED \
) UPDATE mails SET claims = claims + 1, \
    claimed_until = statement_timestamp() + $2 * interval '1 microsecond' \
WHERE organization_id = $3 AND id = ANY (ARRAY(SELECT id FROM taken)) \
RETURNING *";

/// Makes the mail `$2`, or all of the organization `$1`, due at `$3`, but those that somebody is at.
const REQUEUE: &str = "\
UPDATE mails SET state = 'pending', attempts = 0, due_at = $3, updated_at = $3, claimed_until = NULL \
WHERE organization_id = $1 AND ($2 IS NULL OR id = $2) AND state IN ('pending', 'dead') \
    AND (claimed_until IS NULL OR claimed_until <= statement_timestamp())";

/// Active leases of a mode with their last day in `[$2, $3)` that nobody was mailed of.
const ENDING: &str = "\
c.lifecycle = 'leaseActive' AND c.mode = $1 AND c.lease_end >= $2 AND c.lease_end < $3 \
    AND NOT EXISTS (SELECT 1 FROM mails AS m \
        WHERE m.organization_id = c.organization_id AND m.subject_id = c.id \
            AND m.kind = 'leaseEndsSoon')";

/// Forgets what is over and older than `$2`, at most `$3` mails. Ids are made in the order of time.
const PURGE: &str = "\
DELETE FROM mails WHERE organization_id = $1 AND id IN ( \
    SELECT id FROM mails \
    WHERE organization_id = $1 AND created_at < $2 AND state NOT IN ('pending', 'dead') \
    ORDER BY id LIMIT $3 \
)";

const CHECKOUT: &str = "checkout";
const ENDPOINT: &str = "endpoint";

#[derive(Queryable, Selectable, QueryableByName, Insertable)]
#[diesel(table_name = mails, check_for_backend(Pg))]
struct Row {
    organization_id: i64,
    id: Uuid,
    mode: String,
    kind: String,
    subject_kind: String,
    subject_id: Uuid,
    cause: String,
    state: String,
    attempts: i32,
    claims: i32,
    due_at: Option<Timestamp>,
    reason: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// What of a mail an attempt changes. The claim is over with it.
#[derive(AsChangeset)]
#[diesel(table_name = mails, treat_none_as_null = true)]
struct Settled {
    state: String,
    attempts: i32,
    due_at: Option<Timestamp>,
    claimed_until: Option<Timestamp>,
    reason: Option<String>,
    recipient_mark: Option<Vec<u8>>,
    updated_at: Timestamp,
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

#[derive(QueryableByName)]
struct Owner {
    #[diesel(sql_type = BigInt)]
    organization_id: i64,
}

impl From<&NewMail> for Row {
    fn from(new: &NewMail) -> Self {
        let (subject_kind, subject_id) = match new.subject {
            MailSubject::Checkout(id) => (CHECKOUT, id.as_uuid()),
            MailSubject::Endpoint(id) => (ENDPOINT, id.as_uuid()),
        };
        Self {
            organization_id: new.organization_id.get(),
            id: new.id.as_uuid(),
            mode: text(&new.mode),
            kind: text(&new.kind),
            subject_kind: subject_kind.to_owned(),
            subject_id,
            cause: new.cause.clone(),
            state: text(&MailState::Pending),
            attempts: 0,
            claims: 0,
            due_at: Some(new.created_at),
            reason: None,
            created_at: new.created_at,
            updated_at: new.created_at,
        }
    }
}

impl TryFrom<Row> for Mail {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let place = Place::new("mails", &row.id);
        let subject = match row.subject_kind.as_str() {
            CHECKOUT => MailSubject::Checkout(CheckoutPubId::from_uuid(row.subject_id)),
            ENDPOINT => MailSubject::Endpoint(WebhookEndpointPubId::from_uuid(row.subject_id)),
            _ => return Err(place.corrupt("subject_kind", "is nothing that a mail is about")),
        };
        Ok(Self {
            new: NewMail {
                id: MailPubId::from_uuid(row.id),
                organization_id: place.number("organization_id", row.organization_id)?,
                mode: place.parse("mode", &row.mode)?,
                kind: place.parse("kind", &row.kind)?,
                subject,
                cause: row.cause,
                created_at: row.created_at,
            },
            state: place.parse("state", &row.state)?,
            attempts: place.count("attempts", row.attempts)?,
            next_attempt_at: row.due_at,
            reason: row.reason,
            updated_at: row.updated_at,
            claims: place.count("claims", row.claims)?,
        })
    }
}

fn all(rows: Vec<Row>) -> Result<Vec<Mail>, StoreError> {
    rows.into_iter().map(Mail::try_from).collect()
}

/// The lease in microseconds, a century at the most.
fn micros(lease: Duration) -> i64 {
    const LONGEST: TimeDelta = TimeDelta::days(36_525);
    let lease = TimeDelta::from_std(lease).map_or(LONGEST, |lease| lease.min(LONGEST));
    lease.num_microseconds().unwrap_or(i64::MAX)
}

fn count(written: usize) -> u64 {
    u64::try_from(written).unwrap_or(u64::MAX)
}

/// The mail, if this claim of it is the last one.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_claim(mail: &Mail) -> _ {
    let owner: i64 = mail.new.organization_id.get();
    let id: Uuid = mail.new.id.as_uuid();
    // More claims than the column can hold are nobody's.
    let claims: i32 = i32::try_from(mail.claims).unwrap_or(-1);
    mails::organization_id
        .eq(owner)
        .and(mails::id.eq(id))
        .and(mails::claims.eq(claims))
        .and(mails::claimed_until.is_not_null())
}

/// Mails about these checkouts to their customers, of which it is known to which address they went.
macro_rules! of_customers {
    ($owner:expr, $checkouts:expr) => {
        mails::table
            .filter(mails::organization_id.eq($owner))
            .filter(mails::subject_id.eq_any($checkouts))
            .filter(mails::subject_kind.eq(CHECKOUT))
            .filter(mails::kind.ne(MailKind::NeedsAttention.as_str()))
            .filter(mails::recipient_mark.is_not_null())
    };
}

async fn load(
    connection: &mut AsyncPgConnection,
    query: mails::BoxedQuery<'static, Pg>,
) -> Result<Vec<Mail>, StoreError> {
    let rows = query.select(Row::as_select()).load(connection).await;
    all(rows.map_err(store_error)?)
}

async fn ending(
    connection: &mut AsyncPgConnection,
    owner: i64,
    mode: Mode,
    (from, before): (Day, Day),
    limit: u32,
) -> Result<Vec<CheckoutPubId>, StoreError> {
    let found: Vec<Found> = diesel::sql_query(format!(
        "SELECT c.id FROM checkouts AS c WHERE c.organization_id = $4 AND {ENDING} \
         ORDER BY c.lease_end, c.id LIMIT $5"
    ))
    .bind::<Text, _>(mode.as_str())
    .bind::<Date, _>(from)
    .bind::<Date, _>(before)
    .bind::<BigInt, _>(owner)
    .bind::<BigInt, _>(i64::from(limit))
    .load(connection)
    .await
    .map_err(store_error)?;
    let found = found.into_iter();
    Ok(found.map(|row| CheckoutPubId::from_uuid(row.id)).collect())
}

impl PgUnitOfWork {
    /// What the address is known again by, under the newest key first.
    fn marks(&self, address: &Email) -> Vec<Vec<u8>> {
        let about = format!("mail address {}", self.owner());
        let folded = address.folded();
        self.secrets.marks(about.as_bytes(), folded.as_bytes())
    }

    /// What the address is known again by from now on.
    fn mark(&self, address: &Email) -> Result<Vec<u8>, StoreError> {
        let newest = self.marks(address).into_iter().next();
        newest.ok_or_else(|| StoreError::internal("an address is marked under the server's key"))
    }

    async fn suppress_mark(
        &mut self,
        mark: Vec<u8>,
        reason: SuppressionReason,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        diesel::insert_into(mail_suppressions::table)
            .values((
                mail_suppressions::organization_id.eq(self.owner()),
                mail_suppressions::address_mark.eq(mark),
                mail_suppressions::reason.eq(reason.as_str()),
                mail_suppressions::created_at.eq(at),
            ))
            .on_conflict_do_nothing()
            .execute(self.connection()?)
            .await
            .map(|written| written > 0)
            .map_err(store_error)
    }

    async fn forget_marks(&mut self, marks: Vec<Vec<u8>>) -> Result<usize, StoreError> {
        use mail_suppressions as s;
        let known = s::table
            .filter(s::organization_id.eq(self.owner()))
            .filter(s::address_mark.eq_any(marks));
        diesel::delete(known)
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    /// Of who was erased it is not known any more whether they are sent mails.
    pub(super) async fn forget_suppressions(
        &mut self,
        erasure: &Erasure,
        ended: &[Uuid],
    ) -> Result<usize, StoreError> {
        if !erasure.running.is_empty() {
            return Ok(0);
        }
        let mut marks: Vec<Vec<u8>> = of_customers!(self.owner(), ended)
            .select(mails::recipient_mark.assume_not_null())
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        marks.extend(self.marks(&erasure.email));
        self.forget_marks(marks).await
    }

    /// Nor to which address mails went.
    pub(super) async fn forget_recipients(&mut self, ended: &[Uuid]) -> Result<usize, StoreError> {
        diesel::update(of_customers!(self.owner(), ended))
            .set(mails::recipient_mark.eq(None::<Vec<u8>>))
            .kept()
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }
}

#[async_trait]
impl MailStore for PgUnitOfWork {
    async fn queue(&mut self, new: &[NewMail]) -> Result<u64, StoreError> {
        if new.is_empty() {
            return Ok(0);
        }
        let rows: Vec<Row> = new.iter().map(Row::from).collect();
        diesel::insert_into(mails::table)
            .values(rows)
            .on_conflict((mails::organization_id, mails::cause))
            .do_nothing()
            .execute(self.connection()?)
            .await
            .map(count)
            .map_err(store_error)
    }

    async fn get(&mut self, id: MailPubId) -> Result<Option<Mail>, StoreError> {
        let row: Option<Row> = mails::table
            .find((self.owner(), id.as_uuid()))
            .select(Row::as_select())
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        row.map(Mail::try_from).transpose()
    }

    async fn claim(
        &mut self,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Mail>, StoreError> {
        let owner = self.owner();
        let rows: Vec<Row> = diesel::sql_query(CLAIM)
            .bind::<Timestamptz, _>(now)
            .bind::<BigInt, _>(micros(lease))
            .bind::<BigInt, _>(owner)
            .bind::<BigInt, _>(i64::from(limit))
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        let mut taken = all(rows)?;
        taken.sort_by_key(|mail| (mail.next_attempt_at, mail.new.id));
        Ok(taken)
    }

    async fn settle<'a>(&mut self, mail: &Mail, to: Option<&'a Email>) -> Result<bool, StoreError> {
        let settled = Settled {
            state: text(&mail.state),
            attempts: counted(mail.attempts)?,
            due_at: mail.next_attempt_at,
            claimed_until: None,
            reason: mail.reason.clone(),
            recipient_mark: to.map(|to| self.mark(to)).transpose()?,
            updated_at: mail.updated_at,
        };
        diesel::update(mails::table.filter(is_claim(mail)))
            .set(settled)
            .kept()
            .execute(self.connection()?)
            .await
            .map(|written| written == 1)
            .map_err(store_error)
    }

    async fn hand_back(&mut self, mail: &Mail) -> Result<(), StoreError> {
        diesel::update(mails::table.filter(is_claim(mail)))
            .set(mails::claimed_until.eq(None::<Timestamp>))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn list(&mut self, filter: &MailFilter, limit: u32) -> Result<Vec<Mail>, StoreError> {
        let mut query = mails::table
            .filter(mails::organization_id.eq(self.owner()))
            .order(mails::id.desc())
            .limit(limit.into())
            .into_boxed();
        if let Some(state) = filter.state {
            query = query.filter(mails::state.eq(state.as_str()));
        }
        if let Some(checkout) = filter.checkout {
            query = query
                .filter(mails::subject_id.eq(checkout.as_uuid()))
                .filter(mails::subject_kind.eq(CHECKOUT));
        }
        load(self.connection()?, query).await
    }

    async fn requeue(&mut self, id: Option<MailPubId>, now: Timestamp) -> Result<u64, StoreError> {
        diesel::sql_query(REQUEUE)
            .bind::<BigInt, _>(self.owner())
            .bind::<Nullable<SqlUuid>, _>(id.map(|id| id.as_uuid()))
            .bind::<Timestamptz, _>(now)
            .execute(self.connection()?)
            .await
            .map(count)
            .map_err(store_error)
    }

    async fn suppression(
        &mut self,
        address: &Email,
    ) -> Result<Option<SuppressionReason>, StoreError> {
        use mail_suppressions as s;
        let found: Option<String> = s::table
            .filter(s::organization_id.eq(self.owner()))
            .filter(s::address_mark.eq_any(self.marks(address)))
            .select(s::reason)
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        let owner = self.owner();
        let place = Place::new("mail_suppressions", &owner);
        found
            .map(|reason| place.parse("reason", &reason))
            .transpose()
    }

    async fn suppress(
        &mut self,
        address: &Email,
        reason: SuppressionReason,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        if MailStore::suppression(self, address).await?.is_some() {
            return Ok(false);
        }
        let mark = self.mark(address)?;
        self.suppress_mark(mark, reason, at).await
    }

    async fn report(
        &mut self,
        id: MailPubId,
        reason: SuppressionReason,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let became = match reason {
            SuppressionReason::HardBounce => MailState::Bounced,
            SuppressionReason::Complaint => MailState::Complained,
        };
        let own = mails::table.find((self.owner(), id.as_uuid()));
        let sent = mails::state.eq(MailState::Sent.as_str());
        diesel::update(own.filter(sent))
            .set((
                mails::state.eq(became.as_str()),
                mails::updated_at.eq(at),
                mails::reason.eq(None::<String>),
            ))
            .kept()
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        let mark: Option<Option<Vec<u8>>> = own
            .select(mails::recipient_mark)
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        match mark.flatten() {
            Some(mark) => self.suppress_mark(mark, reason, at).await,
            None => Ok(false),
        }
    }

    async fn unsuppress(&mut self, address: &Email) -> Result<bool, StoreError> {
        let marks = self.marks(address);
        Ok(self.forget_marks(marks).await? > 0)
    }

    async fn ending(
        &mut self,
        mode: Mode,
        from: Day,
        before: Day,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let owner = self.owner();
        ending(self.connection()?, owner, mode, (from, before), limit).await
    }

    async fn purge(&mut self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        diesel::sql_query(PURGE)
            .bind::<BigInt, _>(self.owner())
            .bind::<Timestamptz, _>(before)
            .bind::<Integer, _>(i32::try_from(limit).unwrap_or(i32::MAX))
            .execute(self.connection()?)
            .await
            .map(count)
            .map_err(store_error)
    }
}

/// Whose mails can be taken by the time, of all that can be read.
pub(super) async fn owners_due(
    connection: &mut AsyncPgConnection,
    due: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    let is_free = "(claimed_until IS NULL OR claimed_until <= statement_timestamp())";
    mails::table
        .filter(sql::<Bool>(IS_PENDING))
        .filter(mails::due_at.le(due))
        .filter(sql::<Bool>(is_free))
        .select(mails::organization_id)
        .distinct()
        .order(mails::organization_id)
        .load(connection)
        .await
        .map_err(store_error)
}

/// Whose mails are over and older than the time, of all that can be read.
pub(super) async fn owners_of_old(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    mails::table
        .filter(mails::created_at.lt(before))
        .filter(sql::<Bool>("state NOT IN ('pending', 'dead')"))
        .select(mails::organization_id)
        .distinct()
        .order(mails::organization_id)
        .load(connection)
        .await
        .map_err(store_error)
}

/// Whose leases end on one of the days and were not told of, of all that can be read.
pub(super) async fn owners_ending(
    connection: &mut AsyncPgConnection,
    mode: Mode,
    (from, before): (Day, Day),
) -> Result<Vec<i64>, StoreError> {
    let owners: Vec<Owner> = diesel::sql_query(format!(
        "SELECT DISTINCT c.organization_id FROM checkouts AS c WHERE {ENDING} ORDER BY 1"
    ))
    .bind::<Text, _>(mode.as_str())
    .bind::<Date, _>(from)
    .bind::<Date, _>(before)
    .load(connection)
    .await
    .map_err(store_error)?;
    Ok(owners.iter().map(|owner| owner.organization_id).collect())
}
