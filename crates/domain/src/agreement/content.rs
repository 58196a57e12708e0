//! What an agreement says.

use chrono::Datelike;

use super::SignerKind;
use crate::access::Mode;
use crate::address::Address;
use crate::catalog::OptionSelection;
use crate::checkout::{Checkout, FirstPaymentDue, PurchaseItem};
use crate::customer::Customer;
use crate::ids::{AgreementPubId, CheckoutPubId};
use crate::money::Money;
use crate::organization::{Organization, PickupLocation};
use crate::pricing::disclosure::{
    DisclosureHeader, FurnitureCharges, FurnitureLeaseDisclosure, InsuranceDisclosure, LeasedItem,
    NonsegregatedTerms, PurchaseOption,
};
use crate::pricing::{PricingError, PurchaseCharges, Quote, RentMethod, ScheduleLine};
use crate::quantity::Quantity;
use crate::text::{AgreementText, Email, ExternalId, Line, Name, Sku};
use crate::time::{Timestamp, to_millis};

/// How rent is earned where the agreement says what ending early costs: on the balance, as 12 CFR 1013 has it of
/// consumer leases. See `docs/PRICING.md`.
const METHOD: RentMethod = RentMethod::ConstantYield;

/// An organization's own terms, as they stand in the agreements that are made while they are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreementTerms {
    /// Counted from 1 for each organization.
    pub version: u32,
    /// In Markdown.
    pub text: AgreementText,
    /// Since when they are in force.
    pub created_at: Timestamp,
}

/// How an organization is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contact {
    pub email: Option<Email>,
    pub phone: Option<Line>,
}

impl Contact {
    /// As the organization tells its customers; none where it tells them nothing.
    fn of(organization: &Organization) -> Option<Self> {
        let face = &organization.face;
        let contact = Self {
            email: face.support_email.clone(),
            phone: face.support_phone.clone(),
        };
        (contact != Self::default()).then_some(contact)
    }
}

/// Who leases to somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lessor {
    pub name: Name,
    pub contact: Option<Contact>,
}

/// Who leases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lessee {
    /// First and last name.
    pub name: String,
    pub email: Email,
    pub address: Option<Address>,
}

/// Something that is leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Good {
    /// The product's name.
    pub product: Name,
    /// The variant's name when it was ordered.
    pub name: Name,
    pub sku: Sku,
    /// What was chosen of it, such as its colour.
    pub options: Vec<OptionSelection>,
    /// How many.
    pub quantity: u32,
    /// Those that are known: most are when the goods are handed over, after the agreement was signed.
    pub serial_numbers: Vec<Line>,
}

/// How the customer gets the goods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handover {
    /// They are shipped there.
    Shipped(Option<Address>),
    /// The customer picks them up there.
    PickedUp {
        /// The pickup location's name.
        name: Name,
        address: Address,
    },
}

/// The figures of a lease, as its disclosure has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// The price of all goods, with all that the payment is computed of (model form A-2's payment calculation).
    pub quote: Quote,
    /// How many are leased.
    pub quantity: Quantity,
    /// The price of one: the other times the number, to the minor unit.
    pub each: Quote,
    /// Model form A-3. Its dates are the document's: the first payment is due when the goods are handed over.
    pub disclosure: FurnitureLeaseDisclosure,
    /// What insurance costs over the whole term; it is part of each payment.
    pub insurance_premium: Money,
    /// A line for each month. Its balance is what ending the lease then is charged by, and what the goods can be
    /// bought for.
    pub schedule: Vec<ScheduleLine>,
    /// What is bought along, all of it.
    pub purchases: Money,
    /// What is authorized when the customer signs, and captured then: deposit and purchases.
    pub authorized_at_signing: Money,
}

/// All that an agreement says. The same content is rendered to the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    pub id: AgreementPubId,
    pub checkout: CheckoutPubId,
    /// The organization's own number of the order.
    pub external_order_id: Option<ExternalId>,
    /// An agreement of the sandbox binds nobody, and says so.
    pub mode: Mode,
    /// When it was made, to the millisecond.
    pub created_at: Timestamp,
    pub lessor: Lessor,
    pub lessee: Lessee,
    pub goods: Vec<Good>,
    /// What is bought along, at once.
    pub purchases: Vec<PurchaseItem>,
    pub handover: Handover,
    pub figures: Figures,
    pub first_payment_due: FirstPaymentDue,
    pub terms: Option<AgreementTerms>,
    /// Where it is signed.
    pub signer: SignerKind,
}

impl Figures {
    /// The figures of a lease of these goods.
    ///
    /// # Errors
    /// [`PricingError`] when the figures of the quote do not fit together.
    pub fn new(
        quote: Quote,
        quantity: Quantity,
        header: DisclosureHeader,
        goods: &[Good],
        purchases: Money,
    ) -> Result<Self, PricingError> {
        let plan = quote.plan()?;
        let currency = quote.currency;
        let months = quote.term.get();
        let insurance_premium = quote.insurance.checked_mul(months.into())?;
        let nonsegregated = NonsegregatedTerms {
            insurance: if quote.insurance.is_zero() {
                InsuranceDisclosure::None
            } else {
                InsuranceDisclosure::ByLessor {
                    coverage: Vec::new(),
                    premium: insurance_premium,
                }
            },
            early_termination: Some(METHOD),
            early_purchase: Some(METHOD),
            ..NonsegregatedTerms::none(currency)
        };
        let at_end = plan.purchase_quote(months, METHOD, PurchaseCharges::none(currency))?;
        let charges = FurnitureCharges {
            purchase_option: Some(PurchaseOption {
                price: at_end.price,
                fee: at_end.charges.option_fee,
            }),
            nonsegregated,
            ..FurnitureCharges::none(currency)
        };
        let property = goods.iter().map(Good::as_leased_item).collect();
        Ok(Self {
            disclosure: FurnitureLeaseDisclosure::of_quote(&quote, header, property, charges)?,
            insurance_premium,
            schedule: plan.schedule(METHOD)?,
            purchases,
            authorized_at_signing: quote.deposit.checked_add(purchases)?,
            each: quote.one_of(quantity)?,
            quantity,
            quote,
        })
    }
}

impl Good {
    fn as_leased_item(&self) -> LeasedItem {
        LeasedItem {
            item: self.name.to_string(),
            color: None,
            stock_number: Some(self.sku.to_string()),
            manufacturer: None,
            quantity: self.quantity,
        }
    }
}

/// Whom and what an agreement is about, as the stores have it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) checkout: &'a Checkout,
    pub(crate) customer: &'a Customer,
    pub(crate) organization: &'a Organization,
    /// The product's name and what was chosen of it.
    pub(crate) product: &'a Name,
    pub(crate) options: &'a [OptionSelection],
    /// Where the goods are picked up, if they are.
    pub(crate) location: Option<&'a PickupLocation>,
    pub(crate) quote: Quote,
    pub(crate) terms: Option<&'a AgreementTerms>,
    pub(crate) signer: SignerKind,
}

/// What the checkout leases: items of one name and stock number are one line.
fn goods_of(checkout: &Checkout, product: &Name, options: &[OptionSelection]) -> Vec<Good> {
    let mut goods: Vec<Good> = Vec::new();
    for item in &checkout.items {
        let known = goods
            .iter_mut()
            .find(|good| good.name == item.name && good.sku == item.sku);
        if let Some(good) = known {
            good.quantity = good.quantity.saturating_add(1);
            good.serial_numbers.extend(item.serial_number.clone());
        } else {
            goods.push(Good {
                product: product.clone(),
                name: item.name.clone(),
                sku: item.sku.clone(),
                options: options.to_vec(),
                quantity: 1,
                serial_numbers: item.serial_number.iter().cloned().collect(),
            });
        }
    }
    goods
}

impl Agreement {
    /// The agreement of the checkout, as it stands now.
    ///
    /// # Errors
    /// [`PricingError`] when the figures do not fit together.
    pub(crate) fn of(
        subject: Subject<'_>,
        id: AgreementPubId,
        now: Timestamp,
    ) -> Result<Self, PricingError> {
        let Subject {
            checkout,
            customer,
            organization,
            quote,
            ..
        } = subject;
        let goods = goods_of(checkout, subject.product, subject.options);
        let lessee = Lessee {
            name: super::consent::full_name(&customer.profile),
            email: customer.email.clone(),
            address: customer.profile.address(),
        };
        let day = now.date_naive();
        let header = DisclosureHeader {
            date: day,
            lessors: vec![organization.name.to_string()],
            lessees: vec![lessee.name.clone()],
            first_payment_due: day,
            due_day: u8::try_from(day.day()).unwrap_or(1),
        };
        let handover = match subject.location {
            Some(location) => Handover::PickedUp {
                name: location.name.clone(),
                address: location.address.clone(),
            },
            None => {
                let home = customer.profile.address();
                Handover::Shipped(checkout.served_address(home.as_ref()).cloned())
            }
        };
        let purchases = checkout.purchase_total(Money::zero(quote.currency))?;
        Ok(Self {
            id,
            checkout: checkout.id,
            external_order_id: checkout.external_order_id.clone(),
            mode: checkout.mode,
            created_at: to_millis(now),
            lessor: Lessor {
                name: organization.name.clone(),
                contact: Contact::of(organization),
            },
            first_payment_due: checkout.first_payment_due(),
            figures: Figures::new(quote, checkout.quantity(), header, &goods, purchases)?,
            lessee,
            goods,
            purchases: checkout.purchase_items.clone(),
            handover,
            terms: subject.terms.cloned(),
            signer: subject.signer,
        })
    }
}
