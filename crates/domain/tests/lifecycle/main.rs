//! The lifecycle of a checkout: its table against one that was written by hand, its
//! document against the code, and its rules against whatever can happen.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where its own data is wrong"
)]

mod document;
mod machine;
mod replay;
mod table;
mod told;
