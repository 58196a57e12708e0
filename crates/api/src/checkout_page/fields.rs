//! What a customer typed into a form.

use lessor_domain::address::{Address, AddressError, Country, parse_phone, parse_state, parse_zip};
use lessor_domain::customer::Profile;
use lessor_domain::ports::DialingPlan;
use lessor_domain::services::Error;
use lessor_domain::services::addresses::checked_address;
use lessor_domain::text::Line;

use super::faults::{Fault, Problem};
use crate::request::FormBody;

/// The fields of a form; what is blank is not there.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl From<FormBody> for Fields {
    fn from(form: FormBody) -> Self {
        Self(
            form.0
                .into_iter()
                .filter(|(_, value)| !value.trim().is_empty())
                .collect(),
        )
    }
}

impl Fields {
    /// What was typed into the field.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.trim())
    }

    /// Whether nothing was sent: the page is shown for the first time.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The field, which has to be there.
    pub(super) fn required(&self, name: &str) -> Result<&str, Error> {
        self.get(name).ok_or_else(|| Error::Missing {
            param: name.to_owned(),
        })
    }

    fn line(&self, name: &str) -> Result<Option<Line>, Error> {
        self.get(name)
            .map(|text| Line::parse(text).map_err(|error| Error::invalid(name, error)))
            .transpose()
    }

    fn required_line(&self, name: &str) -> Result<Line, Error> {
        let text = self.required(name)?;
        Line::parse(text).map_err(|error| Error::invalid(name, error))
    }

    fn country(&self) -> Result<Country, Error> {
        self.required("country")?
            .parse()
            .map_err(|error| Error::invalid("country", error))
    }

    /// Name, phone and address of a customer.
    pub(super) fn profile(&self) -> Result<Profile, Error> {
        Ok(Profile {
            first_name: Some(self.required_line("firstName")?),
            last_name: Some(self.required_line("lastName")?),
            address1: Some(self.required_line("address1")?),
            address2: self.line("address2")?,
            city: Some(self.required_line("city")?),
            zip: Some(self.required_line("zip")?),
            country: Some(self.country()?),
            state: self.state()?,
            phone: self.line("phone")?,
            birth_date: None,
        })
    }

    fn state(&self) -> Result<Option<Line>, Error> {
        let state = self.line("state")?;
        if state.is_none() && self.country()?.needs_state() {
            return Err(Error::Missing {
                param: "state".to_owned(),
            });
        }
        Ok(state)
    }

    /// A postal address.
    pub(super) fn address(&self, phones: &dyn DialingPlan) -> Result<Address, Error> {
        let address = Address {
            first_name: self.line("firstName")?,
            last_name: self.line("lastName")?,
            company: self.line("company")?,
            address1: self.required_line("address1")?,
            address2: self.line("address2")?,
            city: self.required_line("city")?,
            zip: self.required_line("zip")?,
            country: self.country()?,
            state: self.state()?,
            phone: self.line("phone")?,
        };
        checked_address(phones, address)
            .map_err(|fault| Error::invalid(fault.member, fault.problem))
    }

    /// All that is wrong with name, phone and address of a customer, in the order of the form.
    pub(super) fn faults_of_profile(&self, phones: &dyn DialingPlan) -> Vec<Fault> {
        let of_person = ["firstName", "lastName"].map(|name| self.fault_of_line(name, true));
        let mut faults: Vec<Fault> = of_person.into_iter().flatten().collect();
        faults.extend(self.faults_of_place(phones));
        faults
    }

    /// All that is wrong with a postal address, in the order of the form.
    pub(super) fn faults_of_address(&self, phones: &dyn DialingPlan) -> Vec<Fault> {
        let of_person =
            ["firstName", "lastName", "company"].map(|name| self.fault_of_line(name, false));
        let mut faults: Vec<Fault> = of_person.into_iter().flatten().collect();
        faults.extend(self.faults_of_place(phones));
        faults
    }

    fn fault_of_line(&self, name: &str, is_required: bool) -> Option<Fault> {
        match self.get(name) {
            Some(text) => {
                let error = Line::parse(text).err()?;
                Some(Fault::of_text(name, &error))
            }
            None => is_required.then(|| Fault::new(name, Problem::Missing)),
        }
    }

    /// What is wrong with where somebody is. What depends on the country is looked at once that is known.
    fn faults_of_place(&self, phones: &dyn DialingPlan) -> impl Iterator<Item = Fault> {
        let known = self.get("country");
        let country = known.and_then(|text| text.parse::<Country>().ok());
        let checked = |name: &str, check: &dyn Fn(&Line) -> Result<Line, AddressError>| {
            let line = Line::parse(self.get(name)?).ok()?;
            let error = check(&line).err()?;
            Some(Fault::new(name, Problem::Address(error.problem)))
        };
        let in_country = |name, parse: fn(Country, &Line) -> Result<Line, AddressError>| {
            checked(name, &|line| match country {
                Some(country) => parse(country, line),
                None => Ok(line.clone()),
            })
        };
        let needs_state = country.is_some_and(Country::needs_state);
        [
            self.fault_of_line("address1", true),
            self.fault_of_line("address2", false),
            self.fault_of_line("city", true),
            self.fault_of_line("zip", true)
                .or_else(|| in_country("zip", parse_zip)),
            self.fault_of_line("state", needs_state)
                .or_else(|| in_country("state", parse_state)),
            self.fault_of_line("phone", false).or_else(|| {
                checked("phone", &|line| {
                    parse_phone(line, phones.read(country, line))
                })
            }),
            match (known, country) {
                (None, _) => Some(Fault::new("country", Problem::Missing)),
                (Some(_), None) => Some(Fault::new("country", Problem::Choice)),
                (Some(_), Some(_)) => None,
            },
        ]
        .into_iter()
        .flatten()
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::address::{AddressProblem, PhoneNumber};

    use super::*;

    /// Reads what begins with a plus.
    struct Plan;

    impl DialingPlan for Plan {
        fn read(&self, _: Option<Country>, text: &Line) -> Option<PhoneNumber> {
            let digits = text.as_str().strip_prefix("+1")?;
            Some(PhoneNumber {
                country_code: 1,
                national: digits.to_owned(),
            })
        }
    }

    fn fields(entered: &[(&str, &str)]) -> Fields {
        let entered = entered.iter();
        Fields(
            entered
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    const GOOD: [(&str, &str); 8] = [
        ("firstName", "Grace"),
        ("lastName", "Hopper"),
        ("address1", "1 Market St"),
        ("city", "San Francisco"),
        ("zip", "94105"),
        ("state", "CA"),
        ("phone", "+14155550100"),
        ("country", "US"),
    ];

    #[test]
    fn every_wrong_field_is_told_at_once() {
        assert_eq!(fields(&GOOD).faults_of_profile(&Plan), []);
        assert_eq!(fields(&GOOD).faults_of_address(&Plan), []);
        let wrong = [
            ("lastName", "a\u{0}b"),
            ("city", "x"),
            ("zip", "nonsense"),
            ("state", "ZZ"),
            ("phone", "12"),
            ("country", "us"),
        ];
        let faults = fields(&wrong).faults_of_profile(&Plan);
        let found: Vec<_> = faults
            .iter()
            .map(|fault| (fault.field.as_str(), &fault.problem))
            .collect();
        assert_eq!(
            found,
            [
                ("firstName", &Problem::Missing),
                ("lastName", &Problem::Characters),
                ("address1", &Problem::Missing),
                ("zip", &Problem::Address(AddressProblem::UsZip)),
                ("state", &Problem::Address(AddressProblem::State)),
                ("phone", &Problem::Address(AddressProblem::Phone)),
            ]
        );
    }

    #[test]
    fn what_depends_on_the_country_waits_for_it() {
        let long = "x".repeat(256);
        for (country, problem) in [("", Problem::Missing), ("XX", Problem::Choice)] {
            let mut entered = GOOD.to_vec();
            entered[0].1 = &long;
            entered[4].1 = "nonsense";
            entered[5].1 = "ZZ";
            entered[7].1 = country;
            entered.retain(|(_, value)| !value.is_empty());
            let faults = fields(&entered).faults_of_profile(&Plan);
            let expected = [
                Fault::new("firstName", Problem::TooLong(255)),
                Fault::new("country", problem),
            ];
            assert_eq!(faults, expected, "{country:?}");
        }
    }

    /// What is not told of as a fault is what the form is read as.
    #[test]
    fn what_has_no_fault_is_read() {
        let good = fields(&GOOD);
        assert!(good.profile().is_ok() && good.address(&Plan).is_ok());
        for left_out in ["address1", "city", "zip", "state", "country"] {
            let mut entered = GOOD.to_vec();
            entered.retain(|(name, _)| *name != left_out);
            let some = fields(&entered);
            assert!(some.profile().is_err() && some.address(&Plan).is_err());
            assert_eq!(some.faults_of_profile(&Plan).len(), 1, "{left_out}");
            assert_eq!(some.faults_of_address(&Plan).len(), 1, "{left_out}");
        }
    }
}
