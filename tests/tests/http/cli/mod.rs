//! The command line beside the running server, and the process itself.

mod backup;
mod commands;
mod doctor;
mod jobs;
mod migrations;
mod process;
mod reconcile;
mod refusals;
mod server_key;
mod systemd;
mod untouched;
mod waits;
