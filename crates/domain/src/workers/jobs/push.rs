//! Telling the processor of the catalog, and of customers who were erased.

use super::attempt::{must, part, processor_customer};
use super::{Change, JobRunner, Setback};
use crate::access::Mode;
use crate::catalog::ProductStatus;
use crate::customer::Customer;
use crate::ids::{CustomerPubId, ProductPubId, ProductVariantPubId};
use crate::ports::{
    Attempt, Doubt, Job, JobSubject, ProcessorCustomer, ProcessorProduct, ProcessorVariant,
    StoreError, VariantSelection,
};
use crate::services::pricing::price_table;

/// What the processor is told of the catalog.
enum Told {
    Product(ProcessorProduct),
    Variant(ProcessorVariant),
}

impl JobRunner {
    /// Tells the processor of the catalog, in each mode that has a processor of its own; of a customer,
    /// who is of one mode, that mode's.
    pub(super) async fn push(&self, job: &Job) -> Result<Change, Setback> {
        let told = match job.new.subject {
            JobSubject::Customer(id) => return self.push_customer(job, id).await,
            JobSubject::Product(id) => self.product(job, id).await?.map(Told::Product),
            JobSubject::Variant(id) => self.variant(job, id).await?.map(Told::Variant),
            JobSubject::Checkout(_) | JobSubject::Waitlist(_) => None,
        };
        let Some(told) = told else {
            return Ok(Change::Nothing);
        };
        for mode in Mode::ALL {
            let attempt = Attempt {
                mode,
                ..part(&self.attempt_of(job), mode.as_str())
            };
            let processor = &self.providers.of(mode).processor;
            let answered = match &told {
                Told::Product(product) => processor.push_product(&attempt, product).await,
                Told::Variant(variant) => processor.push_variant(&attempt, variant).await,
            };
            match answered {
                Ok(answer) => must(answer)?,
                // Nobody to tell: whoever needs the record at the processor pushes it first.
                Err(Doubt::Unconfigured(_)) => {}
                Err(doubt) => return Err(doubt.into()),
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

    /// The product as the processor is told of it; none where there is none.
    async fn product(
        &self,
        job: &Job,
        id: ProductPubId,
    ) -> Result<Option<ProcessorProduct>, Setback> {
        let organization_id = job.new.organization_id;
        let mut uow = self.view(job).await?;
        let Some(product) = uow.products().get(organization_id, id).await? else {
            return Ok(None);
        };
        let organization = uow.organizations().get(organization_id).await?;
        let organization = organization.ok_or(StoreError::Missing("organization"))?;
        Ok(Some(ProcessorProduct {
            id: product.processor_id(),
            name: product.name.as_str().to_owned(),
            description: product.description.as_str().to_owned(),
            active: product.status == ProductStatus::Active,
            organization: organization.pub_id,
        }))
    }

    /// The variant as the processor is told of it, with its prices; none where there is none.
    async fn variant(
        &self,
        job: &Job,
        id: ProductVariantPubId,
    ) -> Result<Option<ProcessorVariant>, Setback> {
        let organization_id = job.new.organization_id;
        let mut uow = self.view(job).await?;
        let wanted = VariantSelection::IdsWithArchived(vec![id]);
        let mut found = (uow.variants())
            .with_products(organization_id, &wanted)
            .await?;
        let Some((variant, product)) = found.pop() else {
            return Ok(None);
        };
        let (organization, terms) = uow
            .lease_terms()
            .list_with_organization(organization_id)
            .await?
            .ok_or(StoreError::Missing("organization"))?;
        drop(uow);
        let prices = price_table(&organization, &product, &variant, &terms)?;
        Ok(Some(ProcessorVariant {
            product: ProcessorProduct {
                id: variant.processor_id(),
                name: variant.name.as_str().to_owned(),
                description: variant.description.as_str().to_owned(),
                active: variant.status == ProductStatus::Active,
                organization: organization.pub_id,
            },
            monthly: prices
                .iter()
                .map(|(months, price)| (*months, price.quote.total_monthly_payment))
                .collect(),
        }))
    }
}
