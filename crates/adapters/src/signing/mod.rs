//! Sending documents to organizations' signers.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lessor_domain::endpoint::Endpoint;
use lessor_domain::ports::{Attempt, DocumentSigner, Doubt, SignatureRequest};
use serde::Serialize;

use crate::outbound::Outbound;

/// Sends them by signed requests.
#[derive(Debug, Clone, Copy)]
pub struct HttpSigner {
    outbound: Outbound,
}

impl HttpSigner {
    /// By these requests.
    #[must_use]
    pub const fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

/// A request for a signature. Its members stand in this order: the same document is the same bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    r#type: &'static str,
    checkout_id: String,
    document_id: String,
    sha256: String,
    /// Base64.
    pdf: String,
    signer: Person<'a>,
}

#[derive(Debug, Serialize)]
struct Person<'a> {
    name: &'a str,
    email: &'a str,
}

fn body(request: &SignatureRequest) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Request {
        r#type: "signature.requested",
        checkout_id: request.checkout.to_string(),
        document_id: request.document.to_string(),
        sha256: request.sha256.to_string(),
        pdf: STANDARD.encode(&request.pdf),
        signer: Person {
            name: &request.name,
            email: &request.email,
        },
    })
}

#[async_trait]
impl DocumentSigner for HttpSigner {
    async fn send(
        &self,
        attempt: &Attempt,
        endpoint: &Endpoint,
        request: &SignatureRequest,
    ) -> Result<(), Doubt> {
        let body = body(request).map_err(Doubt::failed)?;
        self.outbound.ask(attempt, endpoint, &body).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::agreement::Sha256;
    use lessor_domain::ids::{AgreementPubId, CheckoutPubId};
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_request_has_the_bytes_that_are_signed() {
        let pdf = b"%PDF-1.7\n\xff\x00".to_vec();
        let request = SignatureRequest {
            checkout: CheckoutPubId::from_uuid(Uuid::nil()),
            document: AgreementPubId::from_uuid(Uuid::nil()),
            sha256: Sha256::of(&pdf),
            pdf: pdf.clone(),
            name: "Zo\u{eb} \"Z\" Doe".to_owned(),
            email: "zoe@example.com".to_owned(),
        };
        let sent = body(&request).unwrap();
        assert_eq!(sent, body(&request).unwrap(), "the same bytes again");
        let read: Value = serde_json::from_slice(&sent).unwrap();
        let encoded = read["pdf"].as_str().unwrap();
        assert_eq!(STANDARD.decode(encoded).unwrap(), pdf);
        assert_eq!(
            read,
            json!({
                "type": "signature.requested",
                "checkoutId": request.checkout.to_string(),
                "documentId": request.document.to_string(),
                "sha256": request.sha256.to_string(),
                "pdf": encoded,
                "signer": { "name": "Zo\u{eb} \"Z\" Doe", "email": "zoe@example.com" },
            })
        );
    }
}
