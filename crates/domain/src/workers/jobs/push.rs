//! Telling the processor of the catalog.

use super::attempt::{must, part};
use super::{Change, JobRunner, Setback};
use crate::access::Mode;
use crate::ports::{
    Attempt, Doubt, Job, JobSubject, ProcessorProduct, ProcessorVariant, StoreError,
};

impl JobRunner {
    /// Tells the processor of the catalog, in each mode that has a processor of its own. A customer is
    /// of one mode, and pushed there by whatever needs them at the processor.
    pub(super) async fn push(&self, job: &Job) -> Result<Change, Setback> {
        for mode in Mode::ALL {
            let attempt = Attempt {
                mode,
                ..part(&self.attempt_of(job), mode.as_str())
            };
            let answered = match job.new.subject {
                JobSubject::Product(id) => self.push_product(&attempt, job, id).await,
                JobSubject::Variant(id) => self.push_variant(&attempt, job, id).await,
                JobSubject::Customer(_) | JobSubject::Checkout(_) | JobSubject::Waitlist(_) => {
                    Ok(())
                }
            };
            match answered {
                // Nobody to tell: whoever needs the record at the processor pushes it first.
                Ok(()) | Err(Setback::Doubt(Doubt::Unconfigured(_))) => {}
                Err(setback) => return Err(setback),
            }
        }
        Ok(Change::Nothing)
    }

    async fn push_product(
        &self,
        attempt: &Attempt,
        job: &Job,
        id: crate::ids::ProductPubId,
    ) -> Result<(), Setback> {
        let mut uow = self.view(job).await?;
        let Some(product) = uow.products().get(job.new.organization_id, id).await? else {
            return Ok(());
        };
        let organization = uow
            .organizations()
            .get(job.new.organization_id)
            .await?
            .ok_or(StoreError::Missing("organization"))?;
        drop(uow);
        let product = ProcessorProduct {
            id: product.processor_id(),
            name: product.name.as_str().to_owned(),
            description: product.description.as_str().to_owned(),
            active: product.status == crate::catalog::ProductStatus::Active,
            organization: organization.pub_id,
        };
        must(
            self.providers
                .of(attempt.mode)
                .processor
                .push_product(attempt, &product)
                .await?,
        )
    }

    async fn push_variant(
        &self,
        attempt: &Attempt,
        job: &Job,
        id: crate::ids::ProductVariantPubId,
    ) -> Result<(), Setback> {
        let mut uow = self.view(job).await?;
        let organization_id = job.new.organization_id;
        let Some(variant) = uow.variants().get(organization_id, id).await? else {
            return Ok(());
        };
        let Some(product) = uow
            .products()
            .get(organization_id, variant.product_id)
            .await?
        else {
            return Ok(());
        };
        let (organization, terms) = uow
            .lease_terms()
            .list_with_organization(organization_id)
            .await?
            .ok_or(StoreError::Missing("organization"))?;
        drop(uow);
        let prices =
            crate::services::pricing::price_table(&organization, &product, &variant, &terms)?;
        let pushed = ProcessorVariant {
            product: ProcessorProduct {
                id: variant.processor_id(),
                name: variant.name.as_str().to_owned(),
                description: variant.description.as_str().to_owned(),
                active: variant.status == crate::catalog::ProductStatus::Active,
                organization: organization.pub_id,
            },
            monthly: prices
                .iter()
                .map(|(months, price)| (*months, price.quote.total_monthly_payment))
                .collect(),
        };
        must(
            self.providers
                .of(attempt.mode)
                .processor
                .push_variant(attempt, &pushed)
                .await?,
        )
    }
}
