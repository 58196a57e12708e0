//! Spreading the tables over the nodes of a cluster.
//!
//! On PostgreSQL with the extension `citus`, tables that belong to organizations are cut into shards by
//! the organization, which is the first column of every key: an organization's rows lie together on one
//! node, and whatever is done in its name is done there. What is nobody's and asked for by everybody
//! (organizations, keys, states) is copied to every node; what only the server looks at stays on
//! the coordinator, where the statements go.

use std::time::Duration;

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};

use super::PgDatabase;
use super::migrate::{Blocking, MigrateError, lock};

/// What every node has a copy of: rows of others refer to them.
const EVERYWHERE: [&str; 3] = ["lifecycle_states", "organizations", "api_keys"];

/// The table beside whose shards those of the others lie.
const FIRST: &str = "checkouts";

diesel::table! {
    /// The extensions of the database, as PostgreSQL lists them.
    pg_extension (oid) {
        oid -> Oid,
        extname -> Text,
    }
}

/// Whether the database's tables are, or may any moment be, spread over a cluster's nodes.
#[diesel::dsl::auto_type]
pub(super) fn is_spreadable() -> _ {
    diesel::dsl::exists(pg_extension::table.filter(pg_extension::extname.eq("citus")))
}

#[derive(QueryableByName)]
struct Named {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct Key {
    #[diesel(sql_type = Text)]
    owner: String,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    definition: String,
}

impl PgDatabase {
    /// Spreads the tables over the nodes of the cluster whose coordinator this is; those that are
    /// spread already stay as they are. Answers how many it spread. The tables have to be migrated
    /// before, and again when a later migration makes new ones.
    ///
    /// It is done in one transaction, during which nobody works on the tables.
    ///
    /// # Errors
    /// [`MigrateError::NoCluster`] where the extension is not; [`MigrateError`].
    pub async fn distribute(&self) -> Result<usize, MigrateError> {
        self.has_sessions()?;
        let wait = self.migration_wait;
        let spread = self
            .blocking(move |connection| spread(connection, wait))
            .await?;
        self.forget_idle();
        Ok(spread)
    }
}

fn failed(error: diesel::result::Error) -> MigrateError {
    MigrateError::Distribute(error.into())
}

fn names(connection: &mut Blocking, sql: &str) -> Result<Vec<String>, MigrateError> {
    let named: QueryResult<Vec<Named>> = diesel::sql_query(sql).load(connection);
    let named = named.map_err(failed)?.into_iter();
    Ok(named.map(|named| named.name).collect())
}

fn spread(connection: &mut Blocking, wait: Duration) -> Result<usize, MigrateError> {
    let is_cluster = diesel::select(is_spreadable()).get_result::<bool>(connection);
    if !is_cluster.map_err(failed)? {
        return Err(MigrateError::NoCluster);
    }
    lock(connection, wait)?;
    connection
        .transaction(|connection| spread_within(connection).map_err(Rollback))
        .map_err(|Rollback(error)| error)
}

/// What takes a transaction back.
struct Rollback(MigrateError);

impl From<diesel::result::Error> for Rollback {
    fn from(error: diesel::result::Error) -> Self {
        Self(failed(error))
    }
}

fn spread_within(connection: &mut Blocking) -> Result<usize, MigrateError> {
    // Triggers go to the shards with their tables. What they ask and write is their row's organization's,
    // whose shards lie beside it: no trigger leaves its node.
    let settings = "SET LOCAL citus.enable_unsafe_triggers = on; \
        SET LOCAL client_min_messages = warning";
    connection.batch_execute(settings).map_err(failed)?;
    // The role was the coordinator's alone if it was made before the others joined. The nodes call each
    // other in its name, and a session's own limit of waiting for locks stays on the coordinator.
    connection
        .batch_execute(
            "DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lessor_app') THEN \
             PERFORM run_command_on_workers('DO $r$ BEGIN \
             IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ''lessor_app'') THEN \
             SET LOCAL citus.enable_ddl_propagation = off; CREATE ROLE lessor_app; END IF; END $r$'); \
             ALTER ROLE lessor_app LOGIN; ALTER ROLE lessor_app SET lock_timeout = '5s'; \
             END IF; END $$",
        )
        .map_err(failed)?;
    let lying: Vec<String> = names(
        connection,
        "SELECT relname::text AS name FROM pg_class \
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' \
         AND oid NOT IN (SELECT logicalrelid FROM pg_dist_partition) \
         ORDER BY relname",
    )?;
    let kept_apart = names(
        connection,
        "SELECT relname::text AS name FROM pg_class \
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relforcerowsecurity",
    )?;
    let copied: Vec<&str> = EVERYWHERE
        .into_iter()
        .filter(|table| lying.iter().any(|lying| lying == table))
        .collect();
    let mut cut: Vec<&str> = lying
        .iter()
        .map(String::as_str)
        .filter(|table| kept_apart.iter().any(|apart| apart == table))
        .collect();
    // The others lie beside its shards, so that it comes first.
    cut.sort_by_key(|table| *table != FIRST);
    let moved: Vec<&str> = copied.iter().chain(&cut).copied().collect();
    // A table that lies here cannot refer to one that is spread, nor the other way round: keys between
    // them go, and come back when all are spread.
    let keys: QueryResult<Vec<Key>> = diesel::sql_query(
        "SELECT owner.relname::text AS owner, key.conname::text AS name, \
         pg_get_constraintdef(key.oid) AS definition \
         FROM pg_constraint AS key \
         JOIN pg_class AS owner ON owner.oid = key.conrelid \
         JOIN pg_class AS other ON other.oid = key.confrelid \
         WHERE key.contype = 'f' AND key.conparentid = 0 \
         AND key.connamespace = 'public'::regnamespace \
         AND (owner.relname = ANY ($1) OR other.relname = ANY ($1)) \
         ORDER BY owner.relname, key.conname",
    )
    .bind::<Array<Text>, _>(&moved)
    .load(connection);
    let keys = keys.map_err(failed)?;
    for Key { owner, name, .. } in &keys {
        let sql = format!("ALTER TABLE \"{owner}\" DROP CONSTRAINT \"{name}\"");
        connection.batch_execute(&sql).map_err(failed)?;
    }
    for table in &copied {
        let sql = format!("SELECT create_reference_table('{table}')");
        connection.batch_execute(&sql).map_err(failed)?;
    }
    for table in &cut {
        let beside = if *table == FIRST { "none" } else { FIRST };
        let sql = format!(
            "SELECT create_distributed_table('{table}', 'organization_id', colocate_with => '{beside}')"
        );
        connection.batch_execute(&sql).map_err(failed)?;
    }
    for Key {
        owner,
        name,
        definition,
    } in &keys
    {
        let sql = format!("ALTER TABLE \"{owner}\" ADD CONSTRAINT \"{name}\" {definition}");
        connection.batch_execute(&sql).map_err(failed)?;
    }
    Ok(moved.len())
}
