//! Postal addresses, checked by country.

use std::fmt;
use std::str::FromStr;

use crate::text::Line;

/// What is wrong with an address, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct AddressError {
    /// The member at fault, as callers spell it.
    pub member: &'static str,
    /// What is wrong with it.
    pub problem: AddressProblem,
}

/// What can be wrong with a member of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressProblem {
    /// The member is needed and absent.
    #[error("is required for this country")]
    Missing,
    /// Not an ISO 3166-1 alpha-2 code.
    #[error("must be an ISO 3166-1 alpha-2 country code such as US")]
    Country,
    /// Not a subdivision of the country.
    #[error(
        "must be the code or name of a state or province of the country, such as CA for California"
    )]
    State,
    /// Not a US ZIP code.
    #[error("must be a US ZIP code: 5 digits, or 9 as 12345-6789")]
    UsZip,
    /// Not a Canadian postal code.
    #[error("must be a Canadian postal code such as K1A 0B1")]
    CaZip,
    /// Not an Australian postcode.
    #[error("must be an Australian postcode: 4 digits")]
    AuZip,
    /// Not a postal code of any country.
    #[error("must be a postal code: up to 16 letters, digits, spaces and hyphens")]
    Zip,
    /// Not a number that can be dialled.
    #[error("must be a phone number of the country, or in international form such as +14155550100")]
    Phone,
}

const fn fault(member: &'static str, problem: AddressProblem) -> AddressError {
    AddressError { member, problem }
}

/// An ISO 3166-1 alpha-2 country code, upper case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct Country([u8; 2]);

impl Country {
    /// The United States.
    pub const US: Self = Self(*b"US");
    /// Canada.
    pub const CA: Self = Self(*b"CA");
    /// Australia.
    pub const AU: Self = Self(*b"AU");

    /// The code, two upper-case letters.
    #[must_use]
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Every country with its English name, by name.
    #[must_use]
    pub fn all() -> Vec<(Self, &'static str)> {
        let mut countries: Vec<(Self, &'static str)> = rust_iso3166::ALL
            .iter()
            .filter_map(|country| Some((country.alpha2.parse().ok()?, country.name)))
            .collect();
        countries.sort_unstable_by_key(|(_, name)| *name);
        countries
    }

    /// Whether an address in the country needs a state or province.
    #[must_use]
    pub fn needs_state(self) -> bool {
        matches!(self, Self::US | Self::CA | Self::AU)
    }
}

impl FromStr for Country {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let code = text.trim().to_ascii_uppercase();
        let bytes = <[u8; 2]>::try_from(code.as_bytes())
            .map_err(|_| fault("country", AddressProblem::Country))?;
        rust_iso3166::from_alpha2(&code)
            .map(|_| Self(bytes))
            .ok_or(fault("country", AddressProblem::Country))
    }
}

impl TryFrom<String> for Country {
    type Error = AddressError;
    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<Country> for String {
    fn from(country: Country) -> Self {
        country.code().to_owned()
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// The state as its ISO 3166-2 code without the country (`CA` for California),
/// from the code or the name in any case. Countries whose addresses need no state
/// keep what is given.
///
/// # Errors
/// [`AddressProblem::State`] when the country needs a state and has no such one.
pub fn parse_state(country: Country, state: &Line) -> Result<Line, AddressError> {
    if !country.needs_state() {
        return Ok(state.clone());
    }
    let refused = || fault("state", AddressProblem::State);
    let wanted = state.as_str();
    let place = rust_iso3166::from_alpha2(country.code()).ok_or_else(refused)?;
    let subdivisions = place.subdivisions().unwrap_or_default();
    let found = subdivisions.iter().find_map(|subdivision| {
        let code = subdivision
            .code
            .split_once('-')
            .map_or(subdivision.code, |(_, code)| code);
        let fits = code.eq_ignore_ascii_case(wanted)
            || subdivision.code.eq_ignore_ascii_case(wanted)
            || subdivision.name.eq_ignore_ascii_case(wanted);
        fits.then_some(code)
    });
    // The military "states" are no subdivisions, but mail goes there.
    let military = country == Country::US
        && ["AA", "AE", "AP"]
            .iter()
            .any(|code| code.eq_ignore_ascii_case(wanted));
    match found {
        Some(code) => Line::parse(code).map_err(|_| refused()),
        None if military => Line::parse(&wanted.to_ascii_uppercase()).map_err(|_| refused()),
        None => Err(refused()),
    }
}

/// The postal code in the country's form, upper case.
///
/// # Errors
/// [`AddressProblem::UsZip`], [`AddressProblem::CaZip`], [`AddressProblem::AuZip`]
/// or [`AddressProblem::Zip`] when it is not of the form.
pub fn parse_zip(country: Country, zip: &Line) -> Result<Line, AddressError> {
    let text = zip.as_str().to_ascii_uppercase();
    let digits =
        |part: &str, count: usize| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    let refuse = |problem| fault("zip", problem);
    let line = |text: &str| Line::parse(text).map_err(|_| refuse(AddressProblem::Zip));
    match country {
        Country::US => {
            let fits = digits(&text, 5)
                || digits(&text, 9)
                || text
                    .split_once('-')
                    .is_some_and(|(five, four)| digits(five, 5) && digits(four, 4));
            if fits {
                line(&text)
            } else {
                Err(refuse(AddressProblem::UsZip))
            }
        }
        Country::CA => {
            let compact: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
            let form = |(index, c): (usize, char)| {
                if index.is_multiple_of(2) {
                    c.is_ascii_uppercase() && !matches!(c, 'D' | 'F' | 'I' | 'O' | 'Q' | 'U')
                } else {
                    c.is_ascii_digit()
                }
            };
            let first_fits = !compact.starts_with(['W', 'Z']);
            if compact.len() == 6 && first_fits && compact.chars().enumerate().all(form) {
                let (forward, local) = compact.split_at_checked(3).unwrap_or((&compact, ""));
                line(&format!("{forward} {local}"))
            } else {
                Err(refuse(AddressProblem::CaZip))
            }
        }
        Country::AU => {
            if digits(&text, 4) {
                line(&text)
            } else {
                Err(refuse(AddressProblem::AuZip))
            }
        }
        _ => {
            let fits = text.len() <= 16
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-'));
            if fits {
                line(&text)
            } else {
                Err(refuse(AddressProblem::Zip))
            }
        }
    }
}

/// A phone number, taken apart by a [dialing plan](crate::ports::DialingPlan).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PhoneNumber {
    /// The calling code of its country or region, such as 44; North America has 1.
    pub country_code: u16,
    /// The digits after the calling code, zeros that belong to them included.
    pub national: String,
}

impl PhoneNumber {
    /// Whether such a number can exist. Reserved and fictitious numbers are well formed too:
    /// E.164's lengths decide (15 digits at the most, the calling code included; North America
    /// has exactly 10 after its 1), not whether the number is in use.
    #[must_use]
    pub fn is_dialable(&self) -> bool {
        let digits = self.national.len();
        if self.country_code == 1 {
            digits == 10
        } else {
            (4..=12).contains(&digits)
        }
    }
}

/// A phone number as it was given, when what a dialing plan read of it can be dialled.
///
/// # Errors
/// [`AddressProblem::Phone`] when no such number can exist.
pub fn parse_phone(phone: &Line, read: Option<PhoneNumber>) -> Result<Line, AddressError> {
    match read {
        Some(number) if number.is_dialable() => Ok(phone.clone()),
        _ => Err(fault("phone", AddressProblem::Phone)),
    }
}

/// A complete postal address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Address {
    /// Given name of who receives there.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub first_name: Option<Line>,
    /// Family name of who receives there.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub last_name: Option<Line>,
    /// Company.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub company: Option<Line>,
    /// Street and number.
    pub address1: Line,
    /// Second line.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub address2: Option<Line>,
    pub city: Line,
    /// State or province, its ISO 3166-2 code where the country needs one.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub state: Option<Line>,
    /// Postal code in the country's form.
    pub zip: Line,
    pub country: Country,
    /// Phone number, as it was given.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub phone: Option<Line>,
}

impl Address {
    /// The address with state and postal code checked by the country and brought into its
    /// form. The phone stays as it is: whether it can be dialled a
    /// [dialing plan](crate::ports::DialingPlan) tells, and
    /// [`checked_address`](crate::services::addresses::checked_address) asks it.
    ///
    /// # Errors
    /// [`AddressError`] naming the first member at fault.
    pub fn of_its_country(mut self) -> Result<Self, AddressError> {
        if self.country.needs_state() && self.state.is_none() {
            return Err(fault("state", AddressProblem::Missing));
        }
        self.state = self
            .state
            .map(|state| parse_state(self.country, &state))
            .transpose()?;
        self.zip = parse_zip(self.country, &self.zip)?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::parse(text).unwrap()
    }

    fn country(text: &str) -> Country {
        text.parse().unwrap()
    }

    #[test]
    fn countries_in_any_case() {
        assert_eq!(country("us"), Country::US);
        let all = Country::all();
        assert!(all.contains(&(Country::CA, "Canada")), "{all:?}");
        assert!(all.len() > 200);
        for bad in ["", "U", "USA", "XX", "Ü"] {
            assert!(bad.parse::<Country>().is_err(), "{bad}");
        }
    }

    #[test]
    fn states_by_code_or_name() {
        for (place, given, code) in [
            ("US", "ca", "CA"),
            ("US", "California", "CA"),
            ("US", "us-ny", "NY"),
            ("CA", "Ontario", "ON"),
            ("AU", "nsw", "NSW"),
            ("US", "AE", "AE"),
            ("DE", "Bayern", "Bayern"),
        ] {
            assert_eq!(
                parse_state(country(place), &line(given)),
                Ok(line(code)),
                "{place} {given}"
            );
        }
        assert!(parse_state(Country::US, &line("Atlantis")).is_err());
    }

    #[test]
    fn zips_by_country() {
        for (place, given, kept) in [
            ("US", "94105", "94105"),
            ("US", "94105-1234", "94105-1234"),
            ("CA", "k1a0b1", "K1A 0B1"),
            ("AU", "2000", "2000"),
            ("GB", "sw1a 1aa", "SW1A 1AA"),
        ] {
            assert_eq!(
                parse_zip(country(place), &line(given)),
                Ok(line(kept)),
                "{given}"
            );
        }
        for (place, bad) in [
            ("US", "9410"),
            ("US", "94105-12"),
            ("US", "ABCDE"),
            ("CA", "K1A 0B"),
            ("CA", "Z1A 0B1"),
            ("AU", "20000"),
            ("GB", "!!"),
        ] {
            assert!(parse_zip(country(place), &line(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn phones_by_their_length() {
        let given = line("as it was given");
        for (country_code, digits, is_dialable) in [
            (1, 9, false),
            (1, 10, true),
            (1, 11, false),
            (44, 3, false),
            (44, 4, true),
            (44, 12, true),
            (44, 13, false),
        ] {
            let number = PhoneNumber {
                country_code,
                national: "5".repeat(digits),
            };
            let expected = if is_dialable {
                Ok(given.clone())
            } else {
                Err(fault("phone", AddressProblem::Phone))
            };
            let case = format!("{number:?}");
            assert_eq!(parse_phone(&given, Some(number)), expected, "{case}");
        }
        assert!(parse_phone(&given, None).is_err());
    }
}
