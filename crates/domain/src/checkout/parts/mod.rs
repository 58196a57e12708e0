//! What a checkout is made of: values that carry what is known, and say it.

mod billing;
mod deposit;
mod goods;
mod return_;
mod shipment;
mod waitlist;

pub use billing::{
    Billing, InvoiceNews, InvoiceOutcome, InvoiceTally, LeaseDates, PaymentFailure, PaymentMethod,
    Recurring, RecurringPaymentStatus, Refusal,
};
pub use deposit::{Deposit, Hold};
pub use goods::{
    CheckoutAddress, CheckoutItem, ChosenTerm, InsuranceStatus, MilestoneTimes, PurchaseItem,
    Redirects,
};
pub use return_::Return;
pub use shipment::{Shipment, Tracking};
pub use waitlist::{Waitlist, WaitlistReason};
