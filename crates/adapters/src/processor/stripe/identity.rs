//! Identity verification sessions.

use lessor_domain::access::Mode;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{
    Attempt, Doubt, IdentityProgress, IdentityResult, IdentitySession, Person, Verdict,
};
use serde::Serialize;

use super::client::Client;
use super::error::{done, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::wire::{Metadata, Page, SessionStatus, VerificationSession};

#[derive(Serialize)]
struct SessionParams<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    client_reference_id: &'a str,
    provided_details: ProvidedDetails<'a>,
    // "The URL that the user will be redirected to upon completing the verification flow."
    #[serde(skip_serializing_if = "Option::is_none")]
    return_url: Option<String>,
    metadata: Metadata,
}

#[derive(Serialize)]
struct ProvidedDetails<'a> {
    email: &'a str,
}

#[derive(Serialize)]
struct SessionsOf<'a> {
    client_reference_id: &'a str,
    limit: u8,
}

/// Opens a session.
pub(super) async fn start(
    client: &Client,
    attempt: &Attempt,
    checkout: CheckoutPubId,
    person: &Person,
    return_url: Option<String>,
) -> Result<Verdict<IdentitySession>, Doubt> {
    let reference = checkout.to_string();
    let params = SessionParams {
        kind: "document",
        client_reference_id: &reference,
        provided_details: ProvidedDetails {
            email: &person.email,
        },
        return_url,
        metadata: Ids::default()
            .work(&attempt.idempotency_key)
            .checkout(checkout)
            .customer(person.id)
            .metadata(),
    };
    let work = Work {
        attempt,
        key: &attempt.idempotency_key,
        path: &["identity", "verification_sessions"],
        params: &params,
    };
    let find = || async {
        let query = SessionsOf {
            client_reference_id: &reference,
            limit: 100,
        };
        let path = ["identity", "verification_sessions"];
        let page: Page<VerificationSession> = client.get(attempt.mode, &path, &query).await?;
        Ok(page
            .data
            .into_iter()
            .find(|session| ids::is_of_work(&session.metadata, &attempt.idempotency_key)))
    };
    let session = done!(settle(once::make(client, work, find).await)?);
    Ok(Verdict::Done(IdentitySession {
        id: session.id,
        url: session.url,
    }))
}

/// What was decided.
pub(super) async fn result(client: &Client, mode: Mode, id: &str) -> Result<IdentityResult, Doubt> {
    Ok(progress(client, mode, id).await?.result)
}

/// What was decided, and where the customer goes on: "When the session status is requires_input, you
/// can use this method to retrieve a valid client_secret or url to allow re-submission."
pub(super) async fn progress(
    client: &Client,
    mode: Mode,
    id: &str,
) -> Result<IdentityProgress, Doubt> {
    let path = ["identity", "verification_sessions", id];
    let session: VerificationSession = client.get(mode, &path, &()).await?;
    let result = result_of(&session)
        .ok_or_else(|| Doubt::failed(format!("{} is {}", session.id, session.status.as_str())))?;
    Ok(IdentityProgress {
        result,
        url: session.url,
    })
}

/// What the session says; nothing when its status is not known here.
///
/// A session that asks for more input is open, unless what was handed in shows that
/// the customer is not who they say. One that the customer gave up, or cannot finish
/// with what they have, ended without an answer.
#[must_use]
pub(super) fn result_of(session: &VerificationSession) -> Option<IdentityResult> {
    let error = session
        .last_error
        .as_ref()
        .and_then(|error| error.code.as_deref());
    match &session.status {
        SessionStatus::Verified => Some(IdentityResult::Verified),
        SessionStatus::Processing => Some(IdentityResult::Processing),
        SessionStatus::Canceled => Some(IdentityResult::Abandoned),
        SessionStatus::RequiresInput => Some(match error {
            Some(
                "document_unverified_other"
                | "id_number_mismatch"
                | "id_number_unverified_other"
                | "selfie_face_mismatch"
                | "selfie_manipulated"
                | "selfie_unverified_other"
                | "under_supported_age",
            ) => IdentityResult::Refused,
            Some(
                "abandoned" | "consent_declined" | "country_not_supported" | "device_not_supported",
            ) => IdentityResult::Abandoned,
            _ => IdentityResult::AwaitingCustomer,
        }),
        SessionStatus::Unknown(_) => None,
    }
}
