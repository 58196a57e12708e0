//! What a checkout is made of: values that carry what is known, and say it.

mod attention;
mod billing;
mod deposit;
mod goods;
mod return_;
mod shipment;
mod waitlist;

pub use attention::{Attention, AttentionReason};
pub use billing::{
    Billing, Invoice, InvoiceOutcome, InvoiceTally, LeaseDates, PaymentFailure, PaymentMethod,
    Recurring, RecurringPaymentStatus, Refusal, Standing,
};
pub use deposit::{Deposit, Hold, Renewals};
pub use goods::{
    Acceptance, CheckoutAddress, CheckoutItem, ChosenTerm, InsuranceStatus, MilestoneTimes,
    PurchaseItem, Redirects, WayOut,
};
pub use return_::Return;
pub use shipment::{Shipment, Tracking};
pub use waitlist::{Waitlist, WaitlistReason};

#[cfg(test)]
pub(in crate::checkout) use deposit::SECOND_THOUGHTS;
