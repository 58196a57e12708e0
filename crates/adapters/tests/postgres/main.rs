//! The stores on a real Postgres: a database for each test.

mod contract;
mod migrations;
mod pages;
mod races;
mod rows;
mod schema;
mod support;
mod tls;
mod units_of_work;
