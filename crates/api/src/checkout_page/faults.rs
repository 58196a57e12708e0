//! What is wrong with a form, field by field, in the customer's words.

use lessor_domain::address::AddressProblem;
use lessor_domain::services::Error;
use lessor_domain::text::TextError;

use super::locale::Reader;

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// Nothing is in it.
    Missing,
    /// It is longer than this.
    TooLong(usize),
    /// It has characters that are not read.
    Characters,
    /// It is not of the form that the country's have.
    Address(AddressProblem),
    /// It is none of what is offered.
    Choice,
    /// It is not the name in the agreement.
    Signer,
    /// What the domain says of it, in English.
    Other(String),
}

/// A field with what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) field: String,
    pub(super) problem: Problem,
}

impl Fault {
    pub(super) fn new(field: &str, problem: Problem) -> Self {
        Self {
            field: field.to_owned(),
            problem,
        }
    }

    pub(super) fn of_text(field: &str, error: &TextError) -> Self {
        let problem = match error {
            TextError::Empty => Problem::Missing,
            TextError::TooLong { max } => Problem::TooLong(*max),
            TextError::Control { .. } | TextError::Invisible { .. } => Problem::Characters,
            TextError::Form { rule } => Problem::Other((*rule).to_owned()),
        };
        Self::new(field, problem)
    }
}

/// Why a step was not done.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The form is not as it has to be.
    Form(Vec<Fault>),
    /// The domain refuses, or something failed.
    Step(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Step(error)
    }
}

/// What the customer reads of a step that was not done.
#[derive(Clone, Debug, Default)]
pub(super) struct Notice {
    /// What is in the way, where no field is.
    pub(super) general: Option<String>,
    /// The fields at fault, in the order of the form.
    pub(super) faults: Vec<Fault>,
}

impl Notice {
    pub(super) const fn of_fields(faults: Vec<Fault>) -> Self {
        Self {
            general: None,
            faults,
        }
    }

    pub(super) const fn of_step(general: String) -> Self {
        Self {
            general: Some(general),
            faults: Vec::new(),
        }
    }

    /// What is wrong with the field.
    pub(super) fn fault_of(&self, field: &str) -> Option<&Fault> {
        self.faults.iter().find(|fault| fault.field == field)
    }
}

/// The fields of the page's forms.
#[cfg(test)]
const FIELDS: [&str; 15] = [
    "firstName",
    "lastName",
    "company",
    "address1",
    "address2",
    "city",
    "zip",
    "state",
    "phone",
    "country",
    "consent",
    "name",
    PICKUP_LOCATION,
    LEASE_TERM,
    CARD,
];

/// The field of the card that pays.
pub(super) const CARD: &str = "card";
/// The field of the location where goods are picked up.
pub(super) const PICKUP_LOCATION: &str = "pickupLocationId";
/// The field of the term.
pub(super) const LEASE_TERM: &str = "leaseTermId";

impl Reader {
    /// A field's name.
    pub(super) fn label(&self, field: &str) -> String {
        match field {
            "firstName" => self.first_name(),
            "lastName" => self.last_name(),
            "company" => self.company(),
            "address1" => self.address1(),
            "address2" => self.address2(),
            "city" => self.city(),
            "state" => self.state(),
            "zip" => self.zip(),
            "country" => self.country_label(),
            "phone" => self.phone(),
            PICKUP_LOCATION => self.pickup_location(),
            LEASE_TERM => self.term(),
            "name" => self.signer_name(),
            CARD => self.card(),
            _ => self.this_entry(),
        }
    }

    /// What is wrong with a field, as a sentence that names it.
    pub(super) fn fault(&self, fault: &Fault) -> String {
        let label = self.label(&fault.field);
        match &fault.problem {
            Problem::Missing if fault.field == "consent" => self.fault_consent(),
            Problem::Missing | Problem::Address(AddressProblem::Missing) => {
                self.fault_missing(label)
            }
            Problem::TooLong(most) => self.fault_too_long(label, most.to_string()),
            Problem::Characters => self.fault_characters(label),
            Problem::Address(AddressProblem::State) => self.fault_state(),
            Problem::Address(AddressProblem::UsZip) => self.fault_us_zip(),
            Problem::Address(AddressProblem::CaZip) => self.fault_ca_zip(),
            Problem::Address(AddressProblem::AuZip) => self.fault_au_zip(),
            Problem::Address(AddressProblem::Zip) => self.fault_zip(),
            Problem::Address(AddressProblem::Phone) => self.fault_phone(),
            Problem::Choice | Problem::Address(AddressProblem::Country) => self.fault_choice(label),
            Problem::Signer => self.fault_signer(),
            Problem::Other(detail) => match self.in_english(detail) {
                Some(detail) => format!("{label} {detail}."),
                None => self.fault_other(label),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::locale::Language;
    use super::*;

    #[test]
    fn every_field_has_a_name_of_its_own_in_each_language() {
        for language in Language::ALL {
            let reader = Reader::of(&format!("lang={}", language.code()), None);
            for field in FIELDS.into_iter().filter(|field| *field != "consent") {
                assert_ne!(reader.label(field), reader.label("nonsense"), "{field}");
            }
        }
    }

    #[test]
    fn what_only_english_has_is_said_in_english_alone() {
        let fault = Fault::new("zip", Problem::Other("is taken".to_owned()));
        let said = |query: &str| Reader::of(query, None).fault(&fault);
        assert_eq!(said("lang=en"), "Postal code is taken.");
        assert_eq!(said("lang=es"), "Revise este dato: Código postal.");
    }
}
