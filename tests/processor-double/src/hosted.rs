//! The pages themselves: plain forms, a button for each thing that a customer may do.

use serde_json::Value;

use crate::form;
use crate::pages::{self, Choice, Where};
use crate::spec;
use crate::state::State;
use crate::store::{number, text};

/// What a browser is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// Where it is sent.
    pub(crate) location: Option<String>,
}

const BUTTONS: &[(&str, &str)] = &[
    ("pay", "Pay with a card that works"),
    ("declined", "Use a card that is declined"),
    (
        "authenticate",
        "Use a card that wants 3-D Secure, and authenticate",
    ),
    (
        "failAuthentication",
        "Use a card that wants 3-D Secure, and fail to authenticate",
    ),
    ("cancel", "Go back"),
    ("leave", "Close the tab"),
];

/// Shows a page, or does what was chosen on it.
pub(crate) fn serve(state: &mut State, method: &str, session: &str, body: &[u8]) -> Shown {
    let Some(world) = state.world_of(session) else {
        return shown(404, "There is no such page.");
    };
    let known = world.any(session).cloned().unwrap_or_default();
    if method != "POST" {
        return match text(&known, "status") {
            "open" => shown(200, &buttons(&known, "")),
            status => shown(200, &format!("This session is {status}.")),
        };
    }
    let choice = form::decode(body)
        .map(|tree| spec::untyped(&tree))
        .ok()
        .and_then(|form| match form["card"].as_str() {
            Some(card) => Some(Choice::PayWith {
                card: card.to_owned(),
            }),
            None => Choice::named(text(&form, "choice")),
        });
    let Some(choice) = choice else {
        return shown(400, "There is no such choice.");
    };
    match pages::play(world, session, &choice) {
        Ok(Where::Sent(url)) => Shown {
            status: 303,
            body: String::new(),
            location: Some(url),
        },
        Ok(Where::Stays(message)) if choice == Choice::Leave => shown(200, &escaped(&message)),
        Ok(Where::Stays(message)) => shown(200, &buttons(&known, &message)),
        Err(message) => shown(400, &escaped(&message)),
    }
}

fn buttons(session: &Value, message: &str) -> String {
    let mut page = String::new();
    if session["mode"] == "setup" {
        page.push_str("<h1>Leave a card</h1>");
    } else {
        let (amount, currency) = (number(session, "amount_total"), text(session, "currency"));
        page.push_str(&format!("<h1>Pay {amount} {}</h1>", escaped(currency)));
    }
    if !message.is_empty() {
        page.push_str(&format!("<p role=\"alert\">{}</p>", escaped(message)));
    }
    for (choice, says) in BUTTONS {
        page.push_str(&format!(
            "<form method=\"post\"><button name=\"choice\" value=\"{choice}\">{says}</button></form>"
        ));
    }
    page
}

fn shown(status: u16, inner: &str) -> Shown {
    Shown {
        status,
        body: format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>The processor's \
             double</title><body>{inner}</body></html>"
        ),
        location: None,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
