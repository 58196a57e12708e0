//! The stores on Postgres.

mod schema;
