use super::form::{
    DisclosureHeader, Instalments, MonthlyPayments, NamedAmount, OtherCharges, PurchaseOption,
    check_purchase_option, sum,
};
use super::nonsegregated::{NonsegregatedDisclosures, NonsegregatedTerms};
use crate::money::{Currency, Money};
use crate::pricing::amounts::check_amount;
use crate::pricing::error::PricingError;
use crate::pricing::lease::LeaseQuote;
use crate::pricing::quote::Quote;

/// One kind of leased property.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct LeasedItem {
    /// What it is.
    pub item: String,
    /// Its colour.
    pub color: Option<String>,
    /// The lessor's stock number.
    pub stock_number: Option<String>,
    pub manufacturer: Option<String>,
    /// How many.
    pub quantity: u32,
}

/// What a lease of goods charges beside its payments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct FurnitureCharges {
    /// Delivery and installation, due at signing.
    pub delivery_fee: Money,
    /// Further amounts due at signing.
    pub other_at_signing: Vec<NamedAmount>,
    /// Pick-up at the end.
    pub pick_up_fee: Money,
    /// Further charges that are not part of the monthly payment.
    pub other_charges: Vec<NamedAmount>,
    /// Option to buy at the end of the term, if there is one.
    pub purchase_option: Option<PurchaseOption>,
    /// What the second part of the form states.
    pub nonsegregated: NonsegregatedTerms,
}

impl FurnitureCharges {
    /// No charges and no option.
    #[must_use]
    pub const fn none(currency: Currency) -> Self {
        let nothing = Money::zero(currency);
        Self {
            delivery_fee: nothing,
            other_at_signing: Vec::new(),
            pick_up_fee: nothing,
            other_charges: Vec::new(),
            purchase_option: None,
            nonsegregated: NonsegregatedTerms::none(currency),
        }
    }
}

/// Itemization of the amount due at lease signing or delivery.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct FurnitureAmountDue {
    /// First monthly payment; zero when payments are at the end of each month.
    pub first_monthly_payment: Money,
    /// Payments in advance after the first.
    pub further_payments_in_advance: Money,
    pub refundable_security_deposit: Money,
    /// Delivery and installation.
    pub delivery_fee: Money,
    pub capitalized_cost_reduction: Money,
    /// Lines that the lessor names.
    pub other: Vec<NamedAmount>,
    /// Sum of the lines.
    pub total: Money,
}

/// Model form A-3: the disclosures of a lease of furniture or other goods.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct FurnitureLeaseDisclosure {
    /// Date and parties.
    pub header: DisclosureHeader,
    /// Description of the leased property.
    pub property: Vec<LeasedItem>,
    /// Amount due at lease signing or delivery, itemized. Its total heads the form.
    pub amount_due: FurnitureAmountDue,
    pub monthly_payments: MonthlyPayments,
    /// Other charges, with the pick-up fee as the charge at the end.
    pub other_charges: OtherCharges,
    /// What the lessee will have paid by the end of the lease.
    pub total_of_payments: Money,
    /// Purchase option at the end of the lease term, if any.
    pub purchase_option: Option<PurchaseOption>,
    /// The second part of the form.
    pub nonsegregated: NonsegregatedDisclosures,
}

impl FurnitureLeaseDisclosure {
    /// Fills in the form for a catalog quote. Insurance is part of the monthly payment.
    ///
    /// # Errors
    /// [`PricingError`] when the figures of the quote do not fit together ([`Quote::plan`]), a
    /// charge is negative, too large or of another currency, or the due day is not from 1 to 31.
    ///
    /// ```
    /// use chrono::NaiveDate;
    /// use lessor_domain::money::{Currency, Money};
    /// use lessor_domain::percentage::Percentage;
    /// use lessor_domain::pricing::disclosure::{
    ///     DisclosureHeader, FurnitureCharges, FurnitureLeaseDisclosure, LeasedItem,
    /// };
    /// use lessor_domain::pricing::{Rate, RateCard, quote};
    ///
    /// let card = RateCard {
    ///     term: "24".parse()?,
    ///     rate: Rate::MoneyFactor("0.0025".parse()?),
    ///     residual: "45".parse()?,
    ///     deposit: "10".parse()?,
    ///     insurance: "6".parse()?,
    /// };
    /// let quote = quote(Money::parse("1299.00", Currency::USD)?, Percentage::ZERO, &card)?;
    /// let delivery = NaiveDate::from_ymd_opt(2026, 11, 20).unwrap();
    /// let disclosure = FurnitureLeaseDisclosure::of_quote(
    ///     &quote,
    ///     DisclosureHeader {
    ///         date: delivery,
    ///         lessors: vec!["Example Leasing".to_owned()],
    ///         lessees: vec!["J. Smith".to_owned()],
    ///         first_payment_due: delivery,
    ///         due_day: 20,
    ///     },
    ///     vec![LeasedItem {
    ///         item: "Sofa".to_owned(),
    ///         color: Some("grey".to_owned()),
    ///         stock_number: None,
    ///         manufacturer: None,
    ///         quantity: 1,
    ///     }],
    ///     FurnitureCharges::none(Currency::USD),
    /// )?;
    /// assert_eq!(disclosure.amount_due.total, quote.total_due_at_signing);
    /// assert_eq!(disclosure.total_of_payments, quote.total_of_payments);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_quote(
        quote: &Quote,
        header: DisclosureHeader,
        property: Vec<LeasedItem>,
        charges: FurnitureCharges,
    ) -> Result<Self, PricingError> {
        quote.check()?;
        let instalments = Instalments {
            payment: quote.total_monthly_payment,
            term: quote.term,
            in_advance: 1,
        };
        let nothing = Money::zero(quote.currency);
        Self::fill(
            instalments,
            quote.deposit,
            nothing,
            nothing,
            header,
            property,
            charges,
        )
    }

    /// Fills in the form for any lease.
    ///
    /// # Errors
    /// As [`of_quote`](Self::of_quote).
    pub fn of_lease(
        lease: &LeaseQuote,
        security_deposit: Money,
        header: DisclosureHeader,
        property: Vec<LeasedItem>,
        charges: FurnitureCharges,
    ) -> Result<Self, PricingError> {
        lease.check()?;
        let instalments = Instalments {
            payment: lease.monthly_payment,
            term: lease.term,
            in_advance: lease.payments_in_advance,
        };
        let reduction = lease.capitalized_cost_reduction;
        let taxes = lease.payment_tax.checked_mul(lease.term.get().into())?;
        Self::fill(
            instalments,
            security_deposit,
            reduction,
            taxes,
            header,
            property,
            charges,
        )
    }

    fn fill(
        instalments: Instalments,
        security_deposit: Money,
        capitalized_cost_reduction: Money,
        taxes: Money,
        header: DisclosureHeader,
        property: Vec<LeasedItem>,
        charges: FurnitureCharges,
    ) -> Result<Self, PricingError> {
        let currency = instalments.payment.currency();
        check_amount("the security deposit", security_deposit)?;
        check_amount("the delivery fee", charges.delivery_fee)?;
        check_amount("the pick-up fee", charges.pick_up_fee)?;
        check_purchase_option(charges.purchase_option, currency)?;

        let first_monthly_payment = instalments.first_at_signing();
        let further_payments_in_advance = instalments.further_at_signing()?;
        let due = first_monthly_payment
            .checked_add(further_payments_in_advance)?
            .checked_add(security_deposit)?
            .checked_add(charges.delivery_fee)?
            .checked_add(capitalized_cost_reduction)?
            .checked_add(sum(&charges.other_at_signing, currency)?)?;
        let other_charges = OtherCharges::new(charges.pick_up_fee, charges.other_charges)?;

        Ok(Self {
            monthly_payments: instalments.disclose(&header)?,
            header,
            property,
            total_of_payments: instalments.total_of_payments(
                due,
                security_deposit,
                other_charges.total,
            )?,
            amount_due: FurnitureAmountDue {
                first_monthly_payment,
                further_payments_in_advance,
                refundable_security_deposit: security_deposit,
                delivery_fee: charges.delivery_fee,
                capitalized_cost_reduction,
                other: charges.other_at_signing,
                total: due,
            },
            other_charges,
            purchase_option: charges.purchase_option,
            nonsegregated: charges.nonsegregated.disclose(taxes)?,
        })
    }
}
