//! What a customer's e-mail address asks for.

use lessor_domain::checkout::Refusal;

/// The outcomes that the tags of an e-mail address ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EmailTags<'a> {
    tags: &'a str,
}

impl<'a> EmailTags<'a> {
    /// Those of the address: tags stand behind a `+` of its local part, several of
    /// them behind one each, in any case.
    pub(super) fn of(email: &'a str) -> Self {
        let local = email.rsplit_once('@').map_or(email, |(local, _)| local);
        let tags = local.split_once('+').map_or("", |(_, tags)| tags);
        Self { tags }
    }

    fn asks_for(self, outcome: &str) -> bool {
        self.tags
            .split('+')
            .any(|tag| tag.eq_ignore_ascii_case(outcome))
    }

    pub(super) fn identity_fails(self) -> bool {
        self.asks_for("identityfail")
    }

    pub(super) fn credit_fails(self) -> bool {
        self.asks_for("creditfail")
    }

    /// Whether this attempt, counted from 1 for each checkout, is refused.
    pub(super) fn deposit_fails(self, attempt: i32) -> bool {
        self.asks_for("depositdecline") || attempt == 1 && self.asks_for("depositfail")
    }

    /// Whether this attempt, counted from 1 for each checkout, is refused.
    pub(super) fn capture_fails(self, attempt: i32) -> bool {
        self.asks_for("capturedecline") || attempt == 1 && self.asks_for("capturefail")
    }

    /// Whether the first payment of this subscription, counted from 1 for each checkout, fails.
    pub(super) fn first_payment_fails(self, attempt: i32) -> bool {
        attempt == 1 && self.asks_for("firstpaymentfail")
    }

    /// Whether the payment of this cycle, counted from 1, fails.
    pub(super) fn payment_fails(self, cycle: i32) -> bool {
        cycle > 1 && self.asks_for("paymentfail")
    }
}

pub(super) fn refusal(code: &str, message: &str) -> Refusal {
    Refusal {
        code: code.to_owned(),
        message: message.to_owned(),
    }
}

/// What the bank says to a payment that the address asked to fail.
pub(super) fn declined() -> Refusal {
    refusal("card_declined", "Your card was declined.")
}

/// What the processor says to an id that it does not know.
pub(super) fn unknown(what: &str, id: &str) -> Refusal {
    refusal("resource_missing", &format!("No such {what}: '{id}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_stand_behind_a_plus_of_the_local_part() {
        assert!(EmailTags::of("jo+creditfail@example.com").credit_fails());
        assert!(EmailTags::of("jo+42+CreditFail@example.com").credit_fails());
        assert!(EmailTags::of("jo+creditfail+identityfail@example.com").identity_fails());
        for other in [
            "creditfail@example.com",
            "jo@creditfail+creditfail.example.com",
            "jo+creditfailure@example.com",
            "jo+nocreditfail@example.com",
        ] {
            assert!(!EmailTags::of(other).credit_fails(), "{other}");
        }
    }

    #[test]
    fn some_fail_once_and_some_always() {
        let once = EmailTags::of("jo+depositfail+capturefail+paymentfail@example.com");
        let always = EmailTags::of("jo+depositdecline+capturedecline@example.com");
        assert_eq!([1, 2].map(|n| once.deposit_fails(n)), [true, false]);
        assert_eq!([1, 2].map(|n| once.capture_fails(n)), [true, false]);
        assert_eq!(
            [1, 2, 3].map(|n| once.payment_fails(n)),
            [false, true, true]
        );
        assert_eq!([1, 2].map(|n| always.deposit_fails(n)), [true, true]);
        assert_eq!([1, 2].map(|n| always.capture_fails(n)), [true, true]);
        assert!(!always.payment_fails(2));
        let first = EmailTags::of("jo+firstpaymentfail@example.com");
        assert_eq!([1, 2].map(|n| first.first_payment_fails(n)), [true, false]);
        assert!(!first.payment_fails(2) && !once.first_payment_fails(1));
    }
}
