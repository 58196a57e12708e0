//! What is asked across organizations.
//!
//! Row security shows a transaction the rows of one organization. A door, which stands in the
//! policies of the tables that a question is about, shows the rows of all, to be read and not
//! changed; it is open for the one question. What comes out is whose something is, and how much
//! of it there is.

use std::sync::LazyLock;

use async_trait::async_trait;
use diesel::dsl::{count_star, min, not, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Timestamptz};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::checkout::{AttentionReason, Tracking};
use lessor_domain::ids::{CheckoutPubId, MailPubId, OrganizationId};
use lessor_domain::mail::MailState;
use lessor_domain::ports::{
    Backlog, Doors, Errand, Held, MailBacklog, PageToken, StateCounts, StoreError,
};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::decode::{Place, row_count};
use super::error::store_error;
use super::kept::{BY_INDEX, Keep as _};
use super::line::Session;
use super::schema::{
    checkout_applications, checkout_shipments, checkouts, customers, ended_checkout_links, jobs,
    ledger_entries, mails,
};
use super::{
    PgUnitOfWork, checkouts as queues, deliveries, events, idempotency, jobs as queue,
    mails as post, processor_accounts,
};

/// Which door. The migrations say of which tables each is.
#[derive(Clone, Copy)]
pub(super) enum Door {
    /// Whoever has the address of a checkout's page.
    Page,
    /// Whoever was told of something by its id or number: a provider's message, an operator.
    Message,
    /// Whoever looks for work.
    Errands,
    /// Whoever counts.
    Survey,
}

impl Door {
    const fn opening(self) -> &'static str {
        match self {
            Self::Page => "SET LOCAL lessor.door = 'page'",
            Self::Message => "SET LOCAL lessor.door = 'message'",
            Self::Errands => "SET LOCAL lessor.door = 'errands'",
            Self::Survey => "SET LOCAL lessor.door = 'survey'",
        }
    }
}

#[derive(QueryableByName)]
struct Owner {
    #[diesel(sql_type = BigInt)]
    organization_id: i64,
}

/// A question in SQL whose something is by the time `$1`.
pub(super) struct Question {
    pub(super) usual: LazyLock<String>,
    /// The same as a cluster can answer it.
    pub(super) of_a_cluster: LazyLock<String>,
}

async fn owners_by(
    connection: &mut AsyncPgConnection,
    question: &Question,
    time: Timestamp,
    is_cluster: bool,
) -> Result<Vec<i64>, StoreError> {
    let question = if is_cluster {
        &question.of_a_cluster
    } else {
        &question.usual
    };
    let owners: Vec<Owner> = diesel::sql_query(question.as_str())
        .bind::<Timestamptz, _>(time)
        .kept()
        .load(connection)
        .await
        .map_err(store_error)?;
    Ok(owners.iter().map(|owner| owner.organization_id).collect())
}

/// A session with a door open, which is closed when this is dropped: whatever came of the question,
/// and also when nobody waits for the answer any more.
pub(super) struct Open<'a>(&'a mut Session);

impl Open<'_> {
    pub(super) const fn connection(&mut self) -> &mut AsyncPgConnection {
        self.0.connection()
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.send_ahead("SET LOCAL lessor.door = ''");
    }
}

/// The organization of a row of the table.
fn owner(table: &'static str, number: i64) -> Result<OrganizationId, StoreError> {
    Place::new(table, &number).number("organization_id", number)
}

impl PgUnitOfWork {
    /// Opens the door for a question, whose round trip it shares.
    pub(super) fn open(&mut self, door: Door) -> Result<Open<'_>, StoreError> {
        let session = self.session()?;
        session.send_ahead(door.opening());
        Ok(Open(session))
    }
}

#[derive(QueryableByName)]
struct Counts {
    #[diesel(sql_type = BigInt)]
    pending: i64,
    #[diesel(sql_type = BigInt)]
    in_doubt: i64,
    #[diesel(sql_type = BigInt)]
    dead: i64,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    first_due: Option<Timestamp>,
}

#[async_trait]
impl Doors for PgUnitOfWork {
    async fn owner_of_checkout(
        &mut self,
        id: CheckoutPubId,
    ) -> Result<Option<OrganizationId>, StoreError> {
        let mut open = self.open(Door::Message)?;
        let found: Option<i64> = checkouts::table
            .filter(checkouts::id.eq(id.as_uuid()))
            .select(checkouts::organization_id)
            .first(open.connection())
            .await
            .optional()
            .map_err(store_error)?;
        found.map(|number| owner("checkouts", number)).transpose()
    }

    async fn owner_of_page(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<OrganizationId>, StoreError> {
        let (PageToken::Proven { nonce } | PageToken::Unproven { nonce, .. }) = token;
        let mut page = checkout_applications::table
            .filter(checkout_applications::page_nonce.eq(nonce.as_slice()))
            .select(checkout_applications::organization_id)
            .into_boxed();
        if let PageToken::Unproven { hash, .. } = token {
            let kept = checkout_applications::page_token_hashes;
            page = page.filter(kept.contains(vec![hash.as_slice()]));
        }
        let mut open = self.open(Door::Page)?;
        let found: Option<i64> = page
            .first(open.connection())
            .await
            .optional()
            .map_err(store_error)?;
        found
            .map(|number| owner("checkout_applications", number))
            .transpose()
    }

    async fn owner_of_ended_page(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<OrganizationId>, StoreError> {
        let (PageToken::Proven { nonce } | PageToken::Unproven { nonce, .. }) = token;
        let mut ended = ended_checkout_links::table
            .filter(ended_checkout_links::page_nonce.eq(nonce.as_slice()))
            .select(ended_checkout_links::organization_id)
            .into_boxed();
        if let PageToken::Unproven { hash, .. } = token {
            let kept = ended_checkout_links::page_token_hashes;
            ended = ended.filter(kept.contains(vec![hash.as_slice()]));
        }
        let mut open = self.open(Door::Page)?;
        let found: Option<i64> = ended
            .first(open.connection())
            .await
            .optional()
            .map_err(store_error)?;
        found
            .map(|number| owner("ended_checkout_links", number))
            .transpose()
    }

    async fn owner_of_payment(
        &mut self,
        mode: Mode,
        id: &str,
    ) -> Result<Option<OrganizationId>, StoreError> {
        let of_mode = || {
            ledger_entries::table
                .filter(ledger_entries::mode.eq(mode.as_str()))
                .select(ledger_entries::organization_id)
        };
        // Each half has an index of its own; the condition on the kind is the partial one's.
        let things = of_mode().filter(ledger_entries::id.eq(id));
        let payments = of_mode()
            .filter(ledger_entries::payment_intent_id.eq(id))
            .filter(sql::<Bool>("kind = 'invoice'"));
        let mut open = self.open(Door::Message)?;
        let found: Vec<i64> = things
            .union_all(payments)
            .load(open.connection())
            .await
            .map_err(store_error)?;
        let number = found.into_iter().next();
        number
            .map(|number| owner("ledger_entries", number))
            .transpose()
    }

    async fn owner_of_verification(
        &mut self,
        mode: Mode,
        session_id: &str,
    ) -> Result<Option<OrganizationId>, StoreError> {
        let mut open = self.open(Door::Message)?;
        let found: Option<i64> = customers::table
            .filter(customers::verification_session_id.eq(session_id))
            .filter(customers::mode.eq(mode.as_str()))
            .select(customers::organization_id)
            .first(open.connection())
            .await
            .optional()
            .map_err(store_error)?;
        found.map(|number| owner("customers", number)).transpose()
    }

    async fn owner_of_job(&mut self, id: Uuid) -> Result<Option<OrganizationId>, StoreError> {
        let mut open = self.open(Door::Message)?;
        let found: Option<i64> = jobs::table
            .filter(jobs::id.eq(id))
            .select(jobs::organization_id)
            .first(open.connection())
            .await
            .optional()
            .map_err(store_error)?;
        found.map(|number| owner("jobs", number)).transpose()
    }

    async fn owner_of_mail(&mut self, id: MailPubId) -> Result<Option<OrganizationId>, StoreError> {
        let mut open = self.open(Door::Message)?;
        let found: Option<i64> = mails::table
            .filter(mails::id.eq(id.as_uuid()))
            .select(mails::organization_id)
            .first(open.connection())
            .await
            .optional()
            .map_err(store_error)?;
        found.map(|number| owner("mails", number)).transpose()
    }

    async fn owners_of_shipment(
        &mut self,
        tracking: &Tracking,
    ) -> Result<Vec<OrganizationId>, StoreError> {
        let of_checkout = checkout_shipments::organization_id
            .eq(checkouts::organization_id)
            .and(checkout_shipments::checkout_id.eq(checkouts::id));
        let mut open = self.open(Door::Message)?;
        let found: Vec<i64> = checkouts::table
            .inner_join(checkout_shipments::table.on(of_checkout))
            .filter(checkout_shipments::tracking_number.eq(tracking.number.as_str()))
            .filter(checkout_shipments::tracking_carrier.eq(tracking.carrier.as_str()))
            .filter(not(checkouts::is_ended))
            .select(checkouts::organization_id)
            .distinct()
            .order(checkouts::organization_id)
            .load(open.connection())
            .await
            .map_err(store_error)?;
        let owners = found.into_iter();
        owners.map(|number| owner("checkouts", number)).collect()
    }

    async fn owners_with(&mut self, errand: Errand) -> Result<Vec<OrganizationId>, StoreError> {
        let mut is_cluster = false;
        if matches!(
            errand,
            Errand::Jobs { .. } | Errand::OldJobs { .. } | Errand::Deliveries { .. }
        ) {
            let session = self.session()?;
            is_cluster = session.is_of_a_cluster().await.map_err(store_error)?;
            session.send_ahead(BY_INDEX);
        }
        let mut open = self.open(Door::Errands)?;
        let connection = open.connection();
        let (table, found) = match errand {
            Errand::Jobs { due } => {
                let found = owners_by(connection, &queue::OWNERS_DUE, due, is_cluster).await?;
                ("jobs", found)
            }
            Errand::OldJobs { before } => {
                let question = &queue::OWNERS_DONE;
                let found = owners_by(connection, question, before, is_cluster).await?;
                ("jobs", found)
            }
            Errand::OwnAccount { mode } => (
                "processor_accounts",
                processor_accounts::owners(connection, mode).await?,
            ),
            Errand::OldAnswers { before } => {
                let found = idempotency::owners_of_old(connection, before).await?;
                ("idempotency_answers", found)
            }
            Errand::UnnumberedEvents => (
                "unnumbered_events",
                events::owners_waiting(connection).await?,
            ),
            Errand::OldEvents { before } => {
                ("events", events::owners_of_old(connection, before).await?)
            }
            Errand::Deliveries { due } => {
                let question = &deliveries::OWNERS_DUE;
                let found = owners_by(connection, question, due, is_cluster).await?;
                ("deliveries", found)
            }
            Errand::OldDeliveries { before } => {
                let found = deliveries::owners_of_old(connection, before).await?;
                ("deliveries", found)
            }
            Errand::Mails { due } => ("mails", post::owners_due(connection, due).await?),
            Errand::OldMails { before } => {
                ("mails", post::owners_of_old(connection, before).await?)
            }
            Errand::Endings { mode, from, before } => {
                let found = post::owners_ending(connection, mode, (from, before)).await?;
                ("checkouts", found)
            }
            Errand::Expiry { before } => {
                let found = queues::owners_untouched(connection, before).await?;
                ("checkouts", found)
            }
            Errand::Lapse { before } => {
                let found = queues::owners_lapsing(connection, before).await?;
                ("checkout_deposits", found)
            }
            Errand::LeaseEnd { before } => {
                let found = queues::owners_ending(connection, before).await?;
                ("checkouts", found)
            }
            Errand::Billing { before } => {
                let found = queues::owners_unbilled(connection, before).await?;
                ("checkout_billing", found)
            }
            Errand::Silence { before } => {
                let found = queues::owners_silent(connection, before).await?;
                ("checkout_shipments", found)
            }
            Errand::Shipments => {
                let found = queues::owners_under_way(connection).await?;
                ("checkout_shipments", found)
            }
            Errand::Billed { mode } => {
                let found = queues::owners_billed(connection, mode).await?;
                ("checkout_billing", found)
            }
        };
        let owners = found.into_iter();
        owners.map(|number| owner(table, number)).collect()
    }

    async fn attention(&mut self) -> Result<Vec<(AttentionReason, u64)>, StoreError> {
        let mut open = self.open(Door::Survey)?;
        queues::attention(open.connection()).await
    }

    async fn states(&mut self) -> Result<StateCounts, StoreError> {
        let mut open = self.open(Door::Survey)?;
        queues::states(open.connection()).await
    }

    async fn backlog(&mut self) -> Result<Backlog, StoreError> {
        let mut open = self.open(Door::Survey)?;
        let counts: Counts = diesel::sql_query(format!(
            "SELECT count(*) FILTER (WHERE state = 'pending') AS pending,
                count(*) FILTER (WHERE state = 'pending' AND last_error IS NOT NULL) AS in_doubt,
                count(*) FILTER (WHERE state = 'dead') AS dead,
                min(available_at) FILTER (WHERE state = 'pending') AS first_due
            FROM jobs WHERE {}",
            queue::IS_OPEN
        ))
        .get_result(open.connection())
        .await
        .map_err(store_error)?;
        Ok(Backlog {
            pending: row_count(counts.pending),
            in_doubt: row_count(counts.in_doubt),
            dead: row_count(counts.dead),
            first_due: counts.first_due,
        })
    }

    async fn mail_backlog(&mut self) -> Result<MailBacklog, StoreError> {
        let mut open = self.open(Door::Survey)?;
        let counts: Vec<(String, i64)> = mails::table
            .filter(sql::<Bool>("state IN ('pending', 'dead')"))
            .group_by(mails::state)
            .select((mails::state, count_star()))
            .load(open.connection())
            .await
            .map_err(store_error)?;
        let count = |state: MailState| {
            let counted = counts.iter().find(|(of, _)| of == state.as_str());
            counted.map_or(0, |(_, count)| row_count(*count))
        };
        Ok(MailBacklog {
            pending: count(MailState::Pending),
            dead: count(MailState::Dead),
        })
    }

    async fn held(&mut self) -> Result<Held, StoreError> {
        let mut open = self.open(Door::Survey)?;
        let (count, oldest): (i64, Option<Timestamp>) = ledger_entries::table
            .filter(sql::<Bool>("kind = 'hold' AND state = 'held'"))
            .select((count_star(), min(ledger_entries::at)))
            .first(open.connection())
            .await
            .map_err(store_error)?;
        Ok(Held {
            count: row_count(count),
            oldest,
        })
    }
}
