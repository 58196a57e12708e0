//! The store of answers to requests that may be repeated.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel::upsert::excluded;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::cause::tried;
use lessor_domain::ports::{IdempotencyKey, IdempotencyStore, StoreError, StoredAnswer};
use lessor_domain::time::Timestamp;

use super::PgUnitOfWork;
use super::decode::Place;
use super::error::store_error;
use super::hash;
use super::schema::idempotency_answers;

#[diesel::declare_sql_function]
extern "SQL" {
    fn pg_try_advisory_xact_lock(key: BigInt) -> Bool;
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = idempotency_answers, check_for_backend(diesel::pg::Pg))]
struct AnswerRow {
    request_hash: Vec<u8>,
    status: i16,
    body: Vec<u8>,
    is_existing: bool,
    is_final: bool,
    created_at: Timestamp,
}

impl AnswerRow {
    fn into_answer(self, key: &IdempotencyKey) -> Result<StoredAnswer, StoreError> {
        let at = Place::new("idempotency_answers", &key.path);
        Ok(StoredAnswer {
            request_hash: at.bytes("request_hash", self.request_hash)?,
            status: u16::try_from(self.status)
                .map_err(|_| at.corrupt("status", "is no status of HTTP"))?,
            body: self.body,
            is_existing: self.is_existing,
            is_final: self.is_final,
            created_at: self.created_at,
        })
    }
}

fn hash_of(key: &IdempotencyKey) -> [u8; 32] {
    hash::of_parts(
        "idempotency key",
        &[
            &key.organization_id.get().to_be_bytes(),
            key.mode.as_str().as_bytes(),
            key.path.as_bytes(),
            key.key.as_bytes(),
        ],
    )
}

#[async_trait]
impl IdempotencyStore for PgUnitOfWork {
    async fn try_lock(&mut self, key: &IdempotencyKey) -> Result<bool, StoreError> {
        let [a, b, c, d, e, f, g, h, ..] = hash_of(key);
        let lock = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
        diesel::select(pg_try_advisory_xact_lock(lock))
            .get_result(self.connection()?)
            .await
            .map_err(store_error)
    }

    async fn find(
        &mut self,
        key: &IdempotencyKey,
        since: Timestamp,
    ) -> Result<Option<StoredAnswer>, StoreError> {
        idempotency_answers::table
            .find((key.organization_id.get(), hash_of(key).to_vec()))
            .filter(idempotency_answers::created_at.ge(since))
            .select(AnswerRow::as_select())
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(|row| row.into_answer(key))
            .transpose()
    }

    async fn put(&mut self, key: &IdempotencyKey, answer: &StoredAnswer) -> Result<(), StoreError> {
        use idempotency_answers as a;
        let status = i16::try_from(answer.status).map_err(|error| {
            StoreError::internal(tried("the answer's status cannot be kept", error))
        })?;
        diesel::insert_into(a::table)
            .values((
                a::key_hash.eq(hash_of(key).to_vec()),
                a::organization_id.eq(key.organization_id.get()),
                a::mode.eq(key.mode.as_str()),
                a::path.eq(&key.path),
                a::key.eq(&key.key),
                a::request_hash.eq(answer.request_hash.to_vec()),
                a::status.eq(status),
                a::body.eq(&answer.body),
                a::is_existing.eq(answer.is_existing),
                a::is_final.eq(answer.is_final),
                a::created_at.eq(answer.created_at),
            ))
            .on_conflict((a::organization_id, a::key_hash))
            .do_update()
            .set((
                a::request_hash.eq(excluded(a::request_hash)),
                a::status.eq(excluded(a::status)),
                a::body.eq(excluded(a::body)),
                a::is_existing.eq(excluded(a::is_existing)),
                a::is_final.eq(excluded(a::is_final)),
                a::created_at.eq(excluded(a::created_at)),
            ))
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn purge(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let old = idempotency_answers::table
            .filter(idempotency_answers::organization_id.eq(self.owner()))
            .filter(idempotency_answers::created_at.lt(before));
        diesel::delete(old)
            .execute(self.connection()?)
            .await
            .map(|deleted| u64::try_from(deleted).unwrap_or(u64::MAX))
            .map_err(store_error)
    }
}

/// Whose old answers there are, of all that can be read.
pub(super) async fn owners_of_old(
    connection: &mut AsyncPgConnection,
    before: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    idempotency_answers::table
        .filter(idempotency_answers::created_at.lt(before))
        .select(idempotency_answers::organization_id)
        .distinct()
        .order(idempotency_answers::organization_id)
        .load(connection)
        .await
        .map_err(store_error)
}
