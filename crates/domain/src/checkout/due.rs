//! What is taken of the customer's money, and when.

use super::snapshot::Snapshot;
use crate::money::{Money, MoneyError};
use crate::names::named_enum;
use crate::pricing::Quote;

named_enum! {
    /// When the first monthly payment is taken.
    pub enum FirstPaymentDue {
        /// When the goods arrive: they are tracked.
        OnDelivery = "onDelivery",
        /// When the goods are handed over to whoever brings or fetches them: nobody tells of their
        /// arrival.
        OnShipment = "onShipment",
    }
}

/// What is taken of the customer's money at the beginning of a lease, and when. Whoever shows it, shows
/// this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// What is bought along.
    pub purchases: Money,
    /// The deposit and what is bought along: reserved when the deposit is submitted, taken when
    /// the lease is signed.
    pub authorized_at_signing: Money,
    /// The first month, with its insurance.
    pub first_payment: Money,
    /// When the first month is taken.
    pub first_payment_due: FirstPaymentDue,
    /// All of it together.
    pub due_at_signing: Money,
}

impl Snapshot {
    /// What is taken at the beginning of the lease at this price.
    ///
    /// # Errors
    /// [`MoneyError`] when it is more than can be counted.
    pub fn due(&self, quote: &Quote) -> Result<Due, MoneyError> {
        let purchases = self.purchase_total(Money::zero(quote.currency))?;
        Ok(Due {
            purchases,
            authorized_at_signing: quote.deposit.checked_add(purchases)?,
            first_payment: quote.total_monthly_payment,
            first_payment_due: self.first_payment_due(),
            due_at_signing: quote.total_due_at_signing.checked_add(purchases)?,
        })
    }

    /// When the first monthly payment is taken, as far as that is known: who fetches the goods has them
    /// when they are handed over, and what is sent is tracked until it turns out not to be.
    #[must_use]
    pub const fn first_payment_due(&self) -> FirstPaymentDue {
        let is_untracked = match (&self.shipment.tracking, self.shipment.shipped_at) {
            (Some(_), _) => false,
            (None, Some(_)) => true,
            (None, None) => self.pickup_location_id.is_some(),
        };
        if is_untracked {
            FirstPaymentDue::OnShipment
        } else {
            FirstPaymentDue::OnDelivery
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::{Checkout, PurchaseItem, Tracking};
    use crate::ids::PickupLocationId;
    use crate::money::Currency;
    use crate::percentage::Percentage;
    use crate::shipments::{Carrier, TrackingNumber};
    use crate::testing::Fixtures;
    use crate::text::Name;

    fn usd(minor: i64) -> Money {
        Money::from_minor(minor, Currency::USD)
    }

    fn checkout(change: impl FnOnce(&mut Snapshot)) -> Checkout {
        let make = Fixtures::default();
        let organization = make.organization().build();
        let customer = make.customer(&organization).build();
        let variant = make.variant(&make.product(&organization).build()).build();
        make.checkout(&customer, &variant).with(change).build()
    }

    #[test]
    fn what_is_taken_when_adds_up_to_what_is_due_at_signing() {
        let helmets = PurchaseItem {
            name: Name::parse("Helmet").unwrap(),
            amount: usd(4_900),
            quantity: 2,
            variant_id: None,
        };
        let make = Fixtures::default();
        let card = make.lease_term(&make.organization().build()).build().card;
        let quote = crate::pricing::quote(usd(129_900), Percentage::ZERO, &card).unwrap();
        for (items, bought) in [(vec![], 0), (vec![helmets], 9_800)] {
            let due = checkout(|it| it.purchase_items = items)
                .due(&quote)
                .unwrap();
            assert_eq!(due.purchases, usd(bought));
            assert_eq!(
                due.authorized_at_signing.minor(),
                quote.deposit.minor() + bought
            );
            assert_eq!(due.first_payment, quote.total_monthly_payment);
            assert_eq!(
                due.due_at_signing.minor(),
                due.authorized_at_signing.minor() + due.first_payment.minor()
            );
        }
    }

    #[test]
    fn the_first_payment_is_due_when_the_goods_are_known_to_be_there() {
        let tracking = || Tracking {
            number: TrackingNumber::parse("1Z410E7W0392751591").unwrap(),
            carrier: Carrier::Ups,
        };
        let at = Fixtures::default().tick();
        let (delivery, shipment) = (FirstPaymentDue::OnDelivery, FirstPaymentDue::OnShipment);
        for (picked_up, shipped, tracked, due) in [
            (false, false, false, delivery),
            (true, false, false, shipment),
            (false, true, true, delivery),
            (false, true, false, shipment),
            (true, true, true, delivery),
            (true, true, false, shipment),
        ] {
            let checkout = checkout(|it| {
                it.pickup_location_id = PickupLocationId::new(7).ok().filter(|_| picked_up);
                it.shipment.shipped_at = shipped.then_some(at);
                it.shipment.tracking = tracked.then(tracking);
            });
            assert_eq!(
                checkout.first_payment_due(),
                due,
                "picked up {picked_up}, shipped {shipped}, tracked {tracked}"
            );
        }
    }
}
