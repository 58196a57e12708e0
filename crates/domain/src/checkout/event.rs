//! What can happen to a checkout.

use super::{PaymentMethod, Tracking};
use crate::address::Address;
use crate::ids::PickupLocationId;
use crate::names::named_enum;
use crate::text::{EventText, Line, Notes};
use crate::time::{Day, Timestamp};

named_enum! {
    /// Who makes something happen.
    pub enum Actor {
        /// The customer, on the checkout page.
        Customer = "customer",
        /// The organization, through the API or the command line.
        Operator = "operator",
        /// The payment processor, verifier, credit checker, signer or carrier.
        Provider = "provider",
        /// Lessor itself: time, stock.
        System = "system",
    }
}

named_enum! {
    /// The kinds of events, the columns of the transition table.
    pub enum EventKind {
        /// The customer opened the checkout page.
        Opened = "opened",
        /// Name and address are complete.
        ProfileCompleted = "profileCompleted",
        /// The customer asked to be verified.
        IdentityRequested = "identityRequested",
        /// The verifier opened a session.
        IdentityStarted = "identityStarted",
        /// The customer handed in what the verifier asked for.
        IdentitySubmitted = "identitySubmitted",
        /// The session ended without an answer; another can be opened.
        IdentityAbandoned = "identityAbandoned",
        /// The customer is who they say.
        IdentityVerified = "identityVerified",
        /// The verifier refused.
        IdentityRefused = "identityRefused",
        /// The credit check passed.
        Qualified = "qualified",
        /// The credit check failed.
        QualificationRefused = "qualificationRefused",
        /// The customer picks the goods up.
        PickupChosen = "pickupChosen",
        /// The customer has the goods shipped.
        ShippingChosen = "shippingChosen",
        /// The shipping address is known.
        ShippingAddressGiven = "shippingAddressGiven",
        /// The pickup location is known.
        PickupLocationGiven = "pickupLocationGiven",
        /// The customer accepts the lease's terms.
        LeaseAccepted = "leaseAccepted",
        /// The customer submits the deposit.
        DepositSubmitted = "depositSubmitted",
        /// The deposit is authorized, and stock was taken.
        DepositAuthorized = "depositAuthorized",
        /// The deposit is authorized, but no stock is left.
        DepositAuthorizedWithoutStock = "depositAuthorizedWithoutStock",
        /// The authorization was refused.
        DepositRefused = "depositRefused",
        /// The method of the recurring payments is set up.
        PaymentMethodSaved = "paymentMethodSaved",
        /// The customer signed the lease.
        DocumentsSigned = "documentsSigned",
        /// The deposit is captured.
        DepositCaptured = "depositCaptured",
        /// The capture was refused.
        CaptureRefused = "captureRefused",
        /// The capture is to be tried again.
        CaptureRetried = "captureRetried",
        /// The authorization ended before the capture.
        AuthorizationLapsed = "authorizationLapsed",
        /// The organization asks for addendums.
        AddendumsRequested = "addendumsRequested",
        /// The addendums are signed.
        AddendumsSigned = "addendumsSigned",
        /// The organization shipped the goods.
        Fulfilled = "fulfilled",
        /// The order or the shipment failed.
        FulfillmentFailed = "fulfillmentFailed",
        /// The order can be fulfilled after all.
        OrderResumed = "orderResumed",
        /// The shipment moves again.
        ShipmentResumed = "shipmentResumed",
        /// The goods are with the customer.
        Delivered = "delivered",
        /// The recurring subscription runs.
        SubscriptionStarted = "subscriptionStarted",
        /// The organization starts the return.
        ReturnInitiated = "returnInitiated",
        /// The last day of the lease has passed and everything is paid.
        TermEnded = "termEnded",
        /// The return is called off.
        ReturnCancelled = "returnCancelled",
        /// The goods came back.
        ReturnCompleted = "returnCompleted",
        /// Stock or the product became free for one that waits.
        StockFreed = "stockFreed",
        /// The organization now serves the address.
        AreaWidened = "areaWidened",
        /// Somebody called the checkout off.
        Cancelled = "cancelled",
        /// Untouched for too long.
        Expired = "expired",
        /// Back to name and address.
        SteppedBackToProfile = "steppedBackToProfile",
        /// Back to the shipping address.
        SteppedBackToAddress = "steppedBackToAddress",
        /// Back to the pickup location.
        SteppedBackToPickup = "steppedBackToPickup",
        /// Back to the lease's terms.
        SteppedBackToReview = "steppedBackToReview",
    }
}

impl EventKind {
    /// Who can make it happen.
    #[must_use]
    pub const fn actors(self) -> &'static [Actor] {
        use Actor::{Customer, Operator, Provider, System};
        match self {
            Self::Opened
            | Self::ProfileCompleted
            | Self::IdentityRequested
            | Self::PickupChosen
            | Self::ShippingChosen
            | Self::ShippingAddressGiven
            | Self::PickupLocationGiven
            | Self::LeaseAccepted
            | Self::DepositSubmitted => &[Customer],
            // A session is opened by the verifier at the customer's request.
            Self::IdentityStarted
            | Self::IdentitySubmitted
            | Self::IdentityAbandoned
            | Self::IdentityVerified
            | Self::IdentityRefused
            | Self::Qualified
            | Self::QualificationRefused
            | Self::DepositAuthorized
            | Self::DepositAuthorizedWithoutStock
            | Self::DepositRefused
            | Self::DepositCaptured
            | Self::CaptureRefused
            | Self::SubscriptionStarted => &[Provider],
            Self::PaymentMethodSaved | Self::DocumentsSigned => &[Customer, Provider],
            Self::CaptureRetried => &[Customer, System],
            Self::AuthorizationLapsed => &[Provider, System],
            Self::AddendumsRequested
            | Self::Fulfilled
            | Self::ReturnInitiated
            | Self::ReturnCancelled
            | Self::ReturnCompleted => &[Operator],
            Self::AddendumsSigned => &[Customer, Operator, Provider],
            Self::FulfillmentFailed
            | Self::OrderResumed
            | Self::ShipmentResumed
            | Self::Delivered => &[Operator, Provider],
            Self::TermEnded | Self::StockFreed | Self::AreaWidened | Self::Expired => &[System],
            Self::Cancelled => &[Customer, Operator],
            Self::SteppedBackToProfile
            | Self::SteppedBackToAddress
            | Self::SteppedBackToPickup
            | Self::SteppedBackToReview => &[Customer, Operator],
        }
    }

    /// Whether this actor can make it happen.
    #[must_use]
    pub fn is_open_to(self, actor: Actor) -> bool {
        self.actors().contains(&actor)
    }
}

/// A refusal of the payment processor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Refusal {
    /// The processor's code, such as `card_declined`.
    pub code: String,
    /// What it says to people.
    pub message: String,
}

/// Something that happened to a checkout, with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// See [`EventKind::Opened`].
    Opened,
    /// See [`EventKind::ProfileCompleted`].
    ProfileCompleted,
    /// See [`EventKind::IdentityRequested`].
    IdentityRequested,
    /// See [`EventKind::IdentityStarted`].
    IdentityStarted,
    /// See [`EventKind::IdentitySubmitted`].
    IdentitySubmitted,
    /// See [`EventKind::IdentityAbandoned`].
    IdentityAbandoned,
    /// See [`EventKind::IdentityVerified`].
    IdentityVerified,
    /// See [`EventKind::IdentityRefused`].
    IdentityRefused,
    /// See [`EventKind::Qualified`].
    Qualified,
    /// See [`EventKind::QualificationRefused`].
    QualificationRefused,
    /// See [`EventKind::PickupChosen`].
    PickupChosen,
    /// See [`EventKind::ShippingChosen`].
    ShippingChosen,
    /// See [`EventKind::ShippingAddressGiven`].
    ShippingAddressGiven {
        /// Where to ship.
        address: Address,
    },
    /// See [`EventKind::PickupLocationGiven`].
    PickupLocationGiven {
        /// Where to pick up.
        location: PickupLocationId,
    },
    /// See [`EventKind::LeaseAccepted`].
    LeaseAccepted,
    /// See [`EventKind::DepositSubmitted`].
    DepositSubmitted {
        /// The processor's id of the method that pays, when the customer named one.
        method: Option<String>,
    },
    /// See [`EventKind::DepositAuthorized`] and [`EventKind::DepositAuthorizedWithoutStock`].
    DepositAuthorized {
        /// The processor's id of the pre-authorization.
        payment_intent_id: String,
        /// When it ends unless captured.
        expires_at: Timestamp,
        /// The method that paid, when the processor may use it again.
        method: Option<PaymentMethod>,
        /// What became of the stock, which is taken in the same transaction.
        stock: StockTaken,
    },
    /// See [`EventKind::DepositRefused`].
    DepositRefused(Refusal),
    /// See [`EventKind::PaymentMethodSaved`].
    PaymentMethodSaved(PaymentMethod),
    /// See [`EventKind::DocumentsSigned`].
    DocumentsSigned,
    /// See [`EventKind::DepositCaptured`].
    DepositCaptured {
        /// The processor's id of the deposit's invoice or charge.
        invoice_id: String,
        /// When it was captured.
        at: Timestamp,
    },
    /// See [`EventKind::CaptureRefused`].
    CaptureRefused(Refusal),
    /// See [`EventKind::CaptureRetried`].
    CaptureRetried,
    /// See [`EventKind::AuthorizationLapsed`].
    AuthorizationLapsed,
    /// See [`EventKind::AddendumsRequested`].
    AddendumsRequested,
    /// See [`EventKind::AddendumsSigned`].
    AddendumsSigned,
    /// See [`EventKind::Fulfilled`].
    Fulfilled {
        /// The tracking number and carrier, if there are any.
        tracking: Option<Tracking>,
    },
    /// See [`EventKind::FulfillmentFailed`].
    FulfillmentFailed {
        /// Why.
        reason: Option<EventText>,
    },
    /// See [`EventKind::OrderResumed`].
    OrderResumed,
    /// See [`EventKind::ShipmentResumed`].
    ShipmentResumed,
    /// See [`EventKind::Delivered`].
    Delivered {
        /// When.
        at: Timestamp,
        /// Who signed for it.
        signed_by: Option<Line>,
    },
    /// See [`EventKind::SubscriptionStarted`].
    SubscriptionStarted {
        /// The processor's id of the subscription.
        subscription_id: String,
        /// The day on which billing started.
        start: Day,
    },
    /// See [`EventKind::ReturnInitiated`].
    ReturnInitiated {
        /// Why.
        reason: Option<Line>,
        /// What else there is to say.
        notes: Option<Notes>,
    },
    /// See [`EventKind::TermEnded`].
    TermEnded,
    /// See [`EventKind::ReturnCancelled`].
    ReturnCancelled,
    /// See [`EventKind::ReturnCompleted`].
    ReturnCompleted,
    /// See [`EventKind::StockFreed`].
    StockFreed {
        /// Whether a unit of tracked stock was taken for it.
        stock: StockTaken,
    },
    /// See [`EventKind::AreaWidened`].
    AreaWidened,
    /// See [`EventKind::Cancelled`].
    Cancelled {
        /// Why.
        reason: Option<Line>,
    },
    /// See [`EventKind::Expired`].
    Expired,
    /// See [`EventKind::SteppedBackToProfile`].
    SteppedBackToProfile,
    /// See [`EventKind::SteppedBackToAddress`].
    SteppedBackToAddress,
    /// See [`EventKind::SteppedBackToPickup`].
    SteppedBackToPickup,
    /// See [`EventKind::SteppedBackToReview`].
    SteppedBackToReview,
}

named_enum! {
    /// What became of an attempt to take one unit of stock.
    pub enum StockTaken {
        /// A unit was taken; it comes back on cancel and expiry.
        Taken = "taken",
        /// The variant's stock is not tracked.
        Untracked = "untracked",
        /// None was left.
        NoneLeft = "noneLeft",
    }
}

impl Event {
    /// The kind of the event.
    #[must_use]
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::Opened => EventKind::Opened,
            Self::ProfileCompleted => EventKind::ProfileCompleted,
            Self::IdentityRequested => EventKind::IdentityRequested,
            Self::IdentityStarted => EventKind::IdentityStarted,
            Self::IdentitySubmitted => EventKind::IdentitySubmitted,
            Self::IdentityAbandoned => EventKind::IdentityAbandoned,
            Self::IdentityVerified => EventKind::IdentityVerified,
            Self::IdentityRefused => EventKind::IdentityRefused,
            Self::Qualified => EventKind::Qualified,
            Self::QualificationRefused => EventKind::QualificationRefused,
            Self::PickupChosen => EventKind::PickupChosen,
            Self::ShippingChosen => EventKind::ShippingChosen,
            Self::ShippingAddressGiven { .. } => EventKind::ShippingAddressGiven,
            Self::PickupLocationGiven { .. } => EventKind::PickupLocationGiven,
            Self::LeaseAccepted => EventKind::LeaseAccepted,
            Self::DepositSubmitted { .. } => EventKind::DepositSubmitted,
            Self::DepositAuthorized {
                stock: StockTaken::Taken | StockTaken::Untracked,
                ..
            } => EventKind::DepositAuthorized,
            Self::DepositAuthorized {
                stock: StockTaken::NoneLeft,
                ..
            } => EventKind::DepositAuthorizedWithoutStock,
            Self::DepositRefused(_) => EventKind::DepositRefused,
            Self::PaymentMethodSaved(_) => EventKind::PaymentMethodSaved,
            Self::DocumentsSigned => EventKind::DocumentsSigned,
            Self::DepositCaptured { .. } => EventKind::DepositCaptured,
            Self::CaptureRefused(_) => EventKind::CaptureRefused,
            Self::CaptureRetried => EventKind::CaptureRetried,
            Self::AuthorizationLapsed => EventKind::AuthorizationLapsed,
            Self::AddendumsRequested => EventKind::AddendumsRequested,
            Self::AddendumsSigned => EventKind::AddendumsSigned,
            Self::Fulfilled { .. } => EventKind::Fulfilled,
            Self::FulfillmentFailed { .. } => EventKind::FulfillmentFailed,
            Self::OrderResumed => EventKind::OrderResumed,
            Self::ShipmentResumed => EventKind::ShipmentResumed,
            Self::Delivered { .. } => EventKind::Delivered,
            Self::SubscriptionStarted { .. } => EventKind::SubscriptionStarted,
            Self::ReturnInitiated { .. } => EventKind::ReturnInitiated,
            Self::TermEnded => EventKind::TermEnded,
            Self::ReturnCancelled => EventKind::ReturnCancelled,
            Self::ReturnCompleted => EventKind::ReturnCompleted,
            Self::StockFreed { .. } => EventKind::StockFreed,
            Self::AreaWidened => EventKind::AreaWidened,
            Self::Cancelled { .. } => EventKind::Cancelled,
            Self::Expired => EventKind::Expired,
            Self::SteppedBackToProfile => EventKind::SteppedBackToProfile,
            Self::SteppedBackToAddress => EventKind::SteppedBackToAddress,
            Self::SteppedBackToPickup => EventKind::SteppedBackToPickup,
            Self::SteppedBackToReview => EventKind::SteppedBackToReview,
        }
    }
}
