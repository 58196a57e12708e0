//! Why a person must look at a checkout.

use crate::names::named_enum;
use crate::time::Timestamp;

named_enum! {
    /// Why a person must look at a checkout.
    pub enum AttentionReason {
        /// The first monthly payment failed: the lease does not run.
        FirstPaymentFailed = "firstPaymentFailed",
        /// A monthly payment failed.
        PaymentFailed = "paymentFailed",
        /// The processor counts the subscription as behind, unpaid or paused.
        PastDue = "pastDue",
        /// The customer's bank contests a payment.
        Disputed = "disputed",
        /// Goods are with the customer and nothing bills them.
        NotBilled = "notBilled",
        /// The deposit was refused, or a renewal of its hold.
        DepositFailed = "depositFailed",
        /// The signed lease's deposit could not be captured.
        CaptureFailed = "captureFailed",
        /// The hold of the deposit ended before the lease was signed and paid.
        DepositLapsed = "depositLapsed",
        /// The carrier has said nothing of the goods for too long.
        DeliveryOverdue = "deliveryOverdue",
        /// Something went wrong with the order or the shipment.
        FulfillmentException = "fulfillmentException",
        /// The customer has addendums to sign.
        AddendumsPending = "addendumsPending",
        /// A person decides about the customer's credit.
        QualificationRequired = "qualificationRequired",
        /// The processor refuses what Lessor asks of it, and will go on refusing.
        ProcessorRefused = "processorRefused",
        /// The processor's records and the checkout's differ.
        Difference = "difference",
    }
}

/// Why a person must look, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Attention {
    /// Why.
    pub reason: AttentionReason,
    /// Since when.
    pub since: Timestamp,
    /// More, for people.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub detail: Option<String>,
}
