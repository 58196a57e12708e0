//! What a customer typed into a form.

use lessor_domain::address::{Address, Country};
use lessor_domain::customer::Profile;
use lessor_domain::ports::DialingPlan;
use lessor_domain::services::Error;
use lessor_domain::services::addresses::checked_address;
use lessor_domain::text::Line;

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
}
