//! What the customer agrees to when they sign, and how they do it.

use unicode_normalization::UnicodeNormalization;

use crate::customer::Profile;
use crate::text::folded;

/// The version of [`CONSENT_TEXT`]: another text is another version, and each consent is kept with its own.
pub const CONSENT_VERSION: &str = "2026-11-20";

/// What the box says that a customer ticks before they sign (15 U.S.C. § 7001(c)).
pub const CONSENT_TEXT: &str = "I agree to receive this agreement, and what is disclosed in it, as an electronic \
record, and to sign it electronically. I can open, save and print PDF documents. I may ask for a copy on paper, \
and may withdraw this consent before I sign by leaving this page.";

/// The version of [`ACCEPTANCE_TEXT`]: another text is another version, and each checkout keeps the one that its
/// customer accepted.
pub const ACCEPTANCE_VERSION: &str = "2026-11-23";

/// What a customer reads above the button by which they accept term and price, before anything is paid.
pub const ACCEPTANCE_TEXT: &str =
    "Read what you lease and what it costs. You accept these terms; nothing is charged yet.";

/// The version of [`CONSENT_TEXT_SPANISH`].
pub const CONSENT_VERSION_SPANISH: &str = "2026-11-20-es";

/// [`CONSENT_TEXT`] as the page in Spanish says it.
pub const CONSENT_TEXT_SPANISH: &str = "Acepto recibir este contrato, y la información que contiene, como documento \
electrónico y firmarlo electrónicamente. Puedo abrir, guardar e imprimir documentos PDF. Puedo pedir una copia en papel \
y retirar este consentimiento antes de firmar abandonando esta página.";

/// How somebody signs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// The name as they typed it.
    pub name: String,
    /// Whether they agreed to electronic records by the box that is there for that alone.
    pub consent: bool,
    /// Which text the box had, by its version; none is [`CONSENT_VERSION`].
    pub consent_version: Option<&'static str>,
    /// The address that they came from.
    pub address: Option<String>,
    /// The program that they used, as it calls itself; see [`Happening::new`](super::Happening::new).
    pub user_agent: Option<String>,
}

impl Signature {
    /// What whoever is of this profile gives when the step is played.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        Self {
            name: full_name(profile),
            consent: true,
            consent_version: None,
            address: None,
            user_agent: None,
        }
    }
}

/// First and last name.
pub(super) fn full_name(profile: &Profile) -> String {
    let names = [&profile.first_name, &profile.last_name];
    let names: Vec<&str> = names
        .into_iter()
        .flatten()
        .map(crate::text::Line::as_str)
        .collect();
    names.join(" ")
}

/// Whether the typed name is the profile's: spaces and case do not tell names apart, nor does the form that
/// their letters are composed in.
#[must_use]
pub fn is_name_of(typed: &str, profile: &Profile) -> bool {
    let plain = |name: &str| -> String {
        let folded: String = folded(name)
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .collect();
        folded.nfkc().collect()
    };
    let name = plain(&full_name(profile));
    !name.is_empty() && plain(typed) == name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(first: &str, last: &str) -> Profile {
        Profile {
            first_name: first.parse().ok(),
            last_name: last.parse().ok(),
            ..Profile::default()
        }
    }

    #[test]
    fn a_typed_name_is_the_profiles_in_any_case_and_composition() {
        let zoe = profile("Zo\u{eb} Anne", "O'Brien");
        for typed in [
            "Zo\u{eb} Anne O'Brien",
            "zo\u{eb} anne o'brien",
            "  ZOE\u{308}  ANNE\u{a0}O'BRIEN ",
            "Zo\u{eb}AnneO'Brien",
        ] {
            assert!(is_name_of(typed, &zoe), "{typed}");
        }
        for typed in [
            "",
            "Zoe Anne O'Brien",
            "Zo\u{eb} O'Brien",
            "O'Brien Zo\u{eb} Anne",
        ] {
            assert!(!is_name_of(typed, &zoe), "{typed}");
        }
        assert!(!is_name_of("", &Profile::default()));
        assert!(is_name_of(&Signature::of(&zoe).name, &zoe));
    }
}
