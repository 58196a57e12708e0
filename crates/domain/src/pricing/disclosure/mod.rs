//! The disclosures of the US Consumer Leasing Act as data: every line of the model forms of
//! 12 CFR 1013 (Regulation M), appendix A, that a lessor fills in: the segregated part, and the
//! figures of the other one, [`NonsegregatedDisclosures`].
//!
//! - [`VehicleLeaseDisclosure`]: model form A-2, closed-end or net vehicle lease
//! - [`FurnitureLeaseDisclosure`]: model form A-3, for furniture and other consumer goods
//!
//! The sums are computed and agree with each other; the wording and layout of the form, and
//! whether a lease falls under the Act at all, are the lessor's.

mod form;
mod furniture;
mod nonsegregated;
mod vehicle;

pub use form::{DisclosureHeader, MonthlyPayments, NamedAmount, OtherCharges, PurchaseOption};
pub use furniture::{FurnitureAmountDue, FurnitureCharges, FurnitureLeaseDisclosure, LeasedItem};
pub use nonsegregated::{InsuranceDisclosure, NonsegregatedDisclosures, NonsegregatedTerms};
pub use vehicle::{
    HowAmountDueIsPaid, MileageLimit, PaymentDetermination, VehicleAmountDue, VehicleCharges,
    VehicleLeaseDisclosure,
};
