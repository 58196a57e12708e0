//! What is known of persons, and how it is taken away.

use std::collections::BTreeSet;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, SmallInt, Text, Timestamptz};
use diesel_async::RunQueryDsl;
use lessor_domain::access::Mode;
use lessor_domain::cause::tried;
use lessor_domain::checkout::CANCELLED_BY_ERASURE;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{Erasure, PersonalDataStore, PersonalTable, Removal, Scope, StoreError};
use lessor_domain::shipments::Carrier;
use lessor_domain::text::Email;
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::row_count;
use super::error::store_error;
use super::schema::{
    agreement_events, agreements, checkout_transitions, customer_keys, deliveries, jobs,
    qualifications, simulated_customers, simulated_identity_sessions, simulated_payment_intents,
    simulated_subscriptions, tracking_events, unclaimed_tracking_events,
};

/// How many texts a statement looks for: bodies are many and long, and no index answers.
const AT_ONCE: usize = 20;

/// Answers by what they say and by what they answered. The key is the caller's own text, and is found by its
/// hash. Answers to erasures tell of no person.
const REPLACE_ANSWERS: &str = "\
UPDATE idempotency_answers SET status = $1, body = $2, key = 'erased', is_existing = false \
WHERE organization_id = $3 AND mode = $4 AND path NOT LIKE '%/erase' AND body <> $2 \
    AND (body LIKE ANY ($5) OR path LIKE ANY ($6))";

/// Only what was handled: nobody reads its body again.
const EMPTY_MESSAGES: &str = "\
UPDATE inbox_messages SET body = '' \
WHERE state = 'handled' AND received_at >= $1 AND body <> '' AND body LIKE ANY ($2)";

const COUNT_UNHANDLED: &str = "\
SELECT count(*) AS number FROM inbox_messages \
WHERE state IN ('waiting', 'failed') AND received_at >= $1 AND body LIKE ANY ($2)";

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// What matches any text that holds this one.
fn holding(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// The patterns as they are compared with bodies, which are bytes.
fn of_bytes(patterns: &[String]) -> Vec<Vec<u8>> {
    let patterns = patterns.iter();
    patterns
        .map(|pattern| pattern.clone().into_bytes())
        .collect()
}

/// Whose data go, as statements name them.
struct Person<'a> {
    erasure: &'a Erasure,
    owner: i64,
    customer: Uuid,
    ended: Vec<Uuid>,
    never_leased: Vec<Uuid>,
    /// What holds a name of theirs.
    names: Vec<String>,
    /// What holds the id of a checkout of theirs.
    checkouts: Vec<String>,
}

impl<'a> Person<'a> {
    fn of(scope: Scope, erasure: &'a Erasure) -> Self {
        let checkouts = erasure.ended.iter().chain(&erasure.running);
        Self {
            erasure,
            owner: scope.organization_id.get(),
            customer: erasure.customer.as_uuid(),
            ended: erasure.ended.iter().map(CheckoutPubId::as_uuid).collect(),
            never_leased: erasure
                .never_leased
                .iter()
                .map(CheckoutPubId::as_uuid)
                .collect(),
            names: erasure.names.iter().map(|name| holding(name)).collect(),
            checkouts: checkouts.map(|id| holding(&id.to_string())).collect(),
        }
    }

    /// What a provider that is played knows them by from now on.
    fn nobody(&self) -> Email {
        Email::of_nobody(self.customer)
    }

    /// Names and checkouts, so many at once.
    fn patterns(&self) -> Vec<Vec<String>> {
        let all: Vec<String> = self.names.iter().chain(&self.checkouts).cloned().collect();
        all.chunks(AT_ONCE).map(<[String]>::to_vec).collect()
    }
}

impl PgUnitOfWork {
    async fn forget_reasons(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use checkout_transitions as t;
        let told = t::table
            .filter(t::organization_id.eq(person.owner))
            .filter(t::checkout_id.eq_any(&person.ended))
            .filter(t::reason.ne(CANCELLED_BY_ERASURE));
        diesel::update(told)
            .set(t::reason.eq(None::<String>))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    async fn forget_reports(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use tracking_events as e;
        let told = e::table
            .filter(e::organization_id.eq(person.owner))
            .filter(e::checkout_id.eq_any(&person.ended))
            .filter(
                e::description
                    .is_not_null()
                    .or(e::location.is_not_null())
                    .or(e::signed_by.is_not_null()),
            );
        diesel::update(told)
            .set((
                e::description.eq(None::<String>),
                e::location.eq(None::<String>),
                e::signed_by.eq(None::<String>),
            ))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    /// Reports that came before the number was given: those that were about a checkout are its own by now.
    async fn forget_unclaimed(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use unclaimed_tracking_events as u;
        let mut forgotten = 0_usize;
        for carrier in Carrier::ALL {
            let shipments = person.erasure.shipments.iter();
            let numbers: Vec<&str> = shipments
                .filter(|tracking| tracking.carrier == *carrier)
                .map(|tracking| tracking.number.as_str())
                .collect();
            if numbers.is_empty() {
                continue;
            }
            let of_shipments = u::table
                .filter(u::tracking_number.eq_any(numbers))
                .filter(u::carrier.eq(carrier.as_str()));
            let deleted = diesel::delete(of_shipments)
                .execute(self.connection()?)
                .await
                .map_err(store_error)?;
            forgotten = forgotten.saturating_add(deleted);
        }
        Ok(forgotten)
    }

    async fn forget_refusals(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        let of_checkouts = jobs::subject_kind
            .eq("checkout")
            .and(jobs::subject_id.eq_any(&person.ended));
        let of_customer = jobs::subject_kind
            .eq("customer")
            .and(jobs::subject_id.eq(person.customer));
        let told = jobs::table
            .filter(jobs::organization_id.eq(person.owner))
            .filter(of_checkouts.or(of_customer))
            .filter(jobs::last_error.is_not_null());
        diesel::update(told)
            .set(jobs::last_error.eq(None::<String>))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    /// What endpoints answered when they were told of the customer or a checkout of theirs.
    async fn forget_what_was_answered(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use deliveries as d;
        let mut subjects = person.ended.clone();
        subjects.extend(person.erasure.running.iter().map(CheckoutPubId::as_uuid));
        subjects.push(person.customer);
        let told = d::table
            .filter(d::organization_id.eq(person.owner))
            .filter(d::subject_id.eq_any(subjects))
            .filter(d::response_body.is_not_null());
        diesel::update(told)
            .set(d::response_body.eq(None::<String>))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    async fn forget_decisions(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use qualifications as q;
        let none: Vec<String> = Vec::new();
        let told = q::table
            .filter(q::organization_id.eq(person.owner))
            .filter(q::checkout_id.eq_any(&person.ended))
            .filter(q::reference.is_not_null().or(q::reasons.ne(&none)));
        diesel::update(told)
            .set((q::reference.eq(None::<String>), q::reasons.eq(&none)))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    async fn forget_documents(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use agreements as a;
        let told = a::table
            .filter(a::organization_id.eq(person.owner))
            .filter(a::checkout_id.eq_any(&person.never_leased))
            .filter(
                a::pdf
                    .is_not_null()
                    .or(a::signer_name.is_not_null())
                    .or(a::signer_reference.is_not_null()),
            );
        diesel::update(told)
            .set((
                a::pdf.eq(None::<Vec<u8>>),
                a::signer_name.eq(None::<String>),
                a::signer_reference.eq(None::<String>),
            ))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    /// From where they opened and signed. The hashes stay, and follow from what nobody knows any more.
    async fn forget_signing(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use agreement_events as e;
        use agreements as a;
        let documents: Vec<Uuid> = a::table
            .filter(a::organization_id.eq(person.owner))
            .filter(a::checkout_id.eq_any(&person.never_leased))
            .select(a::id)
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        let told = e::table
            .filter(e::organization_id.eq(person.owner))
            .filter(e::agreement_id.eq_any(documents))
            .filter(e::address.is_not_null().or(e::user_agent.is_not_null()));
        diesel::update(told)
            .set((
                e::address.eq(None::<String>),
                e::user_agent.eq(None::<String>),
            ))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    async fn replace_answers(
        &mut self,
        mode: Mode,
        person: &Person<'_>,
    ) -> Result<usize, StoreError> {
        let replacement = &person.erasure.replacement;
        let status = i16::try_from(replacement.status).map_err(|error| {
            StoreError::internal(tried("the answer's status cannot be kept", error))
        })?;
        let paths: Vec<String> = person.patterns().concat();
        diesel::sql_query(REPLACE_ANSWERS)
            .bind::<SmallInt, _>(status)
            .bind::<Binary, _>(&replacement.body)
            .bind::<BigInt, _>(person.owner)
            .bind::<Text, _>(mode.as_str())
            .bind::<Array<Binary>, _>(of_bytes(&person.names))
            .bind::<Array<Text>, _>(paths)
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    async fn empty_messages(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        let mut emptied = 0_usize;
        for patterns in person.patterns() {
            let written = diesel::sql_query(EMPTY_MESSAGES)
                .bind::<Timestamptz, _>(person.erasure.since)
                .bind::<Array<Binary>, _>(of_bytes(&patterns))
                .execute(self.connection()?)
                .await
                .map_err(store_error)?;
            emptied = emptied.saturating_add(written);
        }
        Ok(emptied)
    }

    /// How many messages are still to be read. They are few: all patterns at once.
    async fn unhandled(&mut self, person: &Person<'_>) -> Result<u64, StoreError> {
        let patterns = person.patterns().concat();
        let count: Count = diesel::sql_query(COUNT_UNHANDLED)
            .bind::<Timestamptz, _>(person.erasure.since)
            .bind::<Array<Binary>, _>(of_bytes(&patterns))
            .get_result(self.connection()?)
            .await
            .map_err(store_error)?;
        Ok(row_count(count.number))
    }

    /// What is sealed stays where it is, and nobody opens it any more.
    async fn drop_key(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use customer_keys as k;
        let own = k::table
            .filter(k::organization_id.eq(person.owner))
            .filter(k::customer_id.eq(person.customer));
        // What is sealed afterwards is sealed for nobody.
        self.sealing.clear();
        self.born.clear();
        diesel::delete(own)
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    /// Of whoever leases, the simulated processor still needs the address, which says how it is to answer.
    async fn forget_at_processor(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use simulated_customers as c;
        let nobody = person.nobody();
        let own = c::table
            .filter(c::organization_id.eq(person.owner))
            .filter(c::customer_id.eq(person.customer));
        let written = if person.erasure.running.is_empty() {
            diesel::update(own.filter(c::email.ne(nobody.as_str())))
                .set((
                    c::email.eq(nobody.as_str()),
                    c::name.eq(None::<String>),
                    c::phone.eq(None::<String>),
                ))
                .execute(self.connection()?)
                .await
        } else {
            diesel::update(own.filter(c::phone.ne("")))
                .set(c::phone.eq(None::<String>))
                .execute(self.connection()?)
                .await
        };
        written.map_err(store_error)
    }

    async fn forget_deposits(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use simulated_payment_intents as i;
        let nobody = person.nobody();
        let own = i::table
            .filter(i::organization_id.eq(person.owner))
            .filter(i::checkout_id.eq_any(&person.ended))
            .filter(i::email.ne(nobody.as_str()));
        diesel::update(own)
            .set(i::email.eq(nobody.as_str()))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    async fn forget_subscriptions(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use simulated_subscriptions as s;
        let nobody = person.nobody();
        let own = s::table
            .filter(s::organization_id.eq(person.owner))
            .filter(s::checkout_id.eq_any(&person.ended))
            .filter(s::email.ne(nobody.as_str()));
        diesel::update(own)
            .set(s::email.eq(nobody.as_str()))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }

    /// Who leases is verified, and whoever is not has no checkout any more that asks.
    async fn forget_at_verifier(&mut self, person: &Person<'_>) -> Result<usize, StoreError> {
        use simulated_identity_sessions as s;
        let nobody = person.nobody();
        let own = s::table
            .filter(s::organization_id.eq(person.owner))
            .filter(s::customer_id.eq(person.customer))
            .filter(s::email.ne(nobody.as_str()));
        diesel::update(own)
            .set(s::email.eq(nobody.as_str()))
            .execute(self.connection()?)
            .await
            .map_err(store_error)
    }
}

#[async_trait]
impl PersonalDataStore for PgUnitOfWork {
    async fn erase(&mut self, scope: Scope, erasure: &Erasure) -> Result<Removal, StoreError> {
        // What was noted of them is taken away as well.
        self.write_down().await?;
        let person = Person::of(scope, erasure);
        let mut tables = BTreeSet::new();
        macro_rules! take {
            ($($table:ident: $written:expr,)*) => {$(
                if $written.await? > 0 {
                    tables.insert(PersonalTable::$table);
                }
            )*};
        }
        take! {
            CheckoutTransitions: self.forget_reasons(&person),
            TrackingEvents: self.forget_reports(&person),
            UnclaimedTrackingEvents: self.forget_unclaimed(&person),
            Jobs: self.forget_refusals(&person),
            Qualifications: self.forget_decisions(&person),
            Agreements: self.forget_documents(&person),
            AgreementEvents: self.forget_signing(&person),
            Deliveries: self.forget_what_was_answered(&person),
            MailSuppressions: self.forget_suppressions(erasure, &person.ended),
            Mails: self.forget_recipients(&person.ended),
            IdempotencyAnswers: self.replace_answers(scope.mode, &person),
            InboxMessages: self.empty_messages(&person),
            CustomerKeys: self.drop_key(&person),
        }
        // What is simulated serves the sandbox alone.
        if scope.mode == Mode::Sandbox {
            take! {
                SimulatedCustomers: self.forget_at_processor(&person),
                SimulatedPaymentIntents: self.forget_deposits(&person),
                SimulatedSubscriptions: self.forget_subscriptions(&person),
                SimulatedIdentitySessions: self.forget_at_verifier(&person),
            }
        }
        Ok(Removal {
            tables: tables.into_iter().collect(),
            unhandled: self.unhandled(&person).await?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_hold() {
        assert_eq!(holding("usr_1"), r"%usr\_1%");
        assert_eq!(holding(r"100 %\"), r"%100 \%\\%");
        assert_eq!(holding(""), "%%");
    }
}
