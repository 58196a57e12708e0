//! A stateful double of the payment processor, for tests.
//!
//! It speaks the part of the processor's HTTP API that Lessor uses, keeps what it is
//! told, and behaves like the real one where that matters to money: parameters that
//! it does not know are refused; an idempotency key answers its first answer for 24
//! hours, a 500 too, compares parameters, and says 409 while its request is under way;
//! test payment methods decline as their names say; months are counted from the
//! original day, and an end within a month prorates; every change of state is an event.
//! A double that is kinder than what it stands for hides defects: each rule is told of
//! beside its code in the words of the processor's reference, and all of them in
//! `docs/TESTING.md`.
//!
//! Tests make it misbehave with [`Rule`]s: failures before or after the effect, hangs,
//! resets, half answers, rate limits. [`Double::journal`] shows what was asked,
//! [`Double::objects`] and [`Double::ids_by`] what came of it. Time is the double's
//! own: [`Double::advance`] lapses authorizations and bills subscriptions.
//! [`Double::account_of`] adds up what became of a checkout's money.
//!
//! ```
//! use lessor_processor_double::{Double, Fault, Rule, When};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let double = Double::start()?;
//! // The next customer is made, but its answer is lost.
//! double.fault(Rule::once("POST", "/v1/customers", Fault::Reset { when: When::After }));
//! // … the client under test is given `double.url()` and a key like `sk_test_1`, and
//! // makes a customer whose metadata has `lessor_customer` …
//! # assert!(double.url().starts_with("http://127.0.0.1:"));
//! for (customer, made) in double.ids_by("customer", "lessor_customer") {
//!     assert_eq!(made.len(), 1, "{customer} was made more than once");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Keys and modes
//!
//! `Authorization: Bearer sk_test_…` is the test mode, `sk_live_…` the live mode. They
//! share nothing. A key like `sk_test_acctBlue_1` is one of the account `acctBlue`, all others are of one account:
//! "Each account's objects are its own", its keys for repeated requests too. The test mode knows payment methods by name (`pm_card_visa`,
//! `pm_card_chargeDeclined`, `pm_card_visa_chargeDeclinedInsufficientFunds`,
//! `pm_card_chargeCustomerFail`, `pm_card_authenticationRequired`,
//! `pm_card_createDispute`, …); the live mode gets methods from [`Double::new_card`].
//! [`Double::decline`] changes one that is in use, [`Double::decline_on`] on an occasion
//! alone.
//!
//! # People and banks
//!
//! [`Double::by_hand`] does to subscriptions what people do where the processor shows them,
//! [`Double::dispute`], [`Double::update_dispute`] and [`Double::close_dispute`] what banks
//! do, [`Double::fail_refund`] fails a refund that had succeeded. The `url` of a checkout
//! session, and of an identity session, is a page of the double, with a button for each thing
//! that a customer may do there; [`Double::visit`] and [`Double::decide_identity`] do it
//! without a browser.
//!
//! # Events
//!
//! [`Double::send_to`] has them sent, signed, repeated, delayed or in another order;
//! without it [`Double::events`] has them for tests that deliver by themselves, with
//! [`deliver`] or with [`sign`]. Messages may come before the answer to the request that
//! caused them: [`Double::messages_first`] has all of them come so, and
//! [`Double::events_after`] shows what came of a request to who answers it themselves.
//!
//! # Without a network
//!
//! [`Double::offline`] is one that nobody listens for: [`Double::call`] carries a request out
//! at once, in the caller's thread, and its ids follow from a text that the caller gives.
//!
//! # Out of process
//!
//! `processor-double --listen 127.0.0.1:0` prints its URL. Over `/_double/…`:
//!
//! | Request | Body | Does |
//! |---|---|---|
//! | `POST faults`, `DELETE faults` | a [`Rule`], such as `{"method":"POST","path":"/v1/refunds","times":1,"fault":{"kind":"reset","when":"after"}}` | what goes wrong |
//! | `POST down` | `{"down":true}` | resets everything |
//! | `POST release` | | lets held requests go on |
//! | `POST clock` | `{"advanceSeconds":90000}` or `{"at":"2026-02-01T00:00:00Z"}` | time |
//! | `POST settings` | [`Settings`] | search lag, authorizations, expiry of keys, retries, refunds, messages first |
//! | `DELETE keys` | | forgets idempotency keys |
//! | `POST webhooks`, `DELETE webhooks` | [`Webhooks`] | where events go |
//! | `POST identity` | `{"session":"vs_…","status":"verified"}` | decides a session |
//! | `POST lapse`, `POST disputes` | `{"paymentIntent":"pi_…"}`; a dispute also `{"invoice":"in_…"}` | what banks do |
//! | `POST disputes/close` | `{"dispute":"dp_…","status":"lost"}` | the same; other statuses move it |
//! | `POST refunds` | `{"refund":"re_…","failure":"declined"}` | fails it; without `failure`, one under way succeeds |
//! | `POST subscriptions` | `{"subscription":"sub_…","deed":{"kind":"setPrice","unitAmount":4100}}` | a [`Deed`] |
//! | `POST pages` | `{"session":"cs_…","choice":{"kind":"pay"}}` | a [`Choice`]; answers `to` |
//! | `POST cards/new` | `{"card":"pm_card_visa"}`, `?live=true` | a card that a browser handed in; answers `paymentMethod` |
//! | `POST cards` | `{"paymentMethod":"pm_…","decline":"insufficient_funds"}`, and `"occasion":"offSession"` or `"hold"` | declines from now on |
//! | `GET journal`, `DELETE journal` | | requests |
//! | `GET accounts/CHECKOUT` | | an [`Account`] |
//! | `GET objects/KIND`, `GET events`, `GET deliveries`, `GET counters` | `?live=true` for the other mode | what there is |
//!
//! # What it does not do
//!
//! Taxes, coupons, trials, quantities that change, other intervals than months, other
//! methods than cards, invoices of nothing or of less than can be charged, sessions that
//! subscribe. What it lacks it refuses.

mod account;
mod api;
mod billing;
mod cards;
mod clock;
mod collection;
mod control;
mod currency;
mod disputes;
mod double;
mod error;
mod events;
mod fault;
mod form;
mod hosted;
mod idempotency;
mod intents;
mod journal;
mod lists;
mod offline;
mod pages;
mod payments;
mod people;
mod schedule;
mod server;
mod signature;
mod spec;
mod state;
mod store;
mod terms;
mod webhooks;

pub use account::{Account, Payment, Repayment};
pub use cards::{Decline, Occasion};
pub use collection::AfterRetries;
pub use control::Settings;
pub use double::Double;
pub use events::Event;
pub use fault::{Fault, Rule, When};
pub use journal::Recorded;
pub use offline::{Answered, Asked};
pub use pages::Choice;
pub use people::Deed;
pub use signature::{HEADER as SIGNATURE_HEADER, sign};
pub use webhooks::{Delivery, Webhooks, deliver, shuffle};
