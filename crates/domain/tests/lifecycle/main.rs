//! The lifecycle of a checkout: its table against one that was written by hand, its
//! document against the code, and its rules against whatever can happen.

mod document;
mod events;
mod machine;
mod steps;
mod table;
