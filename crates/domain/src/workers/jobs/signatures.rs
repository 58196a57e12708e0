//! Having leases signed with the organizations' signers.

use chrono::TimeDelta;

use super::{Change, JobRunner, Setback};
use crate::agreement::{Signature, Signer};
use crate::checkout::Checkout;
use crate::customer::Customer;
use crate::ports::{Attempt, Doubt, SignatureRequest};
use crate::services::{agreements, signers};
use crate::time::Timestamp;

/// However long an endpoint wants to be left alone, it is asked again after so long.
const LONGEST_PATIENCE: TimeDelta = TimeDelta::hours(24);

/// The pauses before an organization's endpoint is asked again that did not answer, as events are
/// delivered again.
const PAUSES: [TimeDelta; 10] = [
    TimeDelta::seconds(5),
    TimeDelta::minutes(1),
    TimeDelta::minutes(5),
    TimeDelta::minutes(30),
    TimeDelta::hours(2),
    TimeDelta::hours(5),
    TimeDelta::hours(10),
    TimeDelta::hours(14),
    TimeDelta::hours(20),
    TimeDelta::hours(24),
];

impl JobRunner {
    /// Sends the document that waits to be signed. Who signed it is told by the organization later; where it
    /// has its agreements signed on the page again, nobody is asked.
    pub(super) async fn request_signature(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let organization = checkout.organization_id;
        let mut view = self.database.read(organization.into()).await?;
        let signer = signers::signer_of(view.as_mut(), organization, checkout.mode).await?;
        let document = agreements::shown(view.as_mut(), checkout).await?;
        let (Signer::Http(endpoint), Some(document)) = (signer, document) else {
            return Ok(Change::Nothing);
        };
        let pdf = view.agreements().pdf(document.id).await?;
        drop(view);
        let Some(pdf) = pdf else {
            return Ok(Change::Nothing);
        };
        let request = SignatureRequest {
            checkout: checkout.id,
            document: document.id,
            sha256: document.sha256,
            pdf,
            name: Signature::of(&customer.profile).name,
            email: customer.email.to_string(),
        };
        self.providers
            .signer
            .send(attempt, &endpoint, &request)
            .await?;
        Ok(Change::Nothing)
    }

    /// When an endpoint is asked again that was asked so often and left this doubt; never once it was asked
    /// often enough.
    pub(super) fn ask_again_at(
        &self,
        attempts: u32,
        now: Timestamp,
        doubt: &Doubt,
    ) -> Option<Timestamp> {
        let place = usize::try_from(attempts.saturating_sub(1)).ok()?;
        let pause = PAUSES.get(place)?;
        let mut byte = [0_u8; 1];
        self.entropy.fill(&mut byte);
        let [chance] = byte;
        // A fifth less to a fifth more, so that many do not come back at once.
        let parts = i64::from(chance).saturating_mul(400).checked_div(255)?;
        let thousandths = parts.saturating_add(800);
        let pause = pause
            .num_milliseconds()
            .saturating_mul(thousandths)
            .checked_div(1_000)?;
        let pause = TimeDelta::milliseconds(pause);
        // Whoever says when they are to be asked again is not asked before.
        let told = doubt
            .retry_after()
            .unwrap_or_default()
            .min(LONGEST_PATIENCE);
        now.checked_add_signed(pause.max(told))
    }
}
