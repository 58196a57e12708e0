//! The states of a checkout: one row for each, and whoever asks anything of a state reads it there.

use super::event::EventKind;
use super::parts::AttentionReason;
use super::parts::WaitlistReason;
use crate::names::named_enum;

named_enum! {
    /// Where a checkout stands.
    pub enum Lifecycle {
        /// Made, not opened by the customer.
        Created = "created",
        /// The customer completes name and address.
        ProfilePending = "profilePending",
        /// The customer has to prove who they are.
        IdentityRequired = "identityRequired",
        /// A verification session is open.
        IdentityVerifying = "identityVerifying",
        /// The verifier decides.
        IdentityProcessing = "identityProcessing",
        /// The credit check runs.
        QualificationPending = "qualificationPending",
        /// The customer says where to ship.
        ShippingAddressPending = "shippingAddressPending",
        /// The customer says where to pick up.
        PickupLocationPending = "pickupLocationPending",
        /// The customer reads the terms of the lease.
        LeaseReviewPending = "leaseReviewPending",
        /// The deposit is to be authorized.
        DepositPending = "depositPending",
        /// The processor authorizes the deposit.
        DepositProcessing = "depositProcessing",
        /// The authorization was refused; the customer may try again.
        DepositFailed = "depositFailed",
        /// The customer names the method of the recurring payments.
        RecurringPaymentMethodPending = "recurringPaymentMethodPending",
        /// The lease is to be signed, then the deposit captured.
        DocumentsPending = "documentsPending",
        /// Signed, but the deposit could not be captured.
        CaptureFailed = "captureFailed",
        /// Signed and paid: the organization can ship.
        OrderConfirmed = "orderConfirmed",
        /// The customer has addendums to sign before goods are shipped.
        AddendumsPending = "addendumsPending",
        /// The goods are on their way.
        Shipped = "shipped",
        /// Something went wrong with the order or the shipment.
        FulfillmentException = "fulfillmentException",
        /// The lease runs.
        LeaseActive = "leaseActive",
        /// The goods are to come back.
        ReturnPending = "returnPending",
        /// The goods came back: the lease has ended.
        Returned = "returned",
        /// Waits for stock or for the product; nothing is paid.
        WaitlistedAfterProfile = "waitlistedAfterProfile",
        /// Waits for stock with an authorized deposit.
        WaitlistedAfterDeposit = "waitlistedAfterDeposit",
        /// Waits until the organization serves the address.
        WaitlistedLocation = "waitlistedLocation",
        /// Called off.
        Cancelled = "cancelled",
        /// Left untouched for too long.
        Expired = "expired",
        /// The verifier refused.
        IdentityFailed = "identityFailed",
        /// The credit check refused.
        QualificationFailed = "qualificationFailed",
    }
}

named_enum! {
    /// The part of the way that a state belongs to.
    pub enum Phase {
        /// Profile, identity, qualification, address, review.
        Application = "application",
        /// Deposit and payment method.
        Payment = "payment",
        /// Signature and capture.
        Documents = "documents",
        /// From the confirmed order to the shipped goods.
        Fulfillment = "fulfillment",
        /// The lease runs.
        Active = "active",
        /// The goods go back.
        Return = "return",
        /// Waiting for stock or service.
        Waitlist = "waitlist",
        /// Ended without a lease.
        Closed = "closed",
    }
}

impl Phase {
    /// The name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Application => "Application",
            Self::Payment => "Payment",
            Self::Documents => "Documents",
            Self::Fulfillment => "Fulfillment",
            Self::Active => "Active lease",
            Self::Return => "Return",
            Self::Waitlist => "Waitlist",
            Self::Closed => "Closed",
        }
    }
}

/// Where a state stands on the way to the lease and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On the way: a checkout that meets no obstacle comes through it.
    OnTheWay,
    /// Aside of this state, whose place it shares.
    Beside(Lifecycle),
    /// On no way: it waits or has ended.
    Off,
}

/// What there is to know of one state.
#[derive(Debug, Clone, Copy)]
struct Row {
    state: Lifecycle,
    phase: Phase,
    place: Place,
    /// How far along it is, of 100.
    percentage: u8,
    /// Which of the steps that the customer sees it belongs to, from 0; 9 when all are done.
    step: Option<u8>,
    /// The event that takes a checkout on from here when nothing goes wrong.
    next: Option<EventKind>,
    /// Nothing moves it any more, and the customer may start another.
    ended: bool,
    /// Something was refused or went wrong.
    failed: bool,
    /// Why a person must act on every checkout here.
    attention: Option<AttentionReason>,
    /// The customer can go a step back.
    goes_back: bool,
    /// Untouched for too long, it expires.
    expires: bool,
    /// The customer has yet to prove who they are.
    identifying: bool,
    /// A provider decides next.
    at_provider: bool,
    /// The goods are on their way, or should be.
    under_way: bool,
    /// A unit of stock may be held for it.
    may_hold_stock: bool,
    /// What a checkout waits for here.
    waits_for: Option<WaitlistReason>,
    /// The order was confirmed: progress has milestones.
    confirmed: bool,
    /// The lease runs or ran.
    leased: bool,
}

impl Row {
    const fn new(
        state: Lifecycle,
        phase: Phase,
        place: Place,
        percentage: u8,
        step: Option<u8>,
        next: Option<EventKind>,
    ) -> Self {
        Self {
            state,
            phase,
            place,
            percentage,
            step,
            next,
            ended: false,
            failed: false,
            attention: None,
            goes_back: false,
            expires: false,
            identifying: false,
            at_provider: false,
            under_way: false,
            may_hold_stock: false,
            waits_for: None,
            confirmed: false,
            leased: false,
        }
    }
}

/// A line for each state: phase, place on the way, percentage, step of the page, the event that
/// usually comes next, and whatever else holds of it.
macro_rules! states {
    (@place way) => { Place::OnTheWay };
    (@place off) => { Place::Off };
    (@place $beside:ident) => { Place::Beside(Lifecycle::$beside) };
    (@some -) => { None };
    (@some $value:literal) => { Some($value) };
    (@next -) => { None };
    (@next $event:ident) => { Some(EventKind::$event) };
    ($(
        $state:ident $phase:ident $place:ident $percentage:literal $step:tt $next:tt $($holds:ident)*
        $(, waits for $waits_for:ident)? $(, needs $attention:ident)?;
    )*) => {
        [$({
            let row = Row::new(
                Lifecycle::$state,
                Phase::$phase,
                states!(@place $place),
                $percentage,
                states!(@some $step),
                states!(@next $next),
            );
            Row {
                $($holds: true,)*
                $(waits_for: Some(WaitlistReason::$waits_for),)?
                $(attention: Some(AttentionReason::$attention),)?
                ..row
            }
        },)*]
    };
}

const COUNT: usize = Lifecycle::ALL.len();

static STATES: [Row; COUNT] = ROWS;

const ROWS: [Row; COUNT] = states! {
    // state                      phase       place                  %  step next
    Created                       Application way                    0  0 Opened               expires;
    ProfilePending                Application way                    5  0 ProfileCompleted     expires;
    IdentityRequired              Application way                   12  1 IdentityRequested    expires may_hold_stock identifying;
    IdentityVerifying             Application way                   16  1 IdentitySubmitted    expires may_hold_stock identifying;
    IdentityProcessing            Application way                   20  1 IdentityVerified     expires may_hold_stock identifying at_provider;
    QualificationPending          Application way                   28  2 Qualified            expires may_hold_stock at_provider;
    ShippingAddressPending        Application way                   38  3 ShippingAddressGiven expires may_hold_stock goes_back;
    PickupLocationPending         Application ShippingAddressPending 38 3 PickupLocationGiven  expires may_hold_stock goes_back;
    LeaseReviewPending            Application way                   48  4 LeaseAccepted        expires may_hold_stock goes_back;
    DepositPending                Payment     way                   56  5 DepositSubmitted     expires may_hold_stock goes_back;
    DepositProcessing             Payment     way                   60  5 DepositAuthorized    expires at_provider;
    DepositFailed                 Payment     DepositPending        56  5 DepositSubmitted     expires goes_back failed, needs DepositFailed;
    RecurringPaymentMethodPending Payment     way                   66  6 PaymentMethodSaved   expires may_hold_stock;
    DocumentsPending              Documents   way                   76  7 DocumentsSigned      expires may_hold_stock;
    CaptureFailed                 Documents   DocumentsPending      76  7 CaptureRetried       may_hold_stock failed, needs CaptureFailed;
    OrderConfirmed                Fulfillment way                   88  9 Fulfilled            may_hold_stock confirmed;
    AddendumsPending              Fulfillment OrderConfirmed        88  9 AddendumsSigned      may_hold_stock confirmed, needs AddendumsPending;
    Shipped                       Fulfillment way                   94  9 Delivered            may_hold_stock confirmed under_way;
    FulfillmentException          Fulfillment OrderConfirmed        88  9 OrderResumed         may_hold_stock confirmed under_way failed, needs FulfillmentException;
    LeaseActive                   Active      way                  100  9 ReturnInitiated      may_hold_stock confirmed leased;
    ReturnPending                 Return      way                  100  9 ReturnCompleted      may_hold_stock confirmed leased;
    Returned                      Return      way                  100  9 -                    may_hold_stock confirmed leased ended;
    WaitlistedAfterProfile        Waitlist    off                   12  - -                    expires, waits for Inventory;
    WaitlistedAfterDeposit        Waitlist    off                   64  5 -                    expires, waits for Inventory;
    WaitlistedLocation            Waitlist    off                   12  - -                    expires, waits for Location;
    // How far these two had come is told by the state before.
    Cancelled                     Closed      off                    0  - -                    ended;
    Expired                       Closed      off                    0  - -                    ended;
    IdentityFailed                Closed      off                   20  1 -                    ended failed;
    QualificationFailed           Closed      off                   28  2 -                    ended failed;
};

// A state's row is found by the state's number, and percentages never fall along the way.
#[expect(
    clippy::indexing_slicing,
    reason = "a constant: what is out of range does not compile"
)]
const _: () = {
    let mut i = 0;
    let mut percentage = 0;
    while i < COUNT {
        let row = ROWS[i];
        assert!(
            row.state as usize == i,
            "the rows of the states stand in the order of the states"
        );
        if matches!(row.place, Place::OnTheWay) {
            assert!(
                row.percentage >= percentage,
                "percentages never fall along the way"
            );
            percentage = row.percentage;
        }
        i += 1;
    }
};

const fn count_of_the_way() -> usize {
    let mut count = 0_usize;
    let mut rows: &[Row] = &ROWS;
    while let [row, rest @ ..] = rows {
        if matches!(row.place, Place::OnTheWay) {
            count = count.saturating_add(1);
        }
        rows = rest;
    }
    count
}

#[expect(
    clippy::indexing_slicing,
    reason = "a constant: what is out of range does not compile"
)]
const THE_WAY: [Lifecycle; count_of_the_way()] = {
    let mut way = [Lifecycle::Created; count_of_the_way()];
    let (mut i, mut place) = (0, 0);
    while i < COUNT {
        if matches!(ROWS[i].place, Place::OnTheWay) {
            way[place] = ROWS[i].state;
            place += 1;
        }
        i += 1;
    }
    way
};

impl Lifecycle {
    /// The states of a checkout that meets no obstacle, in order.
    pub const HAPPY_PATH: &'static [Self] = &THE_WAY;

    #[expect(
        clippy::indexing_slicing,
        reason = "there is a row for each state, in their order: the constant above does not compile otherwise"
    )]
    const fn row(self) -> &'static Row {
        &STATES[self as usize]
    }

    /// The states of which something holds, in the order of their declaration.
    #[must_use]
    pub fn those(holds: impl Fn(Self) -> bool) -> Vec<Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(|state| holds(*state))
            .collect()
    }

    /// The phase of the state.
    #[must_use]
    pub const fn phase(self) -> Phase {
        self.row().phase
    }

    /// Whether the checkout has ended: no event moves it any more, and the same
    /// customer may start another for the same variant and term.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        self.row().ended
    }

    /// Whether the checkout waits for stock or service.
    #[must_use]
    pub const fn is_waitlisted(self) -> bool {
        self.waits_for().is_some()
    }

    /// What a checkout waits for in this state.
    #[must_use]
    pub const fn waits_for(self) -> Option<WaitlistReason> {
        self.row().waits_for
    }

    /// Whether something was refused or went wrong.
    #[must_use]
    pub const fn is_failed(self) -> bool {
        self.row().failed
    }

    /// Why a person must act on every checkout in this state, if they must.
    #[must_use]
    pub const fn attention(self) -> Option<AttentionReason> {
        self.row().attention
    }

    /// Whether the customer can go a step back from here.
    #[must_use]
    pub const fn goes_back(self) -> bool {
        self.row().goes_back
    }

    /// Whether a checkout that nobody touches expires here.
    #[must_use]
    pub const fn expires(self) -> bool {
        self.row().expires
    }

    /// Whether the customer has yet to prove who they are.
    #[must_use]
    pub const fn is_identifying(self) -> bool {
        self.row().identifying
    }

    /// Whether a provider decides next: a customer can only wait.
    #[must_use]
    pub const fn is_at_provider(self) -> bool {
        self.row().at_provider
    }

    /// Whether the goods are on their way, or were when something went wrong.
    #[must_use]
    pub const fn is_under_way(self) -> bool {
        self.row().under_way
    }

    /// Whether a unit of stock may be held for a checkout here: it is taken with the deposit, stays
    /// taken with the goods, and while a checkout that has one is checked again.
    #[must_use]
    pub const fn may_hold_stock(self) -> bool {
        self.row().may_hold_stock
    }

    /// Whether the order was confirmed: from here on progress has milestones.
    #[must_use]
    pub const fn is_confirmed(self) -> bool {
        self.row().confirmed
    }

    /// Whether the lease runs or ran.
    #[must_use]
    pub const fn is_leased(self) -> bool {
        self.row().leased
    }

    /// How far along the state is, 0 to 100; never falls along [`Self::HAPPY_PATH`].
    #[must_use]
    pub const fn percentage(self) -> u8 {
        self.row().percentage
    }

    /// Which of the steps that the customer sees the state belongs to, from 0 to
    /// [`STEPS`](super::STEPS), which means that all are done. None where no step says it.
    #[must_use]
    pub const fn step(self) -> Option<u8> {
        self.row().step
    }

    /// The event that takes a checkout on from here when nothing goes wrong.
    #[must_use]
    pub const fn next(self) -> Option<EventKind> {
        self.row().next
    }

    /// How far along the way the state is, for comparing two states: states aside
    /// share the place of the one that they are aside of. None for waiting and
    /// closed states, which are on no way.
    #[must_use]
    pub fn rank(self) -> Option<u8> {
        let on_the_way = match self.row().place {
            Place::OnTheWay => self,
            Place::Beside(other) => other,
            Place::Off => return None,
        };
        let place = THE_WAY.iter().position(|state| *state == on_the_way)?;
        u8::try_from(place).ok()
    }
}

/// Where a checkout stands and stood before: it moves by
/// [`Checkout::apply`](super::Checkout::apply) alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct State {
    pub(super) lifecycle: Lifecycle,
    pub(super) previous: Option<Lifecycle>,
}

impl State {
    /// The state of a new checkout.
    #[must_use]
    pub const fn new(lifecycle: Lifecycle) -> Self {
        Self {
            lifecycle,
            previous: None,
        }
    }

    /// The state as a store kept it.
    #[must_use]
    pub const fn restore(lifecycle: Lifecycle, previous: Option<Lifecycle>) -> Self {
        Self {
            lifecycle,
            previous,
        }
    }

    pub(super) const fn move_to(&mut self, lifecycle: Lifecycle) {
        self.previous = Some(self.lifecycle);
        self.lifecycle = lifecycle;
    }
}
