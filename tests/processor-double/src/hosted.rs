//! The pages themselves: plain forms, a button for each thing that a customer may do.

use serde_json::Value;

use crate::api::identity;
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

/// What a customer may do on the page where they prove who they are: the button's name, the status that it comes
/// to with the code of its error, and what it says.
const DECISIONS: &[(&str, &str, Option<&str>, &str)] = &[
    (
        "verify",
        "verified",
        None,
        "Hand in documents that are good",
    ),
    (
        "submit",
        "processing",
        None,
        "Hand in documents that take a while",
    ),
    (
        "refuse",
        "requires_input",
        Some("selfie_face_mismatch"),
        "Hand in somebody else's documents",
    ),
    (
        "blurred",
        "requires_input",
        Some("document_expired"),
        "Hand in a document that has expired",
    ),
    ("abandon", "requires_input", Some("abandoned"), "Give up"),
];

/// Shows the page where customers prove who they are, or does what was chosen on it.
pub(crate) fn verify(state: &mut State, method: &str, path: &str, body: &[u8]) -> Shown {
    let (id, number) = path.split_once('/').unwrap_or((path, ""));
    let Some(world) = state.world_of(id) else {
        return shown(404, "There is no such page.");
    };
    let now = world.now;
    let number = number.parse::<u64>().ok();
    let known = world.links.get_mut(id);
    let Some(link) = known.filter(|link| Some(link.number) == number && link.until > now) else {
        return shown(
            403,
            "This address is good no more. Go back to where you came from.",
        );
    };
    let was_used = std::mem::replace(&mut link.used, true);
    let session = world.any(id).cloned().unwrap_or_default();
    if text(&session, "status") != "requires_input" {
        return shown(
            200,
            &format!("This session is {}.", text(&session, "status")),
        );
    }
    if method != "POST" {
        // "This URL … can only be used once."
        return if was_used {
            shown(
                403,
                "This address was used. Go back to where you came from.",
            )
        } else {
            shown(200, &decisions())
        };
    }
    let chosen = form::decode(body).map(|tree| spec::untyped(&tree));
    let chosen = chosen.unwrap_or_default();
    if chosen["choice"] == "leave" {
        return shown(200, "You may close this tab.");
    }
    let mut known = DECISIONS.iter();
    let Some((_, status, error, _)) = known.find(|(name, ..)| chosen["choice"] == *name) else {
        return shown(400, "There is no such choice.");
    };
    identity::decide(world, id, status, *error);
    // "The URL that the user will be redirected to upon completing the verification flow."
    match world.wanted.get(id).and_then(Value::as_str) {
        Some(url) => Shown {
            status: 303,
            body: String::new(),
            location: Some(url.to_owned()),
        },
        None => shown(200, "Thank you. You may close this tab."),
    }
}

fn decisions() -> String {
    let mut page = "<h1>Prove who you are</h1>".to_owned();
    let buttons = DECISIONS.iter().map(|(name, _, _, says)| (*name, *says));
    for (choice, says) in buttons.chain([("leave", "Close the tab")]) {
        page.push_str(&button(choice, says));
    }
    page
}

fn button(choice: &str, says: &str) -> String {
    format!(
        "<form method=\"post\"><button name=\"choice\" value=\"{choice}\">{says}</button></form>"
    )
}

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
        page.push_str(&button(choice, says));
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
