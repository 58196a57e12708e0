//! Asking organizations' endpoints for decisions about credit.

mod wire;

use async_trait::async_trait;
use lessor_domain::endpoint::Endpoint;
use lessor_domain::ports::{Attempt, CreditAnswer, CreditDesk, CreditRequest, Doubt};

use crate::outbound::Outbound;

/// Asks by signed requests.
#[derive(Debug, Clone, Copy)]
pub struct HttpCreditDesk {
    outbound: Outbound,
}

impl HttpCreditDesk {
    /// By these requests.
    #[must_use]
    pub const fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

#[async_trait]
impl CreditDesk for HttpCreditDesk {
    async fn ask(
        &self,
        attempt: &Attempt,
        endpoint: &Endpoint,
        request: &CreditRequest,
    ) -> Result<CreditAnswer, Doubt> {
        let body = wire::request(attempt.mode, request).map_err(Doubt::failed)?;
        let answer = self.outbound.ask(attempt, endpoint, &body).await?;
        if answer.is_cut {
            return Err(Doubt::failed("the endpoint's answer is too long"));
        }
        wire::answer(&answer.body).map_err(Doubt::failed)
    }
}
