//! The stores of a unit of work that tells of what it changes: they do as those inside, and note what
//! was read and written. What they know they are not asked for again: within a unit of work a record that nobody locks or
//! writes stays as it was read first.

use async_trait::async_trait;

use super::names::Booked;
use super::work::TellingWork;
use crate::access::Mode;
use crate::catalog::{Product, ProductVariant, StockTaken, VariantFilter};
use crate::checkout::{Checkout, Lifecycle, Tracking, Transition, WayOut};
use crate::credit::Qualification;
use crate::customer::Customer;
use crate::ids::{
    CheckoutPubId, CustomerPubId, LeaseTermPubId, LeaseTermRef, OrganizationId, OrganizationRef,
    ProductPubId, ProductVariantPubId, UserId, WebhookEndpointPubId,
};
use crate::lease_term::LeaseTerm;
use crate::ledger::Entry;
use crate::organization::Organization;
use crate::ports::{
    CheckoutFilter, CheckoutSort, CheckoutStore, CustomerFilter, CustomerStore, DeletedTerm,
    HistoryEntry, InsertedCheckout, InsertedCustomer, LeaseTermStore, LedgerStore, NewCustomer,
    NewLeaseTerm, NewOrganization, Offer, OrganizationStore, Page, PageToken, ProductFilter,
    ProductPage, ProductSort, ProductStore, QualificationStore, Scope, SortOrder, StoreError,
    Surroundings, VariantSelection, VariantStore, WebhookEndpointStore,
};
use crate::quantity::Quantity;
use crate::text::{Email, ExternalId, Sku};
use crate::time::{Day, Timestamp};
use crate::webhooks::{Listener, WebhookEndpoint};

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

#[async_trait]
impl OrganizationStore for TellingWork {
    async fn insert(&mut self, new: &NewOrganization) -> Result<Organization, StoreError> {
        self.inner.organizations().insert(new).await
    }

    async fn get(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        if let Some(known) = self.seen.organization(id) {
            return Ok(Some(known.clone()));
        }
        let found = self.inner.organizations().get(id).await?;
        self.note_organization(found.as_ref());
        Ok(found)
    }

    async fn find(&mut self, id: OrganizationRef) -> Result<Option<Organization>, StoreError> {
        let found = self.inner.organizations().find(id).await?;
        self.note_organization(found.as_ref());
        Ok(found)
    }

    async fn list(&mut self) -> Result<Vec<Organization>, StoreError> {
        self.inner.organizations().list().await
    }

    async fn lock(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError> {
        let found = self.inner.organizations().lock(id).await?;
        self.note_organization(found.as_ref());
        Ok(found)
    }

    async fn update(&mut self, organization: &mut Organization) -> Result<(), StoreError> {
        self.inner.organizations().update(organization).await?;
        self.seen.rates = None;
        self.note_organization(Some(organization));
        Ok(())
    }

    async fn pricing_revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError> {
        self.inner
            .organizations()
            .pricing_revision(organization)
            .await
    }
}

#[async_trait]
impl ProductStore for TellingWork {
    async fn insert(&mut self, product: &Product) -> Result<(), StoreError> {
        self.inner.products().insert(product).await?;
        self.seen
            .write_product(product.id, None, Some(product.clone()));
        Ok(())
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        let found = self.inner.products().get(organization, id).await?;
        if let Some(found) = &found {
            self.seen.products.note(found.id, found);
        }
        Ok(found)
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        page: Page,
    ) -> Result<Vec<Product>, StoreError> {
        self.inner
            .products()
            .list(organization, filter, sort, order, page)
            .await
    }

    async fn list_with_revision(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        page: Page,
    ) -> Result<ProductPage, StoreError> {
        self.inner
            .products()
            .list_with_revision(organization, filter, sort, order, page)
            .await
    }

    async fn revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError> {
        self.inner.products().revision(organization).await
    }

    async fn count(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        self.inner
            .products()
            .count(organization, filter, most)
            .await
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        let found = self.inner.products().lock(organization, id).await?;
        if let Some(found) = &found {
            self.seen.products.note(found.id, found);
        }
        Ok(found)
    }

    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        let found = self.inner.products().lock_shared(organization, id).await?;
        if let Some(found) = &found {
            self.seen.products.note(found.id, found);
        }
        Ok(found)
    }

    async fn update(&mut self, product: &mut Product) -> Result<(), StoreError> {
        let before = match self.seen.products.take(product.id, product.version) {
            Some(before) => Some(before),
            None if self.seen.products.is_written(product.id) => None,
            None => {
                self.inner
                    .products()
                    .get(product.organization_id, product.id)
                    .await?
            }
        };
        self.inner.products().update(product).await?;
        self.seen
            .write_product(product.id, before, Some(product.clone()));
        Ok(())
    }

    async fn delete(&mut self, id: ProductPubId) -> Result<(), StoreError> {
        let Some(organization) = self.organization else {
            return self.inner.products().delete(id).await;
        };
        // What is of the product goes with it.
        let product = self.inner.products().get(organization, id).await?;
        let variants = self.inner.variants().of_product(organization, id).await?;
        let terms = self.inner.lease_terms().list(organization).await?;
        self.inner.products().delete(id).await?;
        for variant in variants {
            self.seen.write_variant(variant.id, Some(variant), None);
        }
        for term in terms.into_iter().filter(|term| term.product_id == Some(id)) {
            self.seen.write_term(term.id, Some(term), None);
        }
        self.seen.write_product(id, product, None);
        Ok(())
    }

    async fn has_checkout_items(&mut self, id: ProductPubId) -> Result<bool, StoreError> {
        self.inner.products().has_checkout_items(id).await
    }
}

#[async_trait]
impl VariantStore for TellingWork {
    async fn insert(&mut self, variant: &ProductVariant) -> Result<(), StoreError> {
        self.inner.variants().insert(variant).await?;
        self.seen
            .write_variant(variant.id, None, Some(variant.clone()));
        Ok(())
    }

    async fn insert_all(&mut self, variants: &[ProductVariant]) -> Result<(), StoreError> {
        self.inner.variants().insert_all(variants).await?;
        for variant in variants {
            self.seen
                .write_variant(variant.id, None, Some(variant.clone()));
        }
        Ok(())
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let found = self.inner.variants().get(organization, id).await?;
        if let Some(found) = &found {
            self.seen.variants.note(found.id, found);
        }
        Ok(found)
    }

    async fn find_by_sku(
        &mut self,
        organization: OrganizationId,
        sku: &Sku,
    ) -> Result<Option<ProductVariant>, StoreError> {
        self.inner.variants().find_by_sku(organization, sku).await
    }

    async fn find_by_external_id(
        &mut self,
        organization: OrganizationId,
        id: &ExternalId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        self.inner
            .variants()
            .find_by_external_id(organization, id)
            .await
    }

    async fn with_products(
        &mut self,
        organization: OrganizationId,
        selected: &VariantSelection,
    ) -> Result<Vec<(ProductVariant, Product)>, StoreError> {
        if let VariantSelection::IdsWithArchived(ids) = selected
            && let Some(known) = self.seen.leased(ids)
        {
            self.seen.read_leased(&known);
            return Ok(known);
        }
        let found = self
            .inner
            .variants()
            .with_products(organization, selected)
            .await?;
        if matches!(selected, VariantSelection::IdsWithArchived(_)) {
            self.seen.read_leased(&found);
        }
        Ok(found)
    }

    async fn of_products(
        &mut self,
        organization: OrganizationId,
        products: &[ProductPubId],
    ) -> Result<Vec<ProductVariant>, StoreError> {
        self.inner
            .variants()
            .of_products(organization, products)
            .await
    }

    async fn of_product(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
    ) -> Result<Vec<ProductVariant>, StoreError> {
        self.inner
            .variants()
            .of_product(organization, product)
            .await
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
        filter: &VariantFilter,
        page: Page,
    ) -> Result<Vec<ProductVariant>, StoreError> {
        self.inner
            .variants()
            .list(organization, product, filter, page)
            .await
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let found = self.inner.variants().lock(organization, id).await?;
        if let Some(found) = &found {
            self.seen.variants.note(found.id, found);
        }
        Ok(found)
    }

    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let found = self.inner.variants().lock_shared(organization, id).await?;
        if let Some(found) = &found {
            self.seen.variants.note(found.id, found);
        }
        Ok(found)
    }

    async fn hold_offer(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
        product: ProductPubId,
    ) -> Result<Option<Offer>, StoreError> {
        let variants = self.inner.variants();
        let found = variants.hold_offer(organization, id, product).await?;
        if let Some(offer) = &found {
            self.seen.variants.note(offer.variant.id, &offer.variant);
            self.seen.products.note(offer.product.id, &offer.product);
            self.note_organization(Some(&offer.organization));
            self.seen.read_terms(&offer.organization, &offer.terms);
        }
        Ok(found)
    }

    async fn update(&mut self, variant: &mut ProductVariant) -> Result<(), StoreError> {
        let before = match self.seen.variants.take(variant.id, variant.version) {
            Some(before) => Some(before),
            None if self.seen.variants.is_written(variant.id) => None,
            None => {
                self.inner
                    .variants()
                    .get(variant.organization_id, variant.id)
                    .await?
            }
        };
        self.inner.variants().update(variant).await?;
        self.seen
            .write_variant(variant.id, before, Some(variant.clone()));
        Ok(())
    }

    async fn delete(&mut self, id: ProductVariantPubId) -> Result<(), StoreError> {
        let before = match self.organization {
            Some(organization) => self.inner.variants().get(organization, id).await?,
            None => None,
        };
        self.inner.variants().delete(id).await?;
        self.seen.write_variant(id, before, None);
        Ok(())
    }

    async fn has_checkout_items(&mut self, id: ProductVariantPubId) -> Result<bool, StoreError> {
        self.inner.variants().has_checkout_items(id).await
    }

    async fn take_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        quantity: Quantity,
    ) -> Result<StockTaken, StoreError> {
        let taken = self.inner.variants().take_stock(id, mode, quantity).await?;
        if taken == StockTaken::Taken {
            let units = i64::from(quantity.get());
            self.seen.move_stock(id, mode, units.saturating_neg());
        }
        Ok(taken)
    }

    async fn return_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        quantity: Quantity,
    ) -> Result<(), StoreError> {
        self.inner
            .variants()
            .return_stock(id, mode, quantity)
            .await?;
        self.seen.move_stock(id, mode, i64::from(quantity.get()));
        Ok(())
    }
}

#[async_trait]
impl CustomerStore for TellingWork {
    async fn insert(&mut self, new: &NewCustomer) -> Result<InsertedCustomer, StoreError> {
        let inserted = self.inner.customers().insert(new).await?;
        match &inserted {
            InsertedCustomer::New(customer) => {
                self.seen
                    .write_customer(customer.id, None, Some(customer.clone()));
            }
            InsertedCustomer::Existing(customer) => {
                self.seen.customers.note(customer.id, customer);
            }
        }
        Ok(inserted)
    }

    async fn get(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError> {
        if let Some(known) = self.seen.customer(id) {
            return Ok(Some(known.clone()));
        }
        let found = self.inner.customers().get(id).await?;
        if let Some(found) = &found {
            self.seen.customers.note(found.id, found);
        }
        Ok(found)
    }

    async fn get_many(&mut self, ids: &[UserId]) -> Result<Vec<Customer>, StoreError> {
        self.inner.customers().get_many(ids).await
    }

    async fn find_by_email(
        &mut self,
        scope: Scope,
        email: &Email,
    ) -> Result<Option<Customer>, StoreError> {
        let found = self.inner.customers().find_by_email(scope, email).await?;
        if let Some(found) = &found {
            self.seen.customers.note(found.id, found);
        }
        Ok(found)
    }

    async fn find_by_verification_session(
        &mut self,
        mode: Mode,
        session_id: &str,
    ) -> Result<Option<Customer>, StoreError> {
        let found = self
            .inner
            .customers()
            .find_by_verification_session(mode, session_id)
            .await?;
        if let Some(found) = &found {
            self.seen.customers.note(found.id, found);
        }
        Ok(found)
    }

    async fn lock(&mut self, id: CustomerPubId) -> Result<Option<Customer>, StoreError> {
        let found = self.inner.customers().lock(id).await?;
        if let Some(found) = &found {
            self.seen.customers.note(found.id, found);
        }
        Ok(found)
    }

    async fn list(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        page: Page,
    ) -> Result<Vec<Customer>, StoreError> {
        self.inner.customers().list(scope, filter, page).await
    }

    async fn count(
        &mut self,
        scope: Scope,
        filter: &CustomerFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        self.inner.customers().count(scope, filter, most).await
    }

    async fn update(&mut self, customer: &mut Customer) -> Result<(), StoreError> {
        let before = match self.seen.customers.take(customer.id, customer.version) {
            Some(before) => Some(before),
            None if self.seen.customers.is_written(customer.id) => None,
            None => self.inner.customers().get(customer.id).await?,
        };
        self.inner.customers().update(customer).await?;
        self.seen
            .write_customer(customer.id, before, Some(customer.clone()));
        Ok(())
    }
}

#[async_trait]
impl LeaseTermStore for TellingWork {
    async fn insert(&mut self, new: &NewLeaseTerm) -> Result<LeaseTerm, StoreError> {
        let term = self.inner.lease_terms().insert(new).await?;
        self.seen.write_term(term.id, None, Some(term.clone()));
        Ok(term)
    }

    async fn find(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermRef,
    ) -> Result<Option<LeaseTerm>, StoreError> {
        let found = self.inner.lease_terms().find(organization, id).await?;
        if let Some(found) = &found {
            self.seen.terms.note(found.id, found);
        }
        Ok(found)
    }

    async fn list(&mut self, organization: OrganizationId) -> Result<Vec<LeaseTerm>, StoreError> {
        self.inner.lease_terms().list(organization).await
    }

    async fn list_with_organization(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Option<(Organization, Vec<LeaseTerm>)>, StoreError> {
        if let Some(known) = self.seen.terms(organization) {
            return Ok(Some(known));
        }
        let found = self
            .inner
            .lease_terms()
            .list_with_organization(organization)
            .await?;
        if let Some((organization, terms)) = &found {
            self.note_organization(Some(organization));
            self.seen.read_terms(organization, terms);
        }
        Ok(found)
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: LeaseTermPubId,
    ) -> Result<Option<LeaseTerm>, StoreError> {
        let found = self.inner.lease_terms().lock(organization, id).await?;
        if let Some(found) = &found {
            self.seen.terms.note(found.id, found);
        }
        Ok(found)
    }

    async fn update(&mut self, term: &mut LeaseTerm) -> Result<(), StoreError> {
        let before = match self.seen.terms.take(term.id, term.version) {
            Some(before) => Some(before),
            None if self.seen.terms.is_written(term.id) => None,
            None => {
                let id = LeaseTermRef::Public(term.id);
                self.inner
                    .lease_terms()
                    .find(term.organization_id, id)
                    .await?
            }
        };
        self.inner.lease_terms().update(term).await?;
        self.seen.write_term(term.id, before, Some(term.clone()));
        Ok(())
    }

    async fn delete(&mut self, id: LeaseTermPubId) -> Result<DeletedTerm, StoreError> {
        let before = match self.organization {
            Some(organization) => {
                let term = LeaseTermRef::Public(id);
                self.inner.lease_terms().find(organization, term).await?
            }
            None => None,
        };
        let deleted = self.inner.lease_terms().delete(id).await?;
        if deleted == DeletedTerm::Gone {
            self.seen.write_term(id, before, None);
        }
        Ok(deleted)
    }
}

#[async_trait]
impl WebhookEndpointStore for TellingWork {
    async fn insert(&mut self, endpoint: &WebhookEndpoint) -> Result<bool, StoreError> {
        self.inner.webhook_endpoints().insert(endpoint).await
    }

    async fn get(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        self.inner.webhook_endpoints().get(scope, id).await
    }

    async fn list(&mut self, scope: Scope) -> Result<Vec<WebhookEndpoint>, StoreError> {
        self.inner.webhook_endpoints().list(scope).await
    }

    async fn hold_listeners(&mut self, scope: Scope) -> Result<Vec<Listener>, StoreError> {
        self.inner.webhook_endpoints().hold_listeners(scope).await
    }

    async fn lock(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        let found = self.inner.webhook_endpoints().lock(scope, id).await?;
        if let Some(found) = &found {
            self.seen.endpoints.note(found.id, found);
        }
        Ok(found)
    }

    async fn update(&mut self, endpoint: &mut WebhookEndpoint) -> Result<(), StoreError> {
        let before = match self.seen.endpoints.take(endpoint.id, endpoint.version) {
            Some(before) => Some(before),
            None if self.seen.endpoints.is_written(endpoint.id) => None,
            None => {
                let (scope, id) = (endpoint.scope(), endpoint.id);
                self.inner.webhook_endpoints().get(scope, id).await?
            }
        };
        self.inner.webhook_endpoints().update(endpoint).await?;
        self.seen
            .write_endpoint(endpoint.id, before, Some(endpoint.clone()));
        Ok(())
    }

    async fn delete(&mut self, scope: Scope, id: WebhookEndpointPubId) -> Result<bool, StoreError> {
        self.inner.webhook_endpoints().delete(scope, id).await
    }
}

#[async_trait]
impl CheckoutStore for TellingWork {
    async fn insert(
        &mut self,
        checkout: &Checkout,
        page_tokens: &[[u8; 32]],
    ) -> Result<InsertedCheckout, StoreError> {
        let inserted = self.inner.checkouts().insert(checkout, page_tokens).await?;
        match &inserted {
            InsertedCheckout::New => {
                self.seen
                    .write_checkout(checkout.id, None, Some(checkout.clone()));
                // Nobody has decided anything about it.
                self.seen.latest.insert(checkout.id, None);
            }
            InsertedCheckout::Existing(checkout) => {
                self.seen.checkouts.note(checkout.id, checkout);
            }
        }
        Ok(inserted)
    }

    async fn get(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        if let Some(known) = self.seen.checkout(id) {
            return Ok(Some(known.clone()));
        }
        let found = self.inner.checkouts().get(id).await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn get_with_surroundings(
        &mut self,
        organization: OrganizationId,
        id: CheckoutPubId,
    ) -> Result<Option<(Checkout, Surroundings)>, StoreError> {
        if let Some(known) = self.seen.checkout(id).cloned() {
            let with = CheckoutStore::surroundings(self, organization, &[id], &[]).await?;
            return Ok(Some((known, with)));
        }
        let found = self
            .inner
            .checkouts()
            .get_with_surroundings(organization, id)
            .await?;
        if let Some((found, with)) = &found {
            self.seen.checkouts.note(found.id, found);
            self.note_surroundings(&[id], with);
        }
        Ok(found)
    }

    async fn surroundings(
        &mut self,
        organization: OrganizationId,
        checkouts: &[CheckoutPubId],
        variants: &[ProductVariantPubId],
    ) -> Result<Surroundings, StoreError> {
        if let Some(known) = self.seen.surroundings(organization, checkouts, variants) {
            self.seen.read_leased(&known.variants);
            return Ok(known);
        }
        let found = self
            .inner
            .checkouts()
            .surroundings(organization, checkouts, variants)
            .await?;
        self.note_surroundings(checkouts, &found);
        Ok(found)
    }

    async fn find_by_page_token(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<Checkout>, StoreError> {
        let found = self.inner.checkouts().find_by_page_token(token).await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn set_page_tokens(
        &mut self,
        id: CheckoutPubId,
        hashes: &[[u8; 32]],
    ) -> Result<(), StoreError> {
        self.inner.checkouts().set_page_tokens(id, hashes).await
    }

    async fn end_page(&mut self, id: CheckoutPubId, at: Timestamp) -> Result<(), StoreError> {
        self.inner.checkouts().end_page(id, at).await
    }

    async fn note_way_out(&mut self, id: CheckoutPubId, way: WayOut) -> Result<bool, StoreError> {
        self.inner.checkouts().note_way_out(id, way).await
    }

    async fn last_way_out(&mut self, id: CheckoutPubId) -> Result<Option<WayOut>, StoreError> {
        self.inner.checkouts().last_way_out(id).await
    }

    async fn find_open(
        &mut self,
        scope: Scope,
        customer: CustomerPubId,
        variant: ProductVariantPubId,
        term: Option<LeaseTermPubId>,
    ) -> Result<Option<Checkout>, StoreError> {
        let found = self
            .inner
            .checkouts()
            .find_open(scope, customer, variant, term)
            .await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn find_by_external_order(
        &mut self,
        scope: Scope,
        id: &ExternalId,
    ) -> Result<Option<Checkout>, StoreError> {
        let found = self
            .inner
            .checkouts()
            .find_by_external_order(scope, id)
            .await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn find_by_tracking(
        &mut self,
        tracking: &Tracking,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().find_by_tracking(tracking).await
    }

    async fn of_customer(
        &mut self,
        mode: Mode,
        customer: CustomerPubId,
        states: &[Lifecycle],
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner
            .checkouts()
            .of_customer(mode, customer, states)
            .await
    }

    async fn list(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        sort: CheckoutSort,
        order: SortOrder,
        page: Page,
    ) -> Result<Vec<Checkout>, StoreError> {
        self.inner
            .checkouts()
            .list(scope, filter, sort, order, page)
            .await
    }

    async fn count(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        self.inner.checkouts().count(scope, filter, most).await
    }

    async fn count_by_state(&mut self, scope: Scope) -> Result<Vec<(Lifecycle, u64)>, StoreError> {
        self.inner.checkouts().count_by_state(scope).await
    }

    async fn lock(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError> {
        let found = self.inner.checkouts().lock(id).await?;
        if let Some(found) = &found {
            self.seen.checkouts.note(found.id, found);
        }
        Ok(found)
    }

    async fn update(&mut self, checkout: &mut Checkout) -> Result<(), StoreError> {
        let before = match self.seen.checkouts.take(checkout.id, checkout.version) {
            Some(before) => Some(before),
            None if self.seen.checkouts.is_written(checkout.id) => None,
            None => self.inner.checkouts().get(checkout.id).await?,
        };
        self.inner.checkouts().update(checkout).await?;
        self.seen
            .write_checkout(checkout.id, before, Some(checkout.clone()));
        Ok(())
    }

    async fn record(
        &mut self,
        id: CheckoutPubId,
        transitions: &[Transition],
    ) -> Result<(), StoreError> {
        self.inner.checkouts().record(id, transitions).await?;
        self.seen.moved(id, transitions);
        Ok(())
    }

    async fn history(&mut self, id: CheckoutPubId) -> Result<Vec<HistoryEntry>, StoreError> {
        self.inner.checkouts().history(id).await
    }

    async fn lock_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
        limit: u32,
    ) -> Result<Vec<Checkout>, StoreError> {
        let found = self
            .inner
            .checkouts()
            .lock_waiting_for_stock(variant, mode, limit)
            .await?;
        for checkout in &found {
            self.seen.checkouts.note(checkout.id, checkout);
        }
        Ok(found)
    }

    async fn first_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
    ) -> Result<Option<Checkout>, StoreError> {
        self.inner
            .checkouts()
            .first_waiting_for_stock(variant, mode)
            .await
    }

    async fn place_in_line(&mut self, id: CheckoutPubId) -> Result<Option<u64>, StoreError> {
        self.inner.checkouts().place_in_line(id).await
    }

    async fn waiting_for_location(
        &mut self,
        organization: OrganizationId,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner
            .checkouts()
            .waiting_for_location(organization, after, limit)
            .await
    }

    async fn untouched_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().untouched_since(before, limit).await
    }

    async fn lapsing_before(
        &mut self,
        before: Timestamp,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner
            .checkouts()
            .lapsing_before(before, after, limit)
            .await
    }

    async fn leases_ended_before(
        &mut self,
        day: Day,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().leases_ended_before(day, limit).await
    }

    async fn unbilled_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().unbilled_since(before, limit).await
    }

    async fn silent_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().silent_since(before, limit).await
    }

    async fn billed(
        &mut self,
        mode: Mode,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().billed(mode, after, limit).await
    }

    async fn under_way(&mut self, limit: u32) -> Result<Vec<CheckoutPubId>, StoreError> {
        self.inner.checkouts().under_way(limit).await
    }
}

#[async_trait]
impl QualificationStore for TellingWork {
    async fn insert(&mut self, qualification: &Qualification) -> Result<(), StoreError> {
        let checkout = qualification.checkout;
        let before = self.counting(checkout).await?;
        self.inner.qualifications().insert(qualification).await?;
        self.seen.decide(checkout, before);
        Ok(())
    }

    async fn latest(
        &mut self,
        checkouts: &[CheckoutPubId],
    ) -> Result<Vec<Qualification>, StoreError> {
        if let Some(known) = self.seen.decisions(checkouts) {
            return Ok(known);
        }
        let found = self.inner.qualifications().latest(checkouts).await?;
        self.seen.read_decisions(checkouts, &found);
        Ok(found)
    }

    async fn of_customer(
        &mut self,
        customer: CustomerPubId,
    ) -> Result<Vec<Qualification>, StoreError> {
        self.inner.qualifications().of_customer(customer).await
    }

    async fn end(&mut self, customer: CustomerPubId, at: Timestamp) -> Result<u64, StoreError> {
        let before = self.inner.qualifications().of_customer(customer).await?;
        let ended = self.inner.qualifications().end(customer, at).await?;
        for decided in before {
            let checkout = decided.checkout;
            self.seen.decide(checkout, Some(decided));
        }
        Ok(ended)
    }
}

#[async_trait]
impl LedgerStore for TellingWork {
    async fn of(&mut self, checkout: CheckoutPubId) -> Result<Vec<Entry>, StoreError> {
        let rows = self.inner.ledger().of(checkout).await?;
        for row in &rows {
            self.seen.rows.insert(row.id.clone(), Some(row.clone()));
        }
        Ok(rows)
    }

    async fn find(&mut self, mode: Mode, id: &str) -> Result<Option<Entry>, StoreError> {
        let row = self.inner.ledger().find(mode, id).await?;
        self.seen.rows.insert(id.to_owned(), row.clone());
        Ok(row)
    }

    async fn find_payment(
        &mut self,
        mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Entry>, StoreError> {
        self.inner
            .ledger()
            .find_payment(mode, payment_intent_id)
            .await
    }

    async fn put(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let before = match self.seen.rows.get(&entry.id) {
            Some(known) => known.clone(),
            None => {
                let rows = self.inner.ledger().of(entry.checkout).await?;
                rows.into_iter().find(|row| row.id == entry.id)
            }
        };
        self.inner.ledger().put(entry).await?;
        let after = entry.clone();
        self.seen.rows.insert(entry.id.clone(), Some(after.clone()));
        self.seen.book(
            entry.checkout,
            Booked {
                before,
                after,
                is_of_deposit: false,
            },
        );
        Ok(())
    }
}
