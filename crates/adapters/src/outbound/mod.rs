//! Requests to URLs that organizations name: signed, to public addresses alone, and short.

mod guard;
mod post;
mod question;
mod webhook;

pub use guard::{ForbiddenTarget, Targets};
pub use post::{Answer, MOST_OF_AN_ANSWER, Outbound, PostError, SignedPost, WITHIN, new_secret};
pub use webhook::HttpWebhookSender;
