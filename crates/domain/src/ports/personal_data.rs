//! The store of what is known of persons, for whoever takes it away.

use async_trait::async_trait;

use super::{Scope, StoreError};
use crate::checkout::Tracking;
use crate::ids::{CheckoutPubId, CustomerPubId};
use crate::names::named_enum;
use crate::text::Email;
use crate::time::Timestamp;

named_enum! {
    /// A table that knows of persons, or is kept beside what does. Its name is that of the table.
    pub enum PersonalTable {
        /// What was done with agreements, and from where.
        AgreementEvents = "agreement_events",
        /// The documents that were signed, and by whom.
        Agreements = "agreements",
        /// Who did what to customers and checkouts.
        AuditEvents = "audit_events",
        /// Addresses, and what callers keep beside checkouts.
        CheckoutApplications = "checkout_applications",
        /// What pays.
        CheckoutBilling = "checkout_billing",
        /// What paid the deposit.
        CheckoutDeposits = "checkout_deposits",
        /// What checkouts are found by that callers keep beside them.
        CheckoutMetadata = "checkout_metadata",
        /// Why goods came back.
        CheckoutReturns = "checkout_returns",
        /// Who signed for goods.
        CheckoutShipments = "checkout_shipments",
        /// Why checkouts moved.
        CheckoutTransitions = "checkout_transitions",
        /// Addresses that are not served.
        CheckoutWaits = "checkout_waits",
        /// Who leases what, and why somebody has to look.
        Checkouts = "checkouts",
        /// What the audit's personal data are sealed with.
        CustomerKeys = "customer_keys",
        /// What customers are found by that callers keep beside them.
        CustomerMetadata = "customer_metadata",
        /// Who they are.
        Customers = "customers",
        /// What endpoints answered when they were told of customers and checkouts.
        Deliveries = "deliveries",
        /// What happened to customers and checkouts.
        Events = "events",
        /// Answers to requests that may be repeated.
        IdempotencyAnswers = "idempotency_answers",
        /// Messages of providers.
        InboxMessages = "inbox_messages",
        /// Why providers did not do what they were asked for.
        Jobs = "jobs",
        /// What was made at the payment processor.
        LedgerEntries = "ledger_entries",
        /// By what the addresses are known again that nothing is sent to.
        MailSuppressions = "mail_suppressions",
        /// By what the addresses are known again that mails went to.
        Mails = "mails",
        /// Why credit was refused, and what the organization knows the decision by.
        Qualifications = "qualifications",
        /// What the simulated processor knows of customers.
        SimulatedCustomers = "simulated_customers",
        /// What the simulated verifier knows of customers.
        SimulatedIdentitySessions = "simulated_identity_sessions",
        /// Whose deposits the simulated processor holds.
        SimulatedPaymentIntents = "simulated_payment_intents",
        /// Who pays the simulated processor every month.
        SimulatedSubscriptions = "simulated_subscriptions",
        /// What carriers reported.
        TrackingEvents = "tracking_events",
        /// What carriers reported before the number was given.
        UnclaimedTrackingEvents = "unclaimed_tracking_events",
    }
}

/// The answer that takes the place of one that told of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacementAnswer {
    /// Its status.
    pub status: u16,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
}

/// Whose personal data go, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// Whose.
    pub customer: CustomerPubId,
    /// What answers and messages name them by: their own id and those that providers have for them,
    /// their e-mail address, the tracking numbers of what was sent to them.
    pub names: Vec<String>,
    /// Their checkouts that have ended, of which nothing personal stays.
    pub ended: Vec<CheckoutPubId>,
    /// Their checkouts that have not: where there are any, providers that are played still need to know
    /// whose they are.
    pub running: Vec<CheckoutPubId>,
    /// Those of the ended that were no lease: nobody needs their agreements. Those of leases are kept.
    pub never_leased: Vec<CheckoutPubId>,
    /// The shipments of either: what was reported of them before they had the number is theirs by now.
    pub shipments: Vec<Tracking>,
    /// Where they were mailed.
    pub email: Email,
    /// When they became known: no message about them is older.
    pub since: Timestamp,
    /// What takes the place of answers that told of them.
    pub replacement: ReplacementAnswer,
}

/// What an erasure came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removal {
    /// The tables that something was taken out of, each once.
    pub tables: Vec<PersonalTable>,
    /// How many messages tell of the person and are not handled: they stay, since they are still to be read.
    pub unhandled: u64,
}

/// What is known of persons beside the customer and their checkouts, which are written as what they are.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait PersonalDataStore: Send {
    /// Takes what tells of the person
    ///
    /// - out of the history, the tracking events and the jobs of their ended checkouts, and of the jobs
    ///   about them;
    /// - out of agreements of checkouts that were no lease, and out of the record of what was done with them: of
    ///   either times and hashes stay;
    /// - out of the answers to requests, whose repetition gets the replacement from then on, but for those to
    ///   erasures;
    /// - out of what was decided about their credit for ended checkouts;
    /// - out of messages that were handled;
    /// - out of what endpoints answered when they were told of them and of their checkouts;
    /// - out of what their address is known by: mails about their ended checkouts, and whether it is sent none,
    ///   unless one of theirs runs;
    /// - out of reports of their shipments that no checkout had;
    /// - out of what is sealed about them, which nobody can read any more;
    /// - out of what is kept for providers that are played.
    ///
    /// Nothing of it changes what was leased, paid or decided, and asked again it finds nothing.
    async fn erase(&mut self, scope: Scope, erasure: &Erasure) -> Result<Removal, StoreError>;
}
