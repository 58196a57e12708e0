//! What Postgres says, as the domain's errors.

use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error};
use lessor_domain::cause::tried;
use lessor_domain::ports::{StoreError, UniqueField};

/// The unique constraints that callers can run into, and what they keep unique.
/// The names are those of the migrations; the test of the schema knows them too.
pub(super) const UNIQUE_CONSTRAINTS: &[(&str, UniqueField)] = &[
    (
        "checkouts_external_order_id_key",
        UniqueField::ExternalOrderId,
    ),
    ("checkouts_open_key", UniqueField::OpenCheckout),
    ("customers_email_key", UniqueField::Email),
    ("lease_terms_organization_term_key", UniqueField::TermMonths),
    ("lease_terms_product_term_key", UniqueField::TermMonths),
    ("pickup_locations_active_name_key", UniqueField::Name),
    ("product_categories_name_key", UniqueField::Name),
    ("product_variants_combination_key", UniqueField::Combination),
    (
        "product_variants_combination_year_key",
        UniqueField::Combination,
    ),
    ("product_variants_external_id_key", UniqueField::ExternalId),
    ("product_variants_sku_key", UniqueField::Sku),
    ("products_external_id_key", UniqueField::ExternalId),
];

/// The error of a statement as the domain's, with what Postgres said as its cause. Of a
/// database's error that is the message: details may hold what customers entered, and
/// Diesel leaves them out of the text.
pub(crate) fn store_error(error: Error) -> StoreError {
    let told = match &error {
        Error::DatabaseError(kind, info) => database_error(*kind, &**info),
        // A broken transaction manager is a connection that is no more.
        Error::BrokenTransactionManager => Told::Unavailable,
        _ => Told::Internal,
    };
    match told {
        Told::Known(known) => known,
        Told::Unavailable => StoreError::unavailable(error),
        Told::Internal => StoreError::internal(error),
        Told::InternalAt(place) => {
            StoreError::internal(tried(format!("a statement failed at {place}"), error))
        }
    }
}

/// What an error of Diesel's is told to be.
enum Told {
    /// One that callers decide by.
    Known(StoreError),
    Unavailable,
    Internal,
    /// A defect, at this table or constraint.
    InternalAt(String),
}

fn database_error(kind: DatabaseErrorKind, info: &dyn DatabaseErrorInformation) -> Told {
    match kind {
        DatabaseErrorKind::UniqueViolation => unique_violation(info),
        DatabaseErrorKind::SerializationFailure => Told::Known(StoreError::Contended),
        // Read-only is a server that a fail-over has made a standby of.
        DatabaseErrorKind::UnableToSendCommand
        | DatabaseErrorKind::ClosedConnection
        | DatabaseErrorKind::ReadOnlyTransaction => Told::Unavailable,
        DatabaseErrorKind::Unknown => by_message(info),
        DatabaseErrorKind::ForeignKeyViolation => foreign_key_violation(info),
        // The other constraints guard what the domain promises: a defect. Kinds
        // to come are nothing that is known to pass.
        _ => internal(info),
    }
}

/// The constraint by the name that the migrations gave it. Of a cluster's node only the message is handed
/// on, and a shard's constraints have its number behind their names.
fn constraint(info: &dyn DatabaseErrorInformation) -> Option<&str> {
    let told = || {
        let (_, named) = info.message().split_once(" constraint \"")?;
        named.split('"').next()
    };
    let name = info.constraint_name().or_else(told)?;
    let is_number = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once('_') {
        Some((bare, end)) if is_number(end) => Some(bare),
        _ => Some(name),
    }
}

fn unique_violation(info: &dyn DatabaseErrorInformation) -> Told {
    UNIQUE_CONSTRAINTS
        .iter()
        .find(|(name, _)| constraint(info) == Some(name))
        .map_or_else(
            || internal(info),
            |(_, field)| Told::Known(StoreError::Conflict(*field)),
        )
}

/// What a new or changed row refers to is not there, or is another organization's.
/// The other way round, something was deleted that others refer to: a defect, since
/// stores look before they delete.
fn foreign_key_violation(info: &dyn DatabaseErrorInformation) -> Told {
    const REFERENCES: &[(&str, &str)] = &[
        ("_organization_id_fkey", "organization"),
        ("_product_id_fkey", "product"),
        ("_variant_id_fkey", "variant"),
        ("_category_id_fkey", "category"),
        ("_customer_id_fkey", "customer"),
        ("_user_id_fkey", "user"),
        ("_reviewed_by_fkey", "user"),
        ("_term_id_fkey", "lease term"),
        ("_pickup_location_id_fkey", "pickup location"),
        ("_checkout_id_fkey", "checkout"),
        ("_endpoint_id_fkey", "webhook endpoint"),
    ];
    if !info.message().starts_with("insert or update on table") {
        return internal(info);
    }
    REFERENCES
        .iter()
        .find(|(end, _)| constraint(info).is_some_and(|name| name.ends_with(end)))
        .map_or_else(
            || internal(info),
            |(_, what)| Told::Known(StoreError::Missing(what)),
        )
}

/// The rest is known by SQLSTATE, which Diesel does not hand on; so the message
/// decides. Each connection asks for messages in English.
fn by_message(info: &dyn DatabaseErrorInformation) -> Told {
    const CONTENDED: &[&str] = &[
        // 40P01
        "deadlock detected",
        "canceling the transaction since it was involved in a distributed deadlock",
        // 55P03
        "canceling statement due to lock timeout",
        "could not obtain lock on ",
    ];
    const UNAVAILABLE: &[&str] = &[
        // 57P01, 57P02, 57P03
        "terminating connection due to ",
        "the database system is ",
        // 57P02 of the other sessions
        "terminating connection because of crash of another server process",
        // 53300, 53400, 53200, 53100
        "sorry, too many clients already",
        "remaining connection slots are reserved",
        "too many connections for ",
        "out of memory",
        "could not extend file",
        // 57014
        "canceling statement due to statement timeout",
        // Of a cluster, one of whose nodes is gone or goes.
        "connection to the remote node ",
        "failure on connection marked as essential",
        "could not establish any connections to the node ",
        "server closed the connection unexpectedly",
        // What the node said is told by a warning alone: whether it is done nobody knows.
        "could not commit transaction for shard ",
    ];
    let message = info.message();
    let begins = |starts: &[&str]| starts.iter().any(|start| message.starts_with(start));
    if begins(CONTENDED) {
        Told::Known(StoreError::Contended)
    } else if begins(UNAVAILABLE) {
        Told::Unavailable
    } else {
        internal(info)
    }
}

fn internal(info: &dyn DatabaseErrorInformation) -> Told {
    let place = [info.table_name(), info.constraint_name()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(".");
    if place.is_empty() {
        Told::Internal
    } else {
        Told::InternalAt(place)
    }
}
