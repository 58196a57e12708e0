//! Links in answers that are kept.
//!
//! An answer is kept for whoever repeats the request, and with it the address of a checkout's page. Its
//! token is taken out before: what is kept opens no page, a repetition is told the address that the page
//! has by then, and a key that is shown none is told none.

use lessor_domain::checkout::Checkout;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::PageToken;
use serde::Deserialize;

use crate::auth::links::CheckoutPageLinks;

/// Stands around the id of the checkout whose token was here. JSON has it in no text: it is written as
/// an escape there.
const MARK: char = '\u{1}';

/// What there is to know of a checkout's record.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Linked {
    id: CheckoutPubId,
    checkout_url: String,
}

/// The body as it is kept.
pub(super) fn sealed(body: &[u8], links: &CheckoutPageLinks) -> Vec<u8> {
    let kept = || {
        let text = std::str::from_utf8(body).ok()?;
        if !text.contains("\"checkoutUrl\":") {
            return None;
        }
        let linked: Linked = serde_json::from_str(text).ok()?;
        let (_, token) = linked.checkout_url.rsplit_once('/')?;
        let is_token = matches!(links.read(token), Some(PageToken::Proven { .. }));
        is_token.then(|| text.replace(token, &mark(linked.id)))
    };
    kept().map_or_else(|| body.to_vec(), String::into_bytes)
}

fn mark(id: CheckoutPubId) -> String {
    format!("{MARK}{id}{MARK}")
}

/// Whose token was taken out of the body.
pub(super) fn checkout_of(body: &[u8]) -> Option<CheckoutPubId> {
    let text = std::str::from_utf8(body).ok()?;
    text.split(MARK).nth(1)?.parse().ok()
}

/// The body for who may see the token of this checkout, or sees none.
pub(super) fn opened(
    body: &[u8],
    id: CheckoutPubId,
    seen: Option<&Checkout>,
    links: &CheckoutPageLinks,
) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(body) else {
        return body.to_vec();
    };
    let told = match seen {
        Some(checkout) => text.replace(&mark(id), &links.token(checkout)),
        None => {
            let (address, link) = (links.without_token(), mark(id));
            let text = text.replace(&format!("{address}/{link}"), &address);
            text.replace(&link, "")
        }
    };
    told.into_bytes()
}

#[cfg(test)]
mod tests {
    use lessor_domain::testing::Fixtures;
    use serde_json::{Value, json};

    use super::*;
    use crate::http::public_url::PublicUrl;

    struct Case {
        links: CheckoutPageLinks,
        checkout: Checkout,
    }

    impl Case {
        fn new() -> Self {
            let keys = "a key of more than thirty-two letters".parse().unwrap();
            let make = Fixtures::default();
            let organization = make.organization().build();
            let customer = make.customer(&organization).build();
            let variant = make.variant(&make.product(&organization).build()).build();
            Self {
                links: CheckoutPageLinks::new(keys, PublicUrl::new("https://lease.example")),
                checkout: make.checkout(&customer, &variant).build(),
            }
        }

        fn body(&self) -> Vec<u8> {
            let url = self.links.url(&self.checkout);
            let told = json!({
                "id": self.checkout.id.to_string(),
                "metadata": { "checkoutUrl": "\u{1}", "ours": url },
                "checkoutUrl": url,
            });
            serde_json::to_vec(&told).unwrap()
        }
    }

    fn url(body: &[u8]) -> String {
        let told: Value = serde_json::from_slice(body).unwrap();
        told["checkoutUrl"].as_str().unwrap().to_owned()
    }

    #[test]
    fn what_is_kept_opens_no_page() {
        let case = Case::new();
        let kept = sealed(&case.body(), &case.links);
        let text = String::from_utf8(kept.clone()).unwrap();
        assert!(!text.contains(&case.links.token(&case.checkout)), "{text}");
        assert_eq!(checkout_of(&kept), Some(case.checkout.id));
        let again = opened(&kept, case.checkout.id, Some(&case.checkout), &case.links);
        assert_eq!(
            again,
            case.body(),
            "byte for byte, as long as the link holds"
        );
    }

    #[test]
    fn a_repetition_is_told_the_link_of_now_or_none() {
        let mut case = Case::new();
        let kept = sealed(&case.body(), &case.links);
        let (id, before) = (case.checkout.id, case.links.url(&case.checkout));
        let at = case.checkout.created_at;
        case.checkout.relink([9; 16], at);
        let now = opened(&kept, id, Some(&case.checkout), &case.links);
        assert_eq!(url(&now), case.links.url(&case.checkout));
        assert!(!String::from_utf8(now).unwrap().contains(&before));
        let none = opened(&kept, id, None, &case.links);
        assert_eq!(url(&none), "https://lease.example/c");
        assert!(!none.contains(&1), "nothing is left of the mark");
    }

    #[test]
    fn what_has_no_link_is_kept_as_it_is() {
        let case = Case::new();
        let id = case.checkout.id;
        for body in [
            json!({}),
            json!({ "id": id.to_string(), "checkoutUrl": "https://lease.example/c" }),
            json!({ "id": id.to_string(), "checkoutUrl": format!("https://lease.example/c/{}", "0a".repeat(36)) }),
            json!({ "id": "prod_1", "checkoutUrl": case.links.url(&case.checkout) }),
            json!({ "name": "\"checkoutUrl\":" }),
        ] {
            let body = serde_json::to_vec(&body).unwrap();
            assert_eq!(sealed(&body, &case.links), body);
            assert_eq!(checkout_of(&body), None);
        }
    }
}
