//! The checkout, as callers see it.

use std::collections::BTreeMap;

use lessor_domain::checkout::{Attention, Milestone, PaymentMethod, Progress, PurchaseItem};
use lessor_domain::ids::PickupLocationId;
use lessor_domain::organization::NotServed;
use lessor_domain::services::checkouts::{CheckoutView, Cost};
use serde::Serialize;
use utoipa::ToSchema;

use super::qualify::QualificationRecord;
use crate::idempotency::Viewer;
use crate::routes::variants::PricingEntry;
use crate::wire::records::AddressRecord;
use crate::wire::{
    self, AttentionReason, Carrier, CheckoutId, CheckoutItemId, DateText, DateTimeText,
    Environment, FirstPaymentDue, InsuranceStatus, Lifecycle, MoneyText, OrganizationId, Phase,
    RecurringPaymentStatus, TrackingStatus, UserId, VariantId, WaitlistReason,
};

/// A checkout: a customer's intent to lease one variant for one term.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Checkout)]
#[serde(rename_all = "camelCase")]
pub struct CheckoutRecord {
    /// The checkout, `chk_…`.
    id: CheckoutId,
    /// When it was made.
    created_at: DateTimeText,
    /// When it last changed.
    updated_at: DateTimeText,
    /// Where it stands.
    lifecycle: Lifecycle,
    /// Where it stood before its last move.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_lifecycle: Option<Lifecycle>,
    /// How far it is.
    progress: ProgressRecord,
    /// Live or sandbox.
    environment: Environment,
    /// The lessor.
    organization_id: OrganizationId,
    /// The lessor's financing partner.
    offtake_partner_id: i64,
    /// The lessee; `GET /v1/customers/{id}` has more.
    customer_id: UserId,
    /// The customer's page of this checkout. Whoever has it acts as the customer: keys without
    /// `CheckoutWrite` and `CheckoutCreateWithCustomer` are shown it without its token.
    #[schema(format = "uri")]
    checkout_url: String,
    /// The caller's order id.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_order_id: Option<String>,
    /// What the organization keeps beside it, if anything.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// How many of the variant are leased, 1 to 50.
    quantity: u32,
    /// What is leased, an item for each unit.
    items: Vec<ItemRecord>,
    /// What is bought along, authorized with the deposit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    purchase_items: Vec<PurchaseItemRecord>,
    /// The number of the lease term, once one is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_term_id: Option<i64>,
    /// What the lease costs, all items together, once a term is chosen: frozen when the deposit is submitted, by
    /// today's catalog until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pricing: Option<CheckoutPricing>,
    /// Where bills are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_address: Option<AddressRecord>,
    /// Whether the organization gave the address, so that the customer cannot change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_address_locked: Option<bool>,
    /// Where the goods are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_address: Option<AddressRecord>,
    /// Whether the organization gave the address, so that the customer cannot change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_address_locked: Option<bool>,
    /// Where the goods are picked up, instead of being shipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pickup_location_id: Option<i64>,
    /// Where the customer's browser goes after the confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    success_url: Option<String>,
    /// Where the customer's browser goes after a cancel.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel_url: Option<String>,
    /// Where the customer's browser goes after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_url: Option<String>,
    /// What was decided about the customer's credit, while that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    qualification: Option<QualificationRecord>,
    /// How far the insurance of the goods is.
    insurance_status: InsuranceStatus,
    /// The processor's id of the deposit's pre-authorization.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_deposit_payment_intent_id: Option<String>,
    /// When the pre-authorization ends unless it is captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    deposit_preauth_expires_at: Option<DateTimeText>,
    /// The processor's id of the captured deposit.
    #[serde(skip_serializing_if = "Option::is_none")]
    deposit_invoice_id: Option<String>,
    /// When the deposit was captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    deposit_timestamp: Option<DateTimeText>,
    /// When the customer accepted term and price on the page, last.
    #[serde(skip_serializing_if = "Option::is_none")]
    terms_accepted_at: Option<DateTimeText>,
    /// The version of the text that they accepted then.
    #[serde(skip_serializing_if = "Option::is_none")]
    terms_version: Option<String>,
    /// The document that is to be signed, or was: `doc_` and 22 digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_document_id: Option<String>,
    /// How far the recurring payments are.
    recurring_payment_status: RecurringPaymentStatus,
    /// The processor's id of the subscription.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_subscription_id: Option<String>,
    /// What pays the recurring payments.
    #[serde(skip_serializing_if = "Option::is_none")]
    recurring_payment_method: Option<PaymentMethodRecord>,
    /// The processor's id of what pays the recurring payments.
    #[serde(skip_serializing_if = "Option::is_none")]
    recurring_payment_method_id: Option<String>,
    /// How many recurring payments failed since the last that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_failure_count: Option<u32>,
    /// Why the last payment failed, until one is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_payment_error: Option<String>,
    /// The processor's code of that failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_payment_error_code: Option<String>,
    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_payment_error_at: Option<DateTimeText>,
    /// The carrier's number of the shipment.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracking_number: Option<String>,
    /// Who carries the goods.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracking_carrier: Option<Carrier>,
    /// Where the shipment is.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracking_status: Option<TrackingStatus>,
    /// When the goods were shipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipped_at: Option<DateTimeText>,
    /// When the goods were delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered_at: Option<DateTimeText>,
    /// Who signed for the goods.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
    /// The day on which billing started.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_start_date: Option<DateText>,
    /// The day on which the term ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_end_date: Option<DateText>,
    /// When the return began.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_initiated_at: Option<DateTimeText>,
    /// When the goods were back.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_completed_at: Option<DateTimeText>,
    /// When the return was called off.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_cancelled_at: Option<DateTimeText>,
    /// Why the goods go back.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_reason: Option<String>,
    /// What was noted about the return.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_notes: Option<String>,
    /// What it waits for, while it is on a waitlist.
    #[serde(skip_serializing_if = "Option::is_none")]
    waitlist_reason: Option<WaitlistReason>,
    /// The address that is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    waitlist_location_address: Option<AddressRecord>,
    /// Why it is not served: `country_not_served`, `state_not_served`, `zip_not_served`.
    #[serde(skip_serializing_if = "Option::is_none")]
    waitlist_location_reason_code: Option<&'static str>,
    /// The same, for programs that show messages by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    location_message: Option<&'static str>,
}

/// How far a checkout is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckoutProgress)]
#[serde(rename_all = "camelCase")]
struct ProgressRecord {
    /// Where the checkout stands.
    lifecycle: Lifecycle,
    /// The part of the way that it is on.
    phase: Phase,
    /// The phase for people.
    phase_label: &'static str,
    /// 0 to 100; never falls along the way, 100 from the active lease on.
    #[schema(minimum = 0, maximum = 100)]
    percentage: u8,
    /// How many steps the customer sees in all.
    total_steps: u8,
    /// Whether it waits for stock or service.
    is_waitlisted: bool,
    /// Whether something was refused or went wrong.
    is_failed: bool,
    /// Whether it has ended.
    is_terminal: bool,
    /// Whether a person must act: whether `attention` says anything.
    needs_attention: bool,
    /// Why a person must look at it.
    attention: Vec<AttentionRecord>,
    /// Whether the customer can go a step back.
    can_go_back: bool,
    /// From the confirmed order on.
    #[serde(skip_serializing_if = "Option::is_none")]
    milestones: Option<Vec<MilestoneRecord>>,
}

/// Why a person must look at a checkout, and since when.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Attention)]
#[serde(rename_all = "camelCase")]
struct AttentionRecord {
    /// Why.
    reason: AttentionReason,
    /// Since when.
    since: DateTimeText,
    /// More, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// A milestone and when it was reached.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Milestone)]
#[serde(rename_all = "camelCase")]
struct MilestoneRecord {
    /// Which milestone.
    name: wire::Milestone,
    /// The name for people.
    label: &'static str,
    /// When it was reached, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<DateTimeText>,
}

/// One leased thing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckoutItem)]
#[serde(rename_all = "camelCase")]
struct ItemRecord {
    /// The key of `serialNumbers` in a fulfillment.
    id: CheckoutItemId,
    /// The variant that is leased, `pvar_…`.
    product_variant_id: VariantId,
    /// The variant's sku when it was ordered.
    sku: String,
    /// The variant's name when it was ordered.
    name: String,
    /// The serial number of the goods that were shipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    serial_number: Option<String>,
}

/// Something bought along with the lease.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PurchaseItem)]
#[serde(rename_all = "camelCase")]
struct PurchaseItemRecord {
    /// What it is.
    name: String,
    /// Price of one.
    amount: MoneyText,
    /// How many.
    quantity: u32,
    /// The variant of the add-on, `pvar_…`, where one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    product_variant_id: Option<VariantId>,
}

/// What the lease of a checkout costs, all of its items together, and when it is taken. Each amount is that
/// of one item times the quantity. `totalDueAtSigning` includes the purchase
/// items: it is `authorizedAtSigning` and `firstPayment` together.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CheckoutPricing {
    #[serde(flatten)]
    entry: PricingEntry,
    /// What the purchase items cost together.
    purchase_items: MoneyText,
    /// The deposit and the purchase items: reserved when the deposit is submitted, taken when
    /// the lease is signed.
    authorized_at_signing: MoneyText,
    /// The first month, with its insurance.
    first_payment: MoneyText,
    /// When the first month is taken: of goods that are tracked on delivery, of others on shipment.
    first_payment_due: FirstPaymentDue,
}

/// A payment method at the processor.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PaymentMethod)]
#[serde(rename_all = "camelCase")]
struct PaymentMethodRecord {
    /// The processor's id.
    id: String,
    /// Such as `card`.
    r#type: String,
    /// The card's brand, such as `visa`.
    #[serde(skip_serializing_if = "Option::is_none")]
    brand: Option<String>,
    /// The last four digits of the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    last4: Option<String>,
    /// The month in which the card expires, 1 to 12.
    #[serde(skip_serializing_if = "Option::is_none")]
    exp_month: Option<u8>,
    /// The year in which the card expires, four digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    exp_year: Option<u16>,
}

fn text<T: ToString + ?Sized>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

impl CheckoutRecord {
    /// The record of the checkout, with the address of its page as the viewer is shown it.
    pub(crate) fn new(view: &CheckoutView, viewer: Viewer<'_>) -> Self {
        Self::with_page(view, viewer.checkout_url(&view.checkout))
    }

    /// The record of the checkout, with this address of its page.
    pub(crate) fn with_page(view: &CheckoutView, checkout_url: String) -> Self {
        let CheckoutView {
            checkout,
            organization,
            cost,
            qualification,
        } = view;
        let shipment = &checkout.shipment;
        let failure = checkout.recurring.last_failure.as_ref();
        let waitlist = checkout
            .waitlist
            .as_ref()
            .filter(|_| checkout.lifecycle().is_waitlisted());
        let reason_code = waitlist.and_then(|waitlist| waitlist.reason_code.map(NotServed::as_str));
        let method = checkout.recurring.method.as_ref();
        Self {
            id: checkout.id.into(),
            created_at: checkout.created_at.into(),
            updated_at: checkout.updated_at.into(),
            lifecycle: checkout.lifecycle().into(),
            previous_lifecycle: checkout.previous_lifecycle().map(Into::into),
            progress: checkout.progress().into(),
            environment: checkout.mode.into(),
            organization_id: organization.pub_id.into(),
            offtake_partner_id: organization.oftake_partner_id.get(),
            customer_id: checkout.customer_id.into(),
            checkout_url,
            external_order_id: text(checkout.external_order_id.as_ref()),
            metadata: wire::metadata_record(&checkout.metadata),
            quantity: checkout.quantity().get(),
            items: checkout
                .items
                .iter()
                .map(|item| ItemRecord {
                    id: item.id.into(),
                    product_variant_id: item.variant_id.into(),
                    sku: item.sku.to_string(),
                    name: item.name.to_string(),
                    serial_number: text(item.serial_number.as_ref()),
                })
                .collect(),
            purchase_items: checkout.purchase_items.iter().map(Into::into).collect(),
            lease_term_id: checkout.term.map(|term| term.lease_term_id.get()),
            pricing: cost.as_ref().map(Into::into),
            billing_address: checkout.billing.address.as_ref().map(Into::into),
            billing_address_locked: checkout
                .billing
                .address
                .as_ref()
                .map(|_| checkout.billing.locked),
            shipping_address: checkout.shipping.address.as_ref().map(Into::into),
            shipping_address_locked: checkout
                .shipping
                .address
                .as_ref()
                .map(|_| checkout.shipping.locked),
            pickup_location_id: checkout.pickup_location_id.map(PickupLocationId::get),
            success_url: text(checkout.redirects.success.as_ref()),
            cancel_url: text(checkout.redirects.cancel.as_ref()),
            failure_url: text(checkout.redirects.failure.as_ref()),
            qualification: qualification.as_ref().map(Into::into),
            insurance_status: checkout.insurance.into(),
            processor_deposit_payment_intent_id: text(checkout.deposit.payment_intent_id()),
            deposit_preauth_expires_at: checkout.deposit.hold().map(|hold| hold.expires_at.into()),
            deposit_invoice_id: text(checkout.deposit.invoice_id()),
            deposit_timestamp: checkout.deposit.captured_at().map(Into::into),
            terms_accepted_at: checkout.accepted.as_ref().map(|word| word.at.into()),
            terms_version: checkout.accepted.as_ref().map(|word| word.version.clone()),
            lease_document_id: checkout.lease_document_id.clone(),
            recurring_payment_status: checkout.recurring.billing.status().into(),
            processor_subscription_id: text(checkout.recurring.billing.subscription_id()),
            recurring_payment_method: method.map(Into::into),
            recurring_payment_method_id: method.map(|method| method.id.clone()),
            payment_failure_count: Some(checkout.recurring.failure_count)
                .filter(|failures| *failures > 0),
            last_payment_error: failure.map(|failure| failure.message.clone()),
            last_payment_error_code: failure.map(|failure| failure.code.clone()),
            last_payment_error_at: failure.map(|failure| failure.at.into()),
            tracking_number: shipment
                .tracking
                .as_ref()
                .map(|tracking| tracking.number.to_string()),
            tracking_carrier: shipment
                .tracking
                .as_ref()
                .map(|tracking| tracking.carrier.into()),
            tracking_status: shipment.status.map(Into::into),
            shipped_at: shipment.shipped_at.map(Into::into),
            delivered_at: shipment.delivered_at.map(Into::into),
            signed_by: text(shipment.signed_by.as_ref()),
            lease_start_date: checkout.lease.start.map(Into::into),
            lease_end_date: checkout.lease.end.map(Into::into),
            return_initiated_at: checkout.return_.initiated_at.map(Into::into),
            return_completed_at: checkout.return_.completed_at.map(Into::into),
            return_cancelled_at: checkout.return_.cancelled_at.map(Into::into),
            return_reason: text(checkout.return_.reason.as_ref()),
            return_notes: text(checkout.return_.notes.as_ref()),
            waitlist_reason: waitlist.map(|waitlist| waitlist.reason.into()),
            waitlist_location_address: waitlist
                .and_then(|waitlist| waitlist.address.as_ref())
                .map(Into::into),
            waitlist_location_reason_code: reason_code,
            location_message: reason_code,
        }
    }
}

impl From<&Cost> for CheckoutPricing {
    fn from(cost: &Cost) -> Self {
        let due = &cost.due;
        Self {
            entry: PricingEntry {
                total_due_at_signing: due.due_at_signing.into(),
                ..(&cost.price).into()
            },
            purchase_items: due.purchases.into(),
            authorized_at_signing: due.authorized_at_signing.into(),
            first_payment: due.first_payment.into(),
            first_payment_due: due.first_payment_due.into(),
        }
    }
}

impl From<Progress> for ProgressRecord {
    fn from(progress: Progress) -> Self {
        Self {
            lifecycle: progress.lifecycle.into(),
            phase: progress.phase.into(),
            phase_label: progress.phase.label(),
            percentage: progress.percentage,
            total_steps: progress.total_steps,
            is_waitlisted: progress.is_waitlisted,
            is_failed: progress.is_failed,
            is_terminal: progress.is_terminal,
            needs_attention: progress.needs_attention(),
            attention: progress.attention.into_iter().map(Into::into).collect(),
            can_go_back: progress.can_go_back,
            milestones: progress
                .milestones
                .map(|milestones| milestones.into_iter().map(Into::into).collect()),
        }
    }
}

impl From<Attention> for AttentionRecord {
    fn from(attention: Attention) -> Self {
        Self {
            reason: attention.reason.into(),
            since: attention.since.into(),
            detail: attention.detail,
        }
    }
}

impl From<Milestone> for MilestoneRecord {
    fn from(milestone: Milestone) -> Self {
        Self {
            name: milestone.name.into(),
            label: milestone.name.label(),
            completed_at: milestone.completed_at.map(Into::into),
        }
    }
}

impl From<&PurchaseItem> for PurchaseItemRecord {
    fn from(item: &PurchaseItem) -> Self {
        Self {
            name: item.name.to_string(),
            amount: item.amount.into(),
            quantity: item.quantity,
            product_variant_id: item.variant_id.map(Into::into),
        }
    }
}

impl From<&PaymentMethod> for PaymentMethodRecord {
    fn from(method: &PaymentMethod) -> Self {
        Self {
            id: method.id.clone(),
            r#type: method.kind.clone(),
            brand: method.brand.clone(),
            last4: method.last4.clone(),
            exp_month: method.exp_month,
            exp_year: method.exp_year,
        }
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::checkout::AttentionReason;

    /// Whoever meets a reason finds what to do about it.
    #[test]
    fn the_operations_guide_has_a_line_for_each_reason() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/OPERATIONS.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        for reason in AttentionReason::ALL {
            let line = format!("\n| `{reason}` | ");
            assert!(guide.contains(&line), "{reason} has no line");
        }
    }
}
