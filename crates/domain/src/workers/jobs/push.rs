//! Telling the processor of the catalog, and of customers who were erased.

use super::attempt::{must, part, processor_customer};
use super::{Change, JobRunner, Setback};
use crate::access::Mode;
use crate::customer::Customer;
use crate::ids::CustomerPubId;
use crate::ports::{
    Attempt, Doubt, Job, JobSubject, ProcessorCustomer, ProcessorProduct, ProcessorVariant,
    StoreError,
};

impl JobRunner {
    /// Tells the processor of the catalog, in each mode that has a processor of its own; of a customer,
    /// who is of one mode, that mode's.
    pub(super) async fn push(&self, job: &Job) -> Result<Change, Setback> {
        if let JobSubject::Customer(id) = job.new.subject {
            return self.push_customer(job, id).await;
        }
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

    /// Writes over what the processor knows of the customer with what is known here, and has it forget
    /// the rest. One that it does not know it need not be told of: whatever needs them there does so first.
    async fn push_customer(&self, job: &Job, id: CustomerPubId) -> Result<Change, Setback> {
        let mut uow = self.view(job).await?;
        let customer = uow.customers().get(id).await?;
        drop(uow);
        let is_known = |customer: &Customer| customer.screening.processor_id.is_some();
        let Some(customer) = customer.filter(is_known) else {
            return Ok(Change::Nothing);
        };
        let known = processor_customer(&customer);
        let told = ProcessorCustomer {
            // An empty text is how the processor is told to forget one.
            name: known.name.or_else(|| Some(String::new())),
            phone: known.phone.or_else(|| Some(String::new())),
            ..known
        };
        let attempt = self.attempt_of(job);
        let processor = &self.providers.of(customer.mode).processor;
        match processor.push_customer(&attempt, &told).await {
            Ok(answer) => must(answer).map(|_| Change::Nothing),
            Err(Doubt::Unconfigured(_)) => Ok(Change::Nothing),
            Err(doubt) => Err(doubt.into()),
        }
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
