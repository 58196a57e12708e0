//! What can happen to a checkout.
//!
//! An event is told here once, with its name, what it says, and the function of its stage that
//! takes it in. What becomes of the checkout's state, and who may tell of it, the stage says.

use std::collections::BTreeMap;

use super::parts::{Hold, PaymentMethod, Refusal, Tracking};
use crate::address::Address;
use crate::catalog::StockTaken;
use crate::ids::{CheckoutItemPubId, PickupLocationId};
use crate::names::named_enum;
use crate::organization::NotServed;
use crate::pricing::Quote;
use crate::text::{EventText, Line, Notes};
use crate::time::{Day, Timestamp};

named_enum! {
    /// Who makes something happen.
    pub enum Actor {
        /// The customer, on the checkout page.
        Customer = "customer",
        /// The organization, through the API or the command line.
        Operator = "operator",
        /// The payment processor, verifier, credit checker or carrier.
        Provider = "provider",
        /// Lessor itself: time, stock, what is known already.
        System = "system",
    }
}

/// Every event: its name, what it says, and the function of its stage that takes it in. Hands them
/// all to the macro that is named.
macro_rules! events {
    ($declare:ident) => {
        $declare! {
            /// The customer began on the checkout page: looking at it changes nothing.
            Opened = "opened" => moves_only;
            /// Name and address are complete.
            ProfileCompleted = "profileCompleted" => moves_only;
            /// Name and address are complete, and the organization does not serve the address.
            AddressNotServed {
                /// The address, when all of it is known.
                address: Option<Address>,
                /// Why it is not served.
                code: NotServed,
            } = "addressNotServed" => opening::address_not_served;
            /// The customer asked to be verified.
            IdentityRequested = "identityRequested" => identity::requested;
            /// The verifier opened a session.
            IdentityStarted = "identityStarted" => identity::started;
            /// The customer handed in what the verifier asked for.
            IdentitySubmitted = "identitySubmitted" => identity::submitted;
            /// The session ended without an answer; another can be opened.
            IdentityAbandoned = "identityAbandoned" => identity::abandoned;
            /// The customer is who they say.
            IdentityVerified = "identityVerified" => identity::verified;
            /// The verifier refused.
            IdentityRefused = "identityRefused" => ending::refused;
            /// The customer is another person than before: name or birth date changed.
            PersonChanged = "personChanged" => identity::person_changed;
            /// What was decided about credit holds no more: the customer lives elsewhere, or the lease comes to
            /// more.
            CreditReopened = "creditReopened" => qualification::reopened;
            /// The credit check passed.
            Qualified = "qualified" => moves_only;
            /// The credit check failed.
            QualificationRefused = "qualificationRefused" => ending::refused;
            /// The customer picks the goods up.
            PickupChosen = "pickupChosen" => moves_only;
            /// The customer has the goods shipped.
            ShippingChosen = "shippingChosen" => opening::shipping_chosen;
            /// The shipping address is known.
            ShippingAddressGiven {
                /// Where to ship.
                address: Address,
            } = "shippingAddressGiven" => opening::shipping_address_given;
            /// The pickup location is known.
            PickupLocationGiven {
                /// Where to pick up.
                location: PickupLocationId,
            } = "pickupLocationGiven" => opening::pickup_location_given;
            /// The customer accepts the lease's terms.
            LeaseAccepted = "leaseAccepted" => opening::lease_accepted;
            /// The customer submits the deposit: the price is frozen with it.
            DepositSubmitted {
                /// What the lease costs from now on: what is authorized is what was shown.
                quote: Quote,
                /// The processor's id of the method that pays, when the customer named one.
                method: Option<String>,
                /// Whether the customer pays on the processor's own page: nobody authorizes it for
                /// them.
                hosted: bool,
            } = "depositSubmitted" => deposit::submitted;
            /// The customer left the processor's page without paying, or came too late for it.
            DepositAbandoned = "depositAbandoned" => deposit::abandoned;
            /// The deposit is authorized, and stock was taken.
            DepositAuthorized {
                /// What is held on the customer's method; none when nothing is due.
                hold: Option<Hold>,
                /// The method that paid, when the processor may use it again.
                method: Option<PaymentMethod>,
                /// What became of the stock, which is taken in the same transaction.
                stock: StockTaken,
            } = "depositAuthorized" => deposit::authorized;
            /// The deposit is authorized, but no stock is left.
            DepositAuthorizedWithoutStock {
                /// What is held on the customer's method; none when nothing is due.
                hold: Option<Hold>,
                /// The method that paid, when the processor may use it again.
                method: Option<PaymentMethod>,
            } = "depositAuthorizedWithoutStock" => deposit::authorized_without_stock;
            /// The deposit is held since before the checkout went back to a check.
            DepositResumed = "depositResumed" => deposit::resumed;
            /// The authorization was refused.
            DepositRefused {
                /// Why.
                refusal: Refusal,
            } = "depositRefused" => deposit::refused;
            /// The method of the recurring payments is set up.
            PaymentMethodSaved {
                /// What is to pay every month.
                method: PaymentMethod,
            } = "paymentMethodSaved" => billing::method_saved;
            /// The customer signed the lease.
            DocumentsSigned = "documentsSigned" => signature::signed;
            /// The deposit is captured.
            DepositCaptured {
                /// The processor's id of the deposit's invoice or charge; none when nothing was due.
                invoice_id: Option<String>,
                /// When it was captured.
                at: Timestamp,
            } = "depositCaptured" => deposit::captured;
            /// The capture was refused.
            CaptureRefused {
                /// Why.
                refusal: Refusal,
            } = "captureRefused" => deposit::capture_refused;
            /// The capture is to be tried again.
            CaptureRetried = "captureRetried" => deposit::capture_retried;
            /// The authorization ended before the capture.
            AuthorizationLapsed = "authorizationLapsed" => deposit::lapsed;
            /// The organization asks for addendums.
            AddendumsRequested = "addendumsRequested" => moves_only;
            /// The addendums are signed.
            AddendumsSigned = "addendumsSigned" => moves_only;
            /// The organization shipped the goods.
            Fulfilled {
                /// The tracking number and carrier, if there are any; without them billing starts at once.
                tracking: Option<Tracking>,
                /// Serial numbers of the shipped goods by checkout item.
                serial_numbers: BTreeMap<CheckoutItemPubId, Line>,
            } = "fulfilled" => shipment::fulfilled;
            /// The order or the shipment failed.
            FulfillmentFailed {
                /// Why.
                reason: Option<EventText>,
            } = "fulfillmentFailed" => shipment::failed;
            /// The order can be fulfilled after all.
            OrderResumed = "orderResumed" => shipment::order_resumed;
            /// The shipment moves again.
            ShipmentResumed = "shipmentResumed" => shipment::shipment_resumed;
            /// The goods are with the customer.
            Delivered {
                /// When.
                at: Timestamp,
                /// Who signed for it.
                signed_by: Option<Line>,
            } = "delivered" => shipment::delivered;
            /// The recurring subscription runs.
            SubscriptionStarted {
                /// The processor's id of the subscription.
                subscription_id: String,
                /// The day on which billing started.
                start: Day,
            } = "subscriptionStarted" => billing::started;
            /// The organization starts the return.
            ReturnInitiated {
                /// Why.
                reason: Option<Line>,
                /// What else there is to say.
                notes: Option<Notes>,
            } = "returnInitiated" => return_::initiated;
            /// The last day of the lease has passed and everything is paid.
            TermEnded = "termEnded" => moves_only;
            /// The return is called off.
            ReturnCancelled = "returnCancelled" => return_::cancelled;
            /// The goods came back.
            ReturnCompleted = "returnCompleted" => return_::completed;
            /// Stock or the product became free for one that waits.
            StockFreed {
                /// What became of the stock, which is taken in the same transaction for those that have
                /// a deposit.
                stock: StockTaken,
            } = "stockFreed" => waitlist::stock_freed;
            /// The organization now serves the address.
            AreaWidened = "areaWidened" => waitlist::turn_begins;
            /// Somebody called the checkout off.
            Cancelled {
                /// Why.
                reason: Option<Line>,
            } = "cancelled" => ending::cancelled;
            /// Untouched for too long.
            Expired = "expired" => ending::expired;
            /// Back to name and address.
            SteppedBackToProfile = "steppedBackToProfile" => moves_only;
            /// Back to the shipping address.
            SteppedBackToAddress = "steppedBackToAddress" => opening::back_to_address;
            /// Back to the pickup location.
            SteppedBackToPickup = "steppedBackToPickup" => opening::back_to_pickup;
            /// Back to the lease's terms.
            SteppedBackToReview = "steppedBackToReview" => moves_only;
        }
    };
}
pub(super) use events;

/// Declares [`EventKind`] and [`Event`].
macro_rules! declare {
    (@plain $event:ident) => { Some(Event::$event) };
    (@plain $event:ident { $($field:ident)* }) => { None };
    ($(
        $(#[$doc:meta])*
        $event:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })? = $name:literal => $takes_in:path;
    )*) => {
        named_enum! {
            /// The kinds of events, the columns of the transition table.
            pub enum EventKind {
                $($(#[$doc])* $event = $name,)*
            }
        }

        /// Something that happened to a checkout, with what is known of it.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "camelCase", rename_all_fields = "camelCase"))]
        pub enum Event {
            $($(#[$doc])* $event $({ $($(#[$field_doc])* $field: $type,)* })?,)*
        }

        impl Event {
            /// The kind of the event.
            #[must_use]
            pub const fn kind(&self) -> EventKind {
                match self {
                    $(Self::$event { .. } => EventKind::$event,)*
                }
            }
        }

        impl EventKind {
            /// The event, when it says no more than its name. None for one that has more to say.
            #[must_use]
            pub const fn plain(self) -> Option<Event> {
                match self {
                    $(Self::$event => declare!(@plain $event $({ $($field)* })?),)*
                }
            }
        }
    };
}

events!(declare);

impl Event {
    /// The authorized deposit, with or without stock for it.
    #[must_use]
    pub const fn deposit_authorized(
        hold: Option<Hold>,
        method: Option<PaymentMethod>,
        stock: StockTaken,
    ) -> Self {
        match stock {
            StockTaken::Taken | StockTaken::Untracked => Self::DepositAuthorized {
                hold,
                method,
                stock,
            },
            StockTaken::NoneLeft => Self::DepositAuthorizedWithoutStock { hold, method },
        }
    }
}
