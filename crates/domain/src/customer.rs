//! Customers, the lessees.

use crate::access::Mode;
use crate::address::{Address, Country};
use crate::ids::{CustomerPubId, OrganizationId, UserId};
use crate::metadata::Metadata;
use crate::names::named_enum;
use crate::organization::{NotServed, ServiceArea};
use crate::text::{Email, Line};
use crate::time::{Day, Timestamp};
use chrono::Datelike as _;

named_enum! {
    /// What the credit check said.
    pub enum CreditStatus {
        /// Not checked.
        Unknown = "unknown",
        /// Passed.
        Passed = "passed",
        /// Failed.
        Failed = "failed",
    }
}

named_enum! {
    /// How far the identity verification is.
    pub enum IdentityStatus {
        /// Not begun.
        None = "none",
        /// Begun; the customer has something to do.
        Pending = "pending",
        /// Submitted; the verifier decides.
        Processing = "processing",
        /// Verified.
        Verified = "verified",
        /// Refused.
        Failed = "failed",
    }
}

/// What the screening of a customer has found out.
///
/// What a simulated verifier said must never open a real lease: a person is another customer in each
/// mode, screened on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Screening {
    /// The identity verification.
    pub identity: IdentityStatus,
    /// The verifier's session.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub verification_session_id: Option<String>,
    /// The credit check.
    pub credit: CreditStatus,
    /// When credit was checked.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub credit_at: Option<Timestamp>,
    /// The IP address that consented to the credit check.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub credit_ip_address: Option<String>,
    /// The customer at the payment processor.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub processor_id: Option<String>,
}

impl Default for Screening {
    fn default() -> Self {
        Self {
            identity: IdentityStatus::None,
            verification_session_id: None,
            credit: CreditStatus::Unknown,
            credit_at: None,
            credit_ip_address: None,
            processor_id: None,
        }
    }
}

/// Name, phone and postal address of a customer; each member may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, rename_all = "camelCase"))]
pub struct Profile {
    /// Given name.
    pub first_name: Option<Line>,
    /// Family name.
    pub last_name: Option<Line>,
    /// Street and number.
    pub address1: Option<Line>,
    /// Second line.
    pub address2: Option<Line>,
    pub city: Option<Line>,
    /// State or province.
    pub state: Option<Line>,
    /// Postal code.
    pub zip: Option<Line>,
    pub country: Option<Country>,
    /// Phone number.
    pub phone: Option<Line>,
    /// When they were born, for verifiers.
    pub birth_date: Option<Day>,
}

/// What of a person differs from what was known of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PersonChange {
    /// Nothing that was verified or checked: nothing at all, or the phone.
    None,
    /// Where they live: their credit is another.
    Address,
    /// Name or birth date: they are somebody else.
    Person,
}

/// No person of whom anybody knows was older.
const OLDEST_YEARS: i32 = 125;

/// Whether somebody who is alive that day may have been born on this one.
#[must_use]
pub fn is_plausible_birth_date(born: Day, today: Day) -> bool {
    born < today && today.year().saturating_sub(born.year()) <= OLDEST_YEARS
}

/// How a phone number begins that is the same in every country.
const INTERNATIONAL: char = '+';

impl Profile {
    /// What differs of the person who was known by the profile before.
    #[must_use]
    pub fn change_since(&self, before: &Self) -> PersonChange {
        let person = |it: &Self| (it.first_name.clone(), it.last_name.clone(), it.birth_date);
        let place = |it: &Self| {
            let lines = [&it.address1, &it.address2, &it.city, &it.state, &it.zip];
            (lines.map(Clone::clone), it.country)
        };
        if person(self) != person(before) {
            PersonChange::Person
        } else if place(self) != place(before) {
            PersonChange::Address
        } else {
            PersonChange::None
        }
    }

    /// Whether nothing is missing that a lease needs: both names and a complete
    /// address. A phone number is welcome, not needed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.first_name.is_some() && self.last_name.is_some() && self.address().is_some()
    }

    /// The address, when it is complete and of its country's form.
    #[must_use]
    pub fn address(&self) -> Option<Address> {
        Address {
            first_name: self.first_name.clone(),
            last_name: self.last_name.clone(),
            company: None,
            address1: self.address1.clone()?,
            address2: self.address2.clone(),
            city: self.city.clone()?,
            state: self.state.clone(),
            zip: self.zip.clone()?,
            country: self.country?,
            phone: self.phone.clone(),
        }
        .of_its_country()
        .ok()
    }

    /// As the checkout page gives it: without the birth date, which is asked for on no page, and kept nowhere
    /// but in the customer.
    #[must_use]
    pub fn as_on_a_page(self) -> Self {
        Self {
            birth_date: None,
            ..self
        }
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Fills what is missing here from `given`; what is here stays. The address is filled whole or
    /// not at all: half of an old one and half of a new one is no place.
    pub fn fill_from(&mut self, given: Self) {
        let Self {
            first_name,
            last_name,
            address1,
            address2,
            city,
            state,
            zip,
            country,
            phone,
            birth_date,
        } = given;
        let is_part = |own: &Option<Line>, whole: &Option<Line>| own.is_none() || own == whole;
        let is_of_the_given = is_part(&self.address1, &address1)
            && is_part(&self.address2, &address2)
            && is_part(&self.city, &city)
            && is_part(&self.state, &state)
            && is_part(&self.zip, &zip)
            && (self.country.is_none() || self.country == country);
        if is_of_the_given {
            self.address1 = address1;
            self.address2 = address2;
            self.city = city;
            self.state = state;
            self.zip = zip;
            self.country = country;
        }
        self.first_name = self.first_name.take().or(first_name);
        self.last_name = self.last_name.take().or(last_name);
        self.birth_date = self.birth_date.or(birth_date);
        // A number in the form of another country cannot be dialled from here.
        let is_from_here = self.country == country;
        let dialled =
            phone.filter(|phone| is_from_here || phone.as_str().starts_with(INTERNATIONAL));
        self.phone = self.phone.take().or(dialled);
    }

    /// Whether the organization cannot serve the customer by as much of the address as is known; a
    /// country alone may be enough to say so.
    ///
    /// # Errors
    /// [`NotServed`], the coarsest level at which no entry of the area fits.
    pub fn check_served(&self, area: &ServiceArea) -> Result<(), NotServed> {
        match (self.address(), self.country) {
            (Some(address), _) => area.serves(&address),
            (None, Some(country)) => {
                area.may_serve(country, self.state.as_ref(), self.zip.as_ref())
            }
            (None, None) => Ok(()),
        }
    }
}

/// A customer, who is also a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    /// Its public id, the user's.
    pub id: CustomerPubId,
    /// Its number.
    pub user_id: UserId,
    /// The organization whose customer it is.
    pub organization_id: OrganizationId,
    /// Live or sandbox: a person who leases in both is a customer of each.
    pub mode: Mode,
    /// Its e-mail address, unique within the organization and the mode in any case.
    pub email: Email,
    /// Name, phone and address.
    pub profile: Profile,
    /// What screening found.
    pub screening: Screening,
    /// What the organization whose customer it is keeps beside it.
    pub metadata: Metadata,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When what told of the person was first taken away, if it was.
    pub erased_at: Option<Timestamp>,
    /// Counts the writes; a write of another version is refused.
    pub version: i64,
}

impl Customer {
    /// Takes away what tells of the person. Of whoever leases, name, address and e-mail address stay,
    /// and what screening found; the payment processor's number stays in any case, since refunds and
    /// disputes name it. False when nothing was left to take.
    pub fn forget_person(&mut self, leases: bool, at: Timestamp) -> bool {
        let before = self.clone();
        self.metadata = Metadata::default();
        self.profile.phone = None;
        self.profile.birth_date = None;
        self.screening.verification_session_id = None;
        self.screening.credit_ip_address = None;
        if !leases {
            self.email = Email::of_nobody(self.id.as_uuid());
            self.profile = Profile::default();
            self.screening = Screening {
                processor_id: self.screening.processor_id.take(),
                ..Screening::default()
            };
        }
        self.erased_at = self.erased_at.or(Some(at));
        if *self == before {
            return false;
        }
        self.updated_at = at;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(members: &[(&str, &str)]) -> Profile {
        let mut profile = Profile::default();
        for (member, value) in members {
            let line = Some(Line::parse(value).unwrap());
            match *member {
                "firstName" => profile.first_name = line,
                "lastName" => profile.last_name = line,
                "address1" => profile.address1 = line,
                "address2" => profile.address2 = line,
                "city" => profile.city = line,
                "state" => profile.state = line,
                "zip" => profile.zip = line,
                "country" => profile.country = Some(value.parse().unwrap()),
                "phone" => profile.phone = line,
                other => panic!("{other}"),
            }
        }
        profile
    }

    const PARIS: &[(&str, &str)] = &[
        ("address1", "1 rue du Bac"),
        ("city", "Paris"),
        ("zip", "75007"),
        ("country", "FR"),
    ];

    #[test]
    fn an_address_is_filled_whole_or_not_at_all() {
        let cases: [(&[(&str, &str)], bool); 6] = [
            (&[], true),
            (&[("country", "FR")], true),
            (&[("city", "Paris"), ("zip", "75007")], true),
            (&[("country", "US")], false),
            (&[("city", "Lyon")], false),
            // A line that the given one lacks makes it another place.
            (&[("address2", "3rd floor")], false),
        ];
        for (known, is_filled) in cases {
            let mut filled = profile(known);
            filled.fill_from(profile(PARIS));
            let expected = if is_filled { PARIS } else { known };
            assert_eq!(filled, profile(expected), "{known:?}");
        }
    }

    #[test]
    fn names_and_phone_are_filled_each_on_its_own() {
        let mut filled = profile(&[("firstName", "Ada"), ("country", "US")]);
        filled.fill_from(profile(&[
            ("firstName", "Grace"),
            ("lastName", "Hopper"),
            ("phone", "+14155550100"),
            ("country", "FR"),
        ]));
        let expected = profile(&[
            ("firstName", "Ada"),
            ("lastName", "Hopper"),
            ("phone", "+14155550100"),
            ("country", "US"),
        ]);
        assert_eq!(filled, expected);
    }

    #[test]
    fn a_number_of_another_country_is_not_filled() {
        let national = ("phone", "(415) 555-0100");
        let us = ("country", "US");
        let cases: [(&[(&str, &str)], bool); 4] = [
            (&[us], true),
            (&[("country", "FR")], false),
            // Without the given one's place, nothing says where the number is to be dialled.
            (&[("city", "Paris")], false),
            (&[us, ("phone", "+14155550199")], false),
        ];
        for (known, is_filled) in cases {
            let mut filled = profile(known);
            filled.fill_from(profile(&[us, ("city", "San Francisco"), national]));
            let number = Some(Line::parse(national.1).unwrap());
            assert_eq!(filled.phone == number, is_filled, "{known:?}");
        }
    }

    #[test]
    fn another_name_is_another_person_and_another_place_another_credit() {
        let known = [
            ("firstName", "Grace"),
            ("lastName", "Hopper"),
            ("phone", "+14155550100"),
        ];
        let known: Vec<_> = known.iter().chain(PARIS).copied().collect();
        let with = |member: &'static str, value: &'static str| {
            let mut members = known.clone();
            members.push((member, value));
            profile(&members)
        };
        let table = [
            (with("firstName", "Grace"), PersonChange::None),
            (with("phone", "+14155550199"), PersonChange::None),
            (with("firstName", "Mallory"), PersonChange::Person),
            (with("lastName", "Mallory"), PersonChange::Person),
            (with("address1", "2 rue du Bac"), PersonChange::Address),
            (with("address2", "3rd floor"), PersonChange::Address),
            (with("city", "Lyon"), PersonChange::Address),
            (with("state", "IDF"), PersonChange::Address),
            (with("zip", "75008"), PersonChange::Address),
            (with("country", "DE"), PersonChange::Address),
            (
                Profile {
                    birth_date: Day::from_ymd_opt(1906, 12, 9),
                    ..with("city", "Lyon")
                },
                PersonChange::Person,
            ),
        ];
        for (changed, expected) in table {
            assert_eq!(
                changed.change_since(&profile(&known)),
                expected,
                "{changed:?}"
            );
        }
    }

    #[test]
    fn people_are_born_before_today_and_die() {
        let day = |year, month, day| Day::from_ymd_opt(year, month, day).unwrap();
        let today = day(2026, 11, 23);
        for (born, plausible) in [
            (day(2026, 11, 22), true),
            (today, false),
            (day(2026, 11, 24), false),
            (day(1901, 1, 1), true),
            (day(1900, 12, 31), false),
        ] {
            assert_eq!(is_plausible_birth_date(born, today), plausible, "{born}");
        }
    }

    #[test]
    fn a_country_alone_tells_whether_it_is_served() {
        let area: ServiceArea = "US-CA,CA:K1A*".parse().unwrap();
        let cases: [(&[(&str, &str)], _); 6] = [
            (&[], Ok(())),
            (&[("city", "Paris")], Ok(())),
            (&[("country", "FR")], Err(NotServed::Country)),
            (&[("country", "US")], Ok(())),
            (&[("country", "US"), ("state", "NY")], Err(NotServed::State)),
            (&[("country", "CA"), ("state", "ON")], Ok(())),
        ];
        for (known, expected) in cases {
            assert_eq!(profile(known).check_served(&area), expected, "{known:?}");
        }
    }
}
