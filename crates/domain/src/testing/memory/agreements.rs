//! Agreements, and the organizations' own terms.

use std::sync::Arc;

use async_trait::async_trait;

use super::Memory;
use super::tables::AgreementRow;
use crate::access::Mode;
use crate::agreement::{
    AgreementEvent, AgreementEventKind, AgreementRecord, AgreementTerms, Happening, Sha256, Signed,
    Signer,
};
use crate::ids::{AgreementPubId, CheckoutPubId, OrganizationId};
use crate::ports::{AgreementStore, NewAgreement, Reach, StoreError};
use crate::text::AgreementText;
use crate::time::{Timestamp, to_millis};

const MISSING: StoreError = StoreError::Missing("agreement");

#[async_trait]
impl AgreementStore for Memory {
    async fn insert(&mut self, new: &NewAgreement) -> Result<(), StoreError> {
        let state = self.change_of(new.record.organization_id)?;
        if !state.checkouts.contains_key(&new.record.checkout_id) {
            return Err(StoreError::Missing("checkout"));
        }
        if state.agreements.contains_key(&new.record.id) {
            return Err(StoreError::internal("a document has this id already"));
        }
        let created = Happening::new(
            AgreementEventKind::Created,
            new.record.created_at,
            None,
            None,
        );
        let row = AgreementRow {
            events: vec![created.after(new.record.sha256)],
            record: new.record.clone(),
            pdf: Some(Arc::new(new.pdf.clone())),
        };
        state.agreements.insert(new.record.id, row);
        Ok(())
    }

    async fn get(&mut self, id: AgreementPubId) -> Result<Option<AgreementRecord>, StoreError> {
        let state = self.own();
        Ok(state.agreements.get(&id).map(|row| row.record.clone()))
    }

    async fn pdf(&mut self, id: AgreementPubId) -> Result<Option<Vec<u8>>, StoreError> {
        let state = self.own();
        let kept = state.agreements.get(&id).and_then(|row| row.pdf.as_deref());
        Ok(kept.cloned())
    }

    async fn of(&mut self, checkout: CheckoutPubId) -> Result<Vec<AgreementRecord>, StoreError> {
        let state = self.own();
        let all = state.agreements.values().map(|row| &row.record);
        let mut found: Vec<_> = all
            .filter(|record| record.checkout_id == checkout)
            .cloned()
            .collect();
        found.sort_by_key(|record| (record.created_at, record.id));
        Ok(found)
    }

    async fn with_hash(&mut self, sha256: Sha256) -> Result<Vec<AgreementRecord>, StoreError> {
        let state = self.own();
        let all = state.agreements.values().map(|row| &row.record);
        let mut found: Vec<_> = all
            .filter(|record| record.sha256 == sha256)
            .cloned()
            .collect();
        found.sort_by_key(|record| (record.created_at, record.id));
        Ok(found)
    }

    async fn append(
        &mut self,
        id: AgreementPubId,
        happening: &Happening,
    ) -> Result<AgreementEvent, StoreError> {
        if !self.own().agreements.contains_key(&id) {
            return Err(MISSING);
        }
        let row = self.change_own()?.agreements.get_mut(&id).ok_or(MISSING)?;
        let last = row.events.last().map(|event| event.sha256);
        let event = happening.clone().after(last.unwrap_or(row.record.sha256));
        row.events.push(event.clone());
        Ok(event)
    }

    async fn events(&mut self, id: AgreementPubId) -> Result<Vec<AgreementEvent>, StoreError> {
        let state = self.own();
        let found = state.agreements.get(&id).map(|row| row.events.clone());
        Ok(found.unwrap_or_default())
    }

    async fn sign(&mut self, id: AgreementPubId, signed: &Signed) -> Result<(), StoreError> {
        if !self.own().agreements.contains_key(&id) {
            return Err(MISSING);
        }
        let row = self.change_own()?.agreements.get_mut(&id).ok_or(MISSING)?;
        if row.record.signed_at.is_some() {
            return Err(StoreError::Stale("agreement"));
        }
        row.record.signed_at = Some(to_millis(signed.at));
        row.record.signer_name = Some(signed.name.clone());
        row.record
            .consent_version
            .clone_from(&signed.consent_version);
        row.record.signer_reference.clone_from(&signed.reference);
        Ok(())
    }

    async fn terms(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Option<AgreementTerms>, StoreError> {
        if self.reach != Reach::Organization(organization) {
            return Ok(None);
        }
        Ok(self.own().agreement_terms.last().cloned())
    }

    async fn set_terms(
        &mut self,
        organization: OrganizationId,
        text: &AgreementText,
        at: Timestamp,
    ) -> Result<AgreementTerms, StoreError> {
        let versions = &mut self.change_of(organization)?.agreement_terms;
        let last = versions.last().map_or(0, |terms| terms.version);
        let terms = AgreementTerms {
            version: last.saturating_add(1),
            text: text.clone(),
            created_at: to_millis(at),
        };
        versions.push(terms.clone());
        Ok(terms)
    }

    async fn signer(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<Option<Signer>, StoreError> {
        if self.reach != Reach::Organization(organization) {
            return Ok(None);
        }
        Ok(self.own().signers.get(&mode).cloned())
    }

    async fn set_signer(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
        signer: &Signer,
        _at: Timestamp,
    ) -> Result<(), StoreError> {
        let state = self.change_of(organization)?;
        state.signers.insert(mode, signer.clone());
        Ok(())
    }
}
