//! Ids of records.

use lessor_domain::ids::{
    CheckoutItemPubId, CheckoutPubId, OrganizationRef, ProductPubId, PublicId, UserPubId,
    WebhookEndpointPubId,
};

/// Reads an id, whose text is the only one that it has and is no other kind's.
fn is_the_one<T: PublicId>(text: &str) -> bool {
    let Ok(id) = text.parse::<T>() else {
        return false;
    };
    assert_eq!(id.to_string(), text);
    assert!(T::from_uuid(id.as_uuid()) == id, "{text}");
    true
}

/// Reads an id of each kind: it is of one kind at most, and prints as it was sent.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    if let Ok(reference) = text.parse::<OrganizationRef>() {
        assert_eq!(text.parse::<OrganizationRef>(), Ok(reference));
    }
    let kinds = [
        is_the_one::<CheckoutPubId>(text),
        is_the_one::<CheckoutItemPubId>(text),
        is_the_one::<ProductPubId>(text),
        is_the_one::<UserPubId>(text),
        is_the_one::<WebhookEndpointPubId>(text),
    ];
    let taken = kinds.iter().filter(|is_one| **is_one).count();
    assert!(taken <= 1, "{text}");
    taken == 1
}
