//! The stores of a unit of work that tells of what it changes: they do as those inside, and note what
//! was read and written. What they know they are not asked for again: within a unit of work a record that nobody locks or
//! writes stays as it was read first.

mod checkouts;
mod customers;
mod lease_terms;
mod ledger;
mod organizations;
mod products;
mod qualifications;
mod variants;
mod webhook_endpoints;

use super::work::TellingWork;
use crate::credit::Qualification;
use crate::ids::CheckoutPubId;
use crate::organization::Organization;
use crate::ports::{QualificationStore, StoreError, Surroundings};

impl TellingWork {
    fn note_organization(&mut self, organization: Option<&Organization>) {
        let own = organization.filter(|organization| self.organization == Some(organization.id));
        if let Some(organization) = own {
            self.seen.organization = Some(organization.clone());
        }
    }

    fn note_surroundings(&mut self, checkouts: &[CheckoutPubId], found: &Surroundings) {
        self.note_organization(Some(&found.organization));
        self.seen.read_terms(&found.organization, &found.terms);
        self.seen.read_leased(&found.variants);
        self.seen.read_decisions(checkouts, &found.decided);
    }

    /// What counts of the checkout's credit now.
    async fn counting(&mut self, id: CheckoutPubId) -> Result<Option<Qualification>, StoreError> {
        let latest = QualificationStore::latest(self, &[id]).await?;
        Ok(latest.into_iter().find(Qualification::counts))
    }
}
