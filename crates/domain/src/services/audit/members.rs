//! Records as the audit tells of them: their members by the names that callers know, as text.
//!
//! What follows from other members, and when a record was made and last changed, is left out: an event
//! has a time of its own, and what changes nothing else is no change. Secrets are never in it: neither
//! the hash of a key nor what the address of a checkout's page is derived from.

use chrono::SecondsFormat;

use super::Entry;
use crate::access::{Mode, Permission};
use crate::address::Address;
use crate::agreement::Signer;
use crate::audit::{AuditAction, AuditArea, AuditChange, AuditMembers, AuditSubject};
use crate::catalog::{Category, OptionDefinition, OptionSelection, Product, ProductVariant};
use crate::checkout::{Checkout, PurchaseItem};
use crate::credit::CreditPolicy;
use crate::customer::Customer;
use crate::ids::CustomerPubId;
use crate::lease_term::LeaseTerm;
use crate::metadata::Metadata;
use crate::organization::{Organization, PickupLocation};
use crate::ports::KeyHolder;
use crate::pricing::Rate;
use crate::processor_account::{AccountRecord, ProcessorAccount};
use crate::services::lease_terms::Method;
use crate::shipments::CarrierReport;
use crate::text::{Name, Url};
use crate::time::Timestamp;
use crate::webhooks::WebhookEndpoint;

/// A record whose changes the audit tells of.
pub(crate) trait Audited {
    /// Which part of the organization it is.
    fn area(&self) -> AuditArea;
    /// Its id.
    fn subject(&self) -> AuditSubject;
    /// Whose person it tells of, if anybody's.
    fn customer(&self) -> Option<CustomerPubId> {
        None
    }
    /// What callers are shown of it.
    fn members(&self) -> AuditMembers;
}

impl Entry {
    fn of(action: AuditAction, record: &impl Audited, change: AuditChange) -> Self {
        Self {
            area: record.area(),
            action,
            subject: record.subject(),
            change,
            customer: record.customer(),
        }
    }

    /// The record is new.
    pub(crate) fn created(action: AuditAction, record: &impl Audited) -> Self {
        Self::of(action, record, AuditChange::created(record.members()))
    }

    /// The record is gone.
    pub(crate) fn deleted(action: AuditAction, record: &impl Audited) -> Self {
        Self::of(action, record, AuditChange::deleted(record.members()))
    }

    /// The record is another than before.
    pub(crate) fn changed<R: Audited>(action: AuditAction, before: &R, after: &R) -> Self {
        let change = AuditChange::between(before.members(), after.members());
        Self::of(action, after, change)
    }

    /// Something was done with the record, which is as it was.
    pub(crate) fn done(action: AuditAction, record: &impl Audited) -> Self {
        Self::of(action, record, AuditChange::NONE)
    }

    /// The variant is new: what is free to promise of it is the same in both modes.
    pub(crate) fn variant_created(variant: &ProductVariant) -> Self {
        let mut made = Self::created(AuditAction::VariantCreated, variant);
        let quantity = variant.stock.live.quantity();
        made.change.after.set_if(QUANTITY, quantity);
        made
    }

    /// The variant's stock of the mode was set. A mode's stock is its own affair: it is no member of the
    /// variant, which both modes may look at.
    pub(crate) fn stock_set(mode: Mode, before: &ProductVariant, after: &ProductVariant) -> Self {
        let members = |variant: &ProductVariant| {
            let mut members = AuditMembers::new();
            members.set_if(QUANTITY, variant.stock.of(mode).quantity());
            members
        };
        Self {
            area: mode.into(),
            ..Self::of(
                AuditAction::VariantStockSet,
                after,
                AuditChange::between(members(before), members(after)),
            )
        }
    }

    /// The organization was given an account of its own at the payment processor, or its account another
    /// key. Of the key only what is shown of it anywhere is told.
    pub(crate) fn account_set(
        organization: &Organization,
        account: &ProcessorAccount,
        moved: bool,
    ) -> Self {
        let mut members = AuditMembers::new();
        members
            .set("mode", account.mode)
            .set("keyHint", account.key_hint())
            .set("webhookSecrets", account.webhook_secrets.len())
            .set("newAccount", moved);
        let change = AuditChange::created(members);
        Self::of(AuditAction::ProcessorAccountSet, organization, change)
    }

    /// The organization's own account at the payment processor is not worked with any more.
    pub(crate) fn account_removed(organization: &Organization, account: &AccountRecord) -> Self {
        let mut members = AuditMembers::new();
        members
            .set("mode", account.mode)
            .set("keyHint", &account.key_hint);
        let change = AuditChange::deleted(members);
        Self::of(AuditAction::ProcessorAccountRemoved, organization, change)
    }

    /// How the organization decides about credit in the mode was set. The endpoint's secret is no member:
    /// that it was set is told, also where nothing else differs.
    pub(crate) fn credit_set(
        organization: &Organization,
        mode: Mode,
        before: &CreditPolicy,
        after: &CreditPolicy,
    ) -> Self {
        let change = AuditChange::between(credit(before), credit(after));
        Self {
            area: mode.into(),
            ..Self::of(AuditAction::OrganizationCreditSet, organization, change)
        }
    }

    /// Where the organization has its agreements signed in the mode was set. The endpoint's secret is no
    /// member: that it was set is told, also where nothing else differs.
    pub(crate) fn signer_set(
        organization: &Organization,
        mode: Mode,
        before: &Signer,
        after: &Signer,
    ) -> Self {
        let change = AuditChange::between(signer(before), signer(after));
        Self {
            area: mode.into(),
            ..Self::of(AuditAction::OrganizationSignerSet, organization, change)
        }
    }

    /// Something was found out about the customer.
    pub(crate) fn screened(before: &Customer, after: &Customer) -> Self {
        let change = AuditChange::between(findings(before), findings(after));
        Self::of(AuditAction::CustomerScreened, after, change)
    }

    /// The carrier of the checkout's goods was played.
    pub(crate) fn tracking_played(checkout: &Checkout, reported: &CarrierReport) -> Self {
        let mut members = AuditMembers::new();
        members
            .set("timestamp", time(reported.at))
            .set("status", reported.status)
            .set_if("description", reported.description.as_ref())
            .set_if("location", reported.location.as_ref())
            .set_if("signedBy", reported.signed_by.as_ref());
        let change = AuditChange::created(members);
        Self::of(AuditAction::CheckoutTrackingPlayed, checkout, change)
    }
}

/// The member of a variant's stock.
const QUANTITY: &str = "inventoryQuantity";

/// The instant as answers have it.
pub(crate) fn time(at: Timestamp) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn joined<T: ToString>(parts: impl IntoIterator<Item = T>, separator: &str) -> String {
    let parts: Vec<String> = parts.into_iter().map(|part| part.to_string()).collect();
    parts.join(separator)
}

/// Sets a list, unless it is empty.
fn set_list(members: &mut AuditMembers, name: &str, list: String) {
    members.set_if(name, Some(list).filter(|list| !list.is_empty()));
}

/// Sets each key as a member of its own, so that a change tells of those alone that differ.
fn set_metadata(members: &mut AuditMembers, metadata: &Metadata) {
    for (key, value) in metadata.entries() {
        members.set(&format!("metadata.{key}"), value);
    }
}

/// Sets each line as a member of its own.
fn set_address(members: &mut AuditMembers, name: &str, address: Option<&Address>) {
    let Some(address) = address else { return };
    let Address {
        first_name,
        last_name,
        company,
        address1,
        address2,
        city,
        state,
        zip,
        country,
        phone,
    } = address;
    let at = |member: &str| format!("{name}.{member}");
    members
        .set_if(&at("firstName"), first_name.as_ref())
        .set_if(&at("lastName"), last_name.as_ref())
        .set_if(&at("company"), company.as_ref())
        .set(&at("address1"), address1)
        .set_if(&at("address2"), address2.as_ref())
        .set(&at("city"), city)
        .set_if(&at("state"), state.as_ref())
        .set(&at("zip"), zip)
        .set(&at("country"), country)
        .set_if(&at("phone"), phone.as_ref());
}

/// How an organization decides about credit.
fn credit(policy: &CreditPolicy) -> AuditMembers {
    let mut members = AuditMembers::new();
    members.set("credit", policy.kind());
    match policy {
        CreditPolicy::Manual | CreditPolicy::None | CreditPolicy::Simulated => {}
        CreditPolicy::Http(endpoint) => {
            members.set("creditUrl", &endpoint.url);
        }
        CreditPolicy::Rules(rules) => {
            members
                .set_if("creditRules.maxMonthlyPayment", rules.max_monthly_payment)
                .set_if("creditRules.maxOpenLeases", rules.max_open_leases)
                .set_if("creditRules.maxTotalExposure", rules.max_total_exposure);
            let countries = joined(&rules.countries, ",");
            set_list(&mut members, "creditRules.countries", countries);
        }
    }
    members
}

/// Where an organization has its agreements signed.
fn signer(signer: &Signer) -> AuditMembers {
    let mut members = AuditMembers::new();
    members.set("signer", signer.kind());
    if let Signer::Http(endpoint) = signer {
        members.set("signerUrl", &endpoint.url);
    }
    members
}

/// What screening found of the customer.
fn findings(customer: &Customer) -> AuditMembers {
    let screening = &customer.screening;
    let mut members = AuditMembers::new();
    members
        .set("identityVerificationStatus", screening.identity)
        .set("creditStatus", screening.credit)
        .set_if("creditTimestamp", screening.credit_at.map(time));
    members
}

impl Audited for KeyHolder {
    fn area(&self) -> AuditArea {
        self.key.mode.into()
    }

    fn subject(&self) -> AuditSubject {
        self.key.id.into()
    }

    fn members(&self) -> AuditMembers {
        let key = &self.key;
        let mut members = AuditMembers::new();
        members
            .set("userPublicId", self.user_pub_id)
            .set("kind", key.kind)
            .set("mode", key.mode)
            .set_if("name", key.name.as_ref())
            .set("hint", &key.hint)
            .set_if("expiresAt", key.expires_at.map(time))
            .set_if("revokedAt", key.revoked_at.map(time));
        let permissions = key.permissions.iter().map(Permission::as_str);
        set_list(&mut members, "permissions", joined(permissions, ","));
        members
    }
}

/// Its secrets are no members: that they are others is told by the action.
impl Audited for WebhookEndpoint {
    fn area(&self) -> AuditArea {
        self.mode.into()
    }

    fn subject(&self) -> AuditSubject {
        self.id.into()
    }

    fn members(&self) -> AuditMembers {
        let mut members = AuditMembers::new();
        members
            .set("url", &self.url)
            .set("types", joined(&self.types, ","))
            .set("status", self.status)
            .set_if("description", self.description.as_ref())
            .set_if("disabledReason", self.disabled_reason);
        if let Some(former) = &self.former_secret {
            members.set("oldSecretUntil", time(former.until));
        }
        members
    }
}

impl Audited for Organization {
    fn area(&self) -> AuditArea {
        AuditArea::Organization
    }

    fn subject(&self) -> AuditSubject {
        self.pub_id.into()
    }

    fn members(&self) -> AuditMembers {
        let mut members = AuditMembers::new();
        members
            .set("name", &self.name)
            .set("currency", self.currency)
            .set("discountPercentage", self.discount)
            .set("serviceArea", &self.service_area)
            .set("requiresProductReview", self.requires_product_review)
            .set("offtakePartnerId", self.oftake_partner_id)
            .set("sandboxWritesCatalog", self.lets_sandbox_write_catalog())
            .set_if("firstLiveKeyAt", self.first_live_key_at.map(time));
        let setting = match self.sandbox_writes_catalog {
            Some(true) => "on",
            Some(false) => "off",
            None => "default",
        };
        let face = &self.face;
        members
            .set("sandboxWritesCatalogSetting", setting)
            .set_if("displayName", face.display_name.as_ref())
            .set_if("logoUrl", face.logo_url.as_ref())
            .set_if("accentColor", face.accent_color)
            .set_if("supportEmail", face.support_email.as_ref())
            .set_if("supportPhone", face.support_phone.as_ref())
            .set_if("termsUrl", face.terms_url.as_ref())
            .set_if("privacyUrl", face.privacy_url.as_ref())
            .set_if("notifyEmail", face.notify_email.as_ref());
        members
    }
}

impl Audited for PickupLocation {
    fn area(&self) -> AuditArea {
        AuditArea::Organization
    }

    fn subject(&self) -> AuditSubject {
        self.id.into()
    }

    fn members(&self) -> AuditMembers {
        let mut members = AuditMembers::new();
        members.set("name", &self.name).set("active", self.active);
        set_address(&mut members, "address", Some(&self.address));
        members
    }
}

impl Audited for Category {
    fn area(&self) -> AuditArea {
        AuditArea::Catalog
    }

    fn subject(&self) -> AuditSubject {
        self.id.into()
    }

    fn members(&self) -> AuditMembers {
        let mut members = AuditMembers::new();
        members
            .set("name", &self.name)
            .set("productCategoryId", self.category_id);
        members
    }
}

/// Options, such as `Size: S, M; Color: Red`, in the order in which they stand.
fn definitions(options: &[OptionDefinition]) -> String {
    let mut options: Vec<&OptionDefinition> = options.iter().collect();
    options.sort_by_key(|option| option.position);
    let text = |option: &OptionDefinition| {
        let values = joined(option.values.iter().map(Name::as_str), ", ");
        format!("{}: {values}", option.name)
    };
    joined(options.into_iter().map(text), "; ")
}

impl Audited for Product {
    fn area(&self) -> AuditArea {
        AuditArea::Catalog
    }

    fn subject(&self) -> AuditSubject {
        self.id.into()
    }

    fn members(&self) -> AuditMembers {
        let review = &self.review;
        let mut members = AuditMembers::new();
        members
            .set("name", &self.name)
            .set("description", &self.description)
            .set("price", self.price)
            .set_if("discountPercentage", self.discount)
            .set("productSource", self.source)
            .set("productType", self.product_type)
            .set("reviewStatus", review.status)
            .set_if("reviewNotes", review.notes.as_ref())
            .set_if("reviewedAt", review.reviewed_at.map(time))
            .set_if("reviewedBy", review.reviewed_by)
            .set("status", self.status)
            .set("isWaitlisted", self.is_waitlisted)
            .set("ignoreUpstreamUpdates", self.ignore_upstream_updates)
            .set_if("externalId", self.external_id.as_ref())
            .set_if("sku", self.sku.as_ref())
            .set_if("mainProductImage", self.main_image.as_ref())
            .set_if("productCategoryId", self.category_id);
        set_list(&mut members, "options", definitions(&self.options));
        set_metadata(&mut members, &self.metadata);
        members
    }
}

impl Audited for ProductVariant {
    fn area(&self) -> AuditArea {
        AuditArea::Catalog
    }

    fn subject(&self) -> AuditSubject {
        self.id.into()
    }

    fn members(&self) -> AuditMembers {
        let mut members = AuditMembers::new();
        members
            .set("productId", self.product_id)
            .set("name", &self.name)
            .set("description", &self.description)
            .set("price", self.price)
            .set_if("discountPercentage", self.discount)
            .set("sku", &self.sku)
            .set_if("externalId", self.external_id.as_ref())
            .set("status", self.status)
            .set("isWaitlisted", self.is_waitlisted)
            .set_if("productYear", self.product_year);
        let chosen = |chosen: &OptionSelection| format!("{}: {}", chosen.name, chosen.value);
        let options = joined(self.options.iter().map(chosen), "; ");
        set_list(&mut members, "options", options);
        // An address has no spaces.
        let images = joined(self.images.iter().map(Url::as_str), " ");
        set_list(&mut members, "productImages", images);
        set_metadata(&mut members, &self.metadata);
        members
    }
}

impl Audited for LeaseTerm {
    fn area(&self) -> AuditArea {
        AuditArea::Catalog
    }

    fn subject(&self) -> AuditSubject {
        self.id.into()
    }

    fn members(&self) -> AuditMembers {
        let card = &self.card;
        let mut members = AuditMembers::new();
        members
            .set("leaseTermId", self.lease_term_id)
            .set("termInMonths", card.term)
            .set("residualPercentage", card.residual)
            .set("depositPercentage", card.deposit)
            .set("insurancePercentage", card.insurance)
            .set("status", self.status)
            .set_if("productId", self.product_id);
        match card.rate {
            Rate::MoneyFactor(factor) => members
                .set("method", Method::MoneyFactor)
                .set("moneyFactor", factor),
            Rate::AnnualRate(rate) => members
                .set("method", Method::AnnualRate)
                .set("annualRate", rate),
        };
        members
    }
}

impl Audited for Customer {
    fn area(&self) -> AuditArea {
        self.mode.into()
    }

    fn subject(&self) -> AuditSubject {
        self.id.into()
    }

    fn customer(&self) -> Option<CustomerPubId> {
        Some(self.id)
    }

    fn members(&self) -> AuditMembers {
        let profile = &self.profile;
        let mut members = AuditMembers::new();
        members
            .set("email", &self.email)
            .set_if("firstName", profile.first_name.as_ref())
            .set_if("lastName", profile.last_name.as_ref())
            .set_if("address1", profile.address1.as_ref())
            .set_if("address2", profile.address2.as_ref())
            .set_if("city", profile.city.as_ref())
            .set_if("state", profile.state.as_ref())
            .set_if("zip", profile.zip.as_ref())
            .set_if("country", profile.country)
            .set_if("phone", profile.phone.as_ref())
            .set_if("birthDate", profile.birth_date);
        set_metadata(&mut members, &self.metadata);
        members
    }
}

/// Something that is bought along, such as `2 x Helmet at 49.00`.
fn purchase(item: &PurchaseItem) -> String {
    format!("{} x {} at {}", item.quantity, item.name, item.amount)
}

impl Audited for Checkout {
    fn area(&self) -> AuditArea {
        self.mode.into()
    }

    fn subject(&self) -> AuditSubject {
        self.id.into()
    }

    fn customer(&self) -> Option<CustomerPubId> {
        Some(self.customer_id)
    }

    /// What callers give and set. Where it stands and what providers made of it is in its history.
    fn members(&self) -> AuditMembers {
        let redirects = &self.redirects;
        let tracking = self.shipment.tracking.as_ref();
        let method = self.recurring.method.as_ref();
        let mut members = AuditMembers::new();
        members
            .set("customerId", self.customer_id)
            .set("productVariantId", self.variant_id)
            .set("quantity", self.quantity())
            .set_if("leaseTermId", self.term.map(|term| term.lease_term_id))
            .set_if("externalOrderId", self.external_order_id.as_ref())
            .set_if("successUrl", redirects.success.as_ref())
            .set_if("cancelUrl", redirects.cancel.as_ref())
            .set_if("failureUrl", redirects.failure.as_ref())
            .set("insuranceStatus", self.insurance)
            .set_if(
                "recurringPaymentMethodId",
                method.map(|method| method.id.as_str()),
            )
            .set_if("trackingNumber", tracking.map(|known| &known.number))
            .set_if("trackingCarrier", tracking.map(|known| known.carrier));
        let purchases = joined(self.purchase_items.iter().map(purchase), "; ");
        set_list(&mut members, "purchaseItems", purchases);
        set_address(
            &mut members,
            "billingAddress",
            self.billing.address.as_ref(),
        );
        set_address(
            &mut members,
            "shippingAddress",
            self.shipping.address.as_ref(),
        );
        set_metadata(&mut members, &self.metadata);
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::KeyHash;
    use crate::testing::Fixtures;

    /// What is kept of a secret is not told, in whatever form.
    #[test]
    fn no_secret_is_told() {
        let make = Fixtures::default();
        let organization = make.organization().build();
        let user = make.customer(&organization).build();
        let mut key = make.api_key(&user).build();
        key.hash = KeyHash([0xab; 32]);
        let holder = KeyHolder {
            key,
            organization_pub_id: organization.pub_id,
            user_pub_id: user.id,
            sandbox_writes_catalog: true,
        };
        let product = make.product(&organization).build();
        let variant = make.variant(&product).build();
        let checkout = make
            .checkout(&user, &variant)
            .with(|it| it.page_nonce = [0xab; 16])
            .build();
        for told in [holder.members(), checkout.members()] {
            let text = format!("{told:?}").to_lowercase();
            for secret in ["abab", "171, 171", "q6ur"] {
                assert!(!text.contains(secret), "{text}");
            }
        }
    }

    #[test]
    fn lists_are_told_in_a_line() {
        let name = |text: &str| Name::parse(text).unwrap();
        let option = |label: &str, position, values: &[&str]| OptionDefinition {
            id: label.to_lowercase(),
            name: name(label),
            position,
            values: values.iter().map(|value| name(value)).collect(),
        };
        let options = [option("Color", 1, &["Red"]), option("Size", 0, &["S", "M"])];
        assert_eq!(definitions(&options), "Size: S, M; Color: Red");
        assert_eq!(definitions(&[]), "");
    }
}
