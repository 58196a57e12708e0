use super::form::{
    DisclosureHeader, Instalments, MonthlyPayments, NamedAmount, OtherCharges, PurchaseOption,
    check_purchase_option, sum,
};
use super::nonsegregated::{NonsegregatedDisclosures, NonsegregatedTerms};
use crate::money::{Currency, Money};
use crate::pricing::amounts::check_amount;
use crate::pricing::error::PricingError;
use crate::pricing::lease::LeaseQuote;

/// What a vehicle lease charges beside its payments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct VehicleCharges {
    /// Refundable security deposit.
    pub security_deposit: Money,
    /// Title fees, due at signing.
    pub title_fees: Money,
    /// Registration fees, due at signing.
    pub registration_fees: Money,
    /// Further amounts due at signing.
    pub other_at_signing: Vec<NamedAmount>,
    /// What each monthly payment contains beside base payment and tax, such as a service contract.
    pub other_monthly: Vec<NamedAmount>,
    /// Disposition fee of a lessee who does not buy the vehicle.
    pub disposition_fee: Money,
    /// Further charges that are not part of the monthly payment.
    pub other_charges: Vec<NamedAmount>,
    /// Option to buy at the end of the term, if there is one.
    pub purchase_option: Option<PurchaseOption>,
    /// Mileage beyond which wear is charged, if there is a limit.
    pub mileage_limit: Option<MileageLimit>,
    /// What the second part of the form states.
    pub nonsegregated: NonsegregatedTerms,
}

impl VehicleCharges {
    /// No charges and no options.
    #[must_use]
    pub const fn none(currency: Currency) -> Self {
        let nothing = Money::zero(currency);
        Self {
            security_deposit: nothing,
            title_fees: nothing,
            registration_fees: nothing,
            other_at_signing: Vec::new(),
            other_monthly: Vec::new(),
            disposition_fee: nothing,
            other_charges: Vec::new(),
            purchase_option: None,
            mileage_limit: None,
            nonsegregated: NonsegregatedTerms::none(currency),
        }
    }
}

/// The charge for mileage in excess of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct MileageLimit {
    /// Miles a year that are free.
    pub miles_per_year: u32,
    /// Charge for each mile beyond.
    pub charge_per_mile: Money,
}

/// Itemization of the amount due at lease signing or delivery.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct VehicleAmountDue {
    pub capitalized_cost_reduction: Money,
    /// First monthly payment; zero when payments are at the end of each month.
    pub first_monthly_payment: Money,
    /// Payments in advance after the first.
    pub further_payments_in_advance: Money,
    pub refundable_security_deposit: Money,
    pub title_fees: Money,
    pub registration_fees: Money,
    /// Lines that the lessor names.
    pub other: Vec<NamedAmount>,
    /// Sum of the lines.
    pub total: Money,
}

/// How the amount due at lease signing or delivery will be paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct HowAmountDueIsPaid {
    pub net_trade_in_allowance: Money,
    pub rebates_and_noncash_credits: Money,
    /// Amount to be paid in cash.
    pub cash: Money,
    /// Sum of the lines: the amount due.
    pub total: Money,
}

/// "Your monthly payment is determined as shown below."
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct PaymentDetermination {
    /// Agreed upon value of the vehicle.
    pub agreed_value: Money,
    /// Gross capitalized cost: the agreed value and items paid over the lease term.
    pub gross_capitalized_cost: Money,
    pub capitalized_cost_reduction: Money,
    pub adjusted_capitalized_cost: Money,
    pub residual_value: Money,
    /// = Depreciation and any amortized amounts.
    pub depreciation: Money,
    pub rent_charge: Money,
    /// = Total of base monthly payments.
    pub total_of_base_payments: Money,
    /// ÷ Lease payments: their number.
    pub number_of_payments: u16,
    /// = Base monthly payment.
    pub base_payment: Money,
    /// + Monthly sales or use tax.
    pub tax: Money,
    /// + Further parts of each payment, which the lessor names.
    pub other: Vec<NamedAmount>,
    pub total_monthly_payment: Money,
}

/// Model form A-2: the disclosures of a closed-end or net vehicle lease.
///
/// ```
/// use chrono::NaiveDate;
/// use lessor_domain::money::{Currency, Money};
/// use lessor_domain::pricing::disclosure::{
///     DisclosureHeader, VehicleCharges, VehicleLeaseDisclosure,
/// };
/// use lessor_domain::pricing::{LeaseTerms, Rate};
///
/// let usd = |amount| Money::parse(amount, Currency::USD);
/// let rate = Rate::MoneyFactor("0.0025".parse()?);
/// let lease = LeaseTerms::new(usd("20000")?, usd("12000")?, "36".parse()?, rate).quote()?;
/// let signing = NaiveDate::from_ymd_opt(2026, 11, 20).unwrap();
/// let disclosure = VehicleLeaseDisclosure::new(
///     &lease,
///     DisclosureHeader {
///         date: signing,
///         lessors: vec!["Example Leasing".to_owned()],
///         lessees: vec!["J. Smith".to_owned()],
///         first_payment_due: signing,
///         due_day: 20,
///     },
///     VehicleCharges {
///         security_deposit: usd("300")?,
///         ..VehicleCharges::none(Currency::USD)
///     },
/// )?;
/// assert_eq!(disclosure.amount_due.total.to_string(), "602.22");
/// assert_eq!(disclosure.monthly_payments.further_payments, 35);
/// assert_eq!(disclosure.total_of_payments.to_string(), "10879.92");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct VehicleLeaseDisclosure {
    /// Date and parties.
    pub header: DisclosureHeader,
    /// Amount due at lease signing or delivery, itemized. Its total heads the form.
    pub amount_due: VehicleAmountDue,
    pub monthly_payments: MonthlyPayments,
    /// Other charges, with the disposition fee as the charge at the end.
    pub other_charges: OtherCharges,
    /// What the lessee will have paid by the end of the lease.
    pub total_of_payments: Money,
    /// How the amount due will be paid.
    pub how_paid: HowAmountDueIsPaid,
    /// How the monthly payment is determined.
    pub determination: PaymentDetermination,
    /// Excessive wear and use: the mileage limit, if any.
    pub mileage_limit: Option<MileageLimit>,
    /// Purchase option at the end of the lease term, if any.
    pub purchase_option: Option<PurchaseOption>,
    /// The second part of the form.
    pub nonsegregated: NonsegregatedDisclosures,
}

impl VehicleLeaseDisclosure {
    /// Fills in the form for a lease.
    ///
    /// # Errors
    /// [`PricingError`] when the figures of the lease do not fit together
    /// ([`LeaseQuote::plan`]), a charge is negative, too large or of another currency, or the due
    /// day is not from 1 to 31.
    pub fn new(
        lease: &LeaseQuote,
        header: DisclosureHeader,
        charges: VehicleCharges,
    ) -> Result<Self, PricingError> {
        lease.check()?;
        check_amount("the security deposit", charges.security_deposit)?;
        check_amount("the sum of title fees", charges.title_fees)?;
        check_amount("the sum of registration fees", charges.registration_fees)?;
        check_amount("the disposition fee", charges.disposition_fee)?;
        check_purchase_option(charges.purchase_option, lease.currency)?;
        if let Some(limit) = charges.mileage_limit {
            check_amount("the charge per mile", limit.charge_per_mile)?;
            lease.agreed_value.same_currency(limit.charge_per_mile)?;
        }

        let total_monthly_payment = lease
            .monthly_payment
            .checked_add(sum(&charges.other_monthly, lease.currency)?)?;
        let instalments = Instalments {
            payment: total_monthly_payment,
            term: lease.term,
            in_advance: lease.payments_in_advance,
        };
        let first_monthly_payment = instalments.first_at_signing();
        let further_payments_in_advance = instalments.further_at_signing()?;
        let due = lease
            .capitalized_cost_reduction
            .checked_add(first_monthly_payment)?
            .checked_add(further_payments_in_advance)?
            .checked_add(charges.security_deposit)?
            .checked_add(charges.title_fees)?
            .checked_add(charges.registration_fees)?
            .checked_add(sum(&charges.other_at_signing, lease.currency)?)?;
        let cash = due.checked_sub(lease.trade_in)?.checked_sub(lease.rebate)?;
        let other_charges = OtherCharges::new(charges.disposition_fee, charges.other_charges)?;
        let fees_and_taxes = lease
            .payment_tax
            .checked_mul(lease.term.get().into())?
            .checked_add(charges.title_fees)?
            .checked_add(charges.registration_fees)?;

        Ok(Self {
            monthly_payments: instalments.disclose(&header)?,
            header,
            total_of_payments: instalments.total_of_payments(
                due,
                charges.security_deposit,
                other_charges.total,
            )?,
            amount_due: VehicleAmountDue {
                capitalized_cost_reduction: lease.capitalized_cost_reduction,
                first_monthly_payment,
                further_payments_in_advance,
                refundable_security_deposit: charges.security_deposit,
                title_fees: charges.title_fees,
                registration_fees: charges.registration_fees,
                other: charges.other_at_signing,
                total: due,
            },
            other_charges,
            how_paid: HowAmountDueIsPaid {
                net_trade_in_allowance: lease.trade_in,
                rebates_and_noncash_credits: lease.rebate,
                cash,
                total: due,
            },
            determination: PaymentDetermination {
                agreed_value: lease.agreed_value,
                gross_capitalized_cost: lease.gross_capitalized_cost,
                capitalized_cost_reduction: lease.capitalized_cost_reduction,
                adjusted_capitalized_cost: lease.adjusted_capitalized_cost,
                residual_value: lease.residual_value,
                depreciation: lease.depreciation,
                rent_charge: lease.rent_charge,
                total_of_base_payments: lease.total_of_base_payments,
                number_of_payments: lease.term.get(),
                base_payment: lease.base_payment,
                tax: lease.payment_tax,
                other: charges.other_monthly,
                total_monthly_payment,
            },
            mileage_limit: charges.mileage_limit,
            purchase_option: charges.purchase_option,
            nonsegregated: charges.nonsegregated.disclose(fees_and_taxes)?,
        })
    }
}
