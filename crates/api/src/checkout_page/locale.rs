//! Who reads the page: in which language, and how their country writes amounts, days and countries.

mod cldr;

use std::cmp::Reverse;

use icu_calendar::{Date, Gregorian};
use icu_datetime::input::{DateTime, Time};
use icu_decimal::input::Decimal;
use icu_experimental::dimension::currency::CurrencyType;
use icu_locale_core::subtags::Region;
use icu_locale_core::{LanguageIdentifier, Locale, langid};
use lessor_domain::address::Country;
use lessor_domain::money::Money;
use lessor_domain::time::{Day, Timestamp};
use unicode_normalization::UnicodeNormalization as _;

/// What the query of a page's address names the language by.
pub(crate) const PARAMETER: &str = "lang";

/// Who says nothing of their language, or reads none that there is.
const DEFAULT: LanguageIdentifier = langid!("en-US");

/// Where Spanish is what most people read.
const SPEAK_SPANISH: [&str; 20] = [
    "AR", "BO", "CL", "CO", "CR", "CU", "DO", "EC", "ES", "GQ", "GT", "HN", "MX", "NI", "PA", "PE",
    "PY", "SV", "UY", "VE",
];

/// Most languages of a header that are looked at.
const MOST_RANGES: usize = 32;

/// A language of the catalogues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Spanish,
}

impl Language {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 2] = [Self::English, Self::Spanish];

    /// Its code.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Spanish => "es",
        }
    }

    /// The one that the page can be switched to.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::English => Self::Spanish,
            Self::Spanish => Self::English,
        }
    }

    fn of(tag: &LanguageIdentifier) -> Option<Self> {
        match tag.language.as_str() {
            "en" => Some(Self::English),
            "es" => Some(Self::Spanish),
            _ => None,
        }
    }
}

/// Who reads a page.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    /// The language of the texts.
    pub(crate) language: Language,
    /// Language and country.
    tag: LanguageIdentifier,
    /// What the address says of it: it is kept in whatever the page leads to.
    chosen: Option<String>,
}

/// Language and country of a tag; what else it says is nobody's here.
fn plain(tag: &str) -> Option<LanguageIdentifier> {
    let mut tag = LanguageIdentifier::try_from_str(tag).ok()?;
    tag.script = None;
    tag.variants.clear();
    Some(tag)
}

/// A weight of `Accept-Language` in thousandths. <https://www.rfc-editor.org/rfc/rfc9110#section-12.4.2>
fn weight(text: &str) -> Option<u16> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let fits = rest.len() <= 3 && rest.bytes().all(|byte| byte.is_ascii_digit());
    let thousandths: u16 = format!("{rest:0<3}").parse().ok().filter(|_| fits)?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(1_000),
        _ => None,
    }
}

/// The languages that the header names, the most wanted first.
fn ranges(header: &str) -> Vec<LanguageIdentifier> {
    let mut ranges: Vec<(Reverse<u16>, LanguageIdentifier)> = header
        .split(',')
        .take(MOST_RANGES)
        .filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let tag = match parts.next()? {
                "*" => DEFAULT,
                tag => plain(tag)?,
            };
            let quality = parts.find_map(|part| part.strip_prefix("q="));
            let weight = quality.map_or(Some(1_000), weight)?;
            (weight > 0).then_some((Reverse(weight), tag))
        })
        .collect();
    ranges.sort_by_key(|(weight, _)| *weight);
    ranges.into_iter().map(|(_, tag)| tag).collect()
}

impl Reader {
    /// Who sends this query and this `Accept-Language`.
    pub(crate) fn of(query: &str, accepted: Option<&str>) -> Self {
        let accepted = ranges(accepted.unwrap_or_default());
        let named = query
            .split('&')
            .find_map(|pair| pair.strip_prefix(PARAMETER)?.strip_prefix('='))
            .and_then(plain)
            .and_then(|tag| Some((Language::of(&tag)?, tag)));
        if let Some((language, mut tag)) = named {
            let chosen = Some(tag.to_string());
            // Whoever switches the language is still where they are.
            let is_alike = |other: &&LanguageIdentifier| other.language == tag.language;
            let near = accepted.iter().find(is_alike).or(accepted.first());
            tag.region = tag.region.or(near.and_then(|near| near.region));
            return Self {
                language,
                tag,
                chosen,
            };
        }
        let wanted = accepted
            .into_iter()
            .find_map(|tag| Some((Language::of(&tag)?, tag)));
        let (language, tag) = wanted.unwrap_or((Language::English, DEFAULT));
        Self {
            language,
            tag,
            chosen: None,
        }
    }

    /// A customer in this country, of whom no more is known: they read what is read there.
    pub(crate) fn in_country(country: Option<Country>) -> Self {
        let code = country.as_ref().map(Country::code);
        let language = match code {
            Some(code) if SPEAK_SPANISH.contains(&code) => Language::Spanish,
            _ => Language::English,
        };
        let tag = format!("{}-{}", language.code(), code.unwrap_or("US"));
        Self {
            language,
            tag: plain(&tag).unwrap_or(DEFAULT),
            chosen: None,
        }
    }

    /// The code of the language of the texts.
    pub(crate) const fn language_code(&self) -> &'static str {
        self.language.code()
    }

    /// The tag of what they read, such as `es-MX`.
    pub(crate) fn tag(&self) -> String {
        self.tag.to_string()
    }

    /// An address, with the language that this one names.
    pub(crate) fn keep(&self, address: &str) -> String {
        match &self.chosen {
            Some(chosen) => {
                let joint = if address.contains('?') { '&' } else { '?' };
                format!("{address}{joint}{PARAMETER}={chosen}")
            }
            None => address.to_owned(),
        }
    }

    /// What is only known in English, to whoever reads that.
    pub(crate) fn in_english<'t>(&self, text: &'t str) -> Option<&'t str> {
        (self.language == Language::English).then_some(text)
    }

    fn locale(&self) -> Locale {
        self.tag.clone().into()
    }

    /// A number, with the digits that it has.
    pub(crate) fn number(&self, plain: &str) -> String {
        match (cldr::numbers(&self.locale()), plain.parse::<Decimal>()) {
            (Some(numbers), Ok(number)) => numbers.format(&number).to_string(),
            _ => plain.to_owned(),
        }
    }

    /// An amount, to the last of its currency's minor units.
    pub(crate) fn money(&self, amount: Money) -> String {
        let plain = amount.to_string();
        let exact = self.number(plain.trim_start_matches('-'));
        let currency = CurrencyType::try_from_str(amount.currency().code()).ok();
        let shown = currency
            .and_then(|currency| cldr::amounts(&self.locale(), currency))
            .zip(plain.parse::<Decimal>().ok())
            .map(|(amounts, number)| amounts.format_fixed_decimal(&number).to_string());
        match shown {
            Some(shown) if shown.contains(&exact) => shown,
            // Where a currency is commonly written with fewer digits than it has, it is written whole.
            _ => format!("{}\u{a0}{}", amount.currency(), self.number(&plain)),
        }
    }

    /// A day, with the name of its month.
    pub(crate) fn day(&self, day: Day) -> String {
        use chrono::Datelike as _;
        match (
            cldr::days(&self.locale()),
            gregorian(day.year(), day.month(), day.day()),
        ) {
            (Some(days), Some(day)) => days.format(&day).to_string(),
            _ => day.to_string(),
        }
    }

    /// A time, to the minute, of UTC: nobody says where on Earth the customer is.
    pub(crate) fn instant(&self, at: Timestamp) -> String {
        use chrono::{Datelike as _, Timelike as _};
        let part = |number: u32| u8::try_from(number).unwrap_or_default();
        let time = Time::try_new(part(at.hour()), part(at.minute()), 0, 0).ok();
        let date = gregorian(at.year(), at.month(), at.day());
        match (cldr::instants(&self.locale()), date.zip(time)) {
            (Some(instants), Some((date, time))) => {
                format!("{} UTC", instants.format(&DateTime { date, time }))
            }
            _ => at.format("%Y-%m-%d %H:%M UTC").to_string(),
        }
    }

    /// The name of a country.
    pub(crate) fn country(&self, country: Country) -> String {
        self.countries_by(&[country])
            .into_iter()
            .next()
            .map_or_else(|| country.to_string(), |(_, name)| name)
    }

    /// These countries with their names, in the order of those.
    pub(crate) fn countries_by(&self, countries: &[Country]) -> Vec<(Country, String)> {
        let names = cldr::countries(&self.locale());
        let name = |country: Country| {
            let region = Region::try_from_str(country.code()).ok()?;
            names.as_ref()?.of(region).map(ToOwned::to_owned)
        };
        let mut named: Vec<(Country, String)> = countries
            .iter()
            .map(|country| {
                (
                    *country,
                    name(*country).unwrap_or_else(|| country.to_string()),
                )
            })
            .collect();
        named.sort_by_cached_key(|(_, name)| letters(name));
        named
    }
}

/// A name as it is put in order: its letters, without their accents and case.
fn letters(name: &str) -> String {
    name.nfd()
        .filter(|letter| letter.is_alphanumeric() || *letter == ' ')
        .flat_map(char::to_lowercase)
        .collect()
}

fn gregorian(year: i32, month: u32, day: u32) -> Option<Date<Gregorian>> {
    let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    Date::try_new_gregorian(year, month, day).ok()
}

#[cfg(test)]
mod tests {
    use lessor_domain::money::Currency;

    use super::*;

    fn reader(accepted: &str) -> Reader {
        Reader::of("", Some(accepted))
    }

    /// Spaces as they are typed: those that do not break are told apart by nobody.
    fn typed(text: &str) -> String {
        text.replace(['\u{a0}', '\u{202f}'], " ")
    }

    #[test]
    fn the_most_wanted_language_that_there_is_counts() {
        for (accepted, tag) in [
            ("", "en-US"),
            ("de", "en-US"),
            ("*", "en-US"),
            ("nonsense;;q=,=;", "en-US"),
            ("es-MX", "es-MX"),
            ("es", "es"),
            ("es-419", "es-419"),
            ("EN-gb", "en-GB"),
            ("de-CH,de;q=0.9,es-ES;q=0.5,en;q=0.4", "es-ES"),
            ("en;q=0.2, es ;q=0.3", "es"),
            ("en;q=0.2, es;q=0.20", "en"),
            ("es;q=0, en-AU;q=0.1", "en-AU"),
            ("es;q=2, en-AU;q=0.001", "en-AU"),
            ("es-Latn-MX-u-nu-arab", "en-US"),
            ("es-Latn-MX", "es-MX"),
        ] {
            assert_eq!(reader(accepted).tag(), tag, "{accepted}");
        }
        assert_eq!(Reader::of("", None).tag(), "en-US");
    }

    #[test]
    fn the_address_says_more_than_the_browser_and_is_kept() {
        for (query, accepted, tag, kept) in [
            ("lang=es", "en-US,en;q=0.9", "es-US", "/c?lang=es"),
            ("lang=es", "en-US,es-MX;q=0.1", "es-MX", "/c?lang=es"),
            ("left=1&lang=es-AR", "en-US", "es-AR", "/c?lang=es-AR"),
            ("lang=en", "", "en", "/c?lang=en"),
            ("lang=de", "es-ES", "es-ES", "/c"),
            ("lang=%22", "es-ES", "es-ES", "/c"),
            ("lang=\"><b>", "", "en-US", "/c"),
            ("language=es", "", "en-US", "/c"),
            ("lang", "", "en-US", "/c"),
        ] {
            let reader = Reader::of(query, Some(accepted));
            assert_eq!(
                (reader.tag().as_str(), reader.keep("/c").as_str()),
                (tag, kept),
                "{query} {accepted}"
            );
        }
        let spanish = Reader::of("lang=es", None);
        assert_eq!(spanish.keep("/c?left=1"), "/c?left=1&lang=es");
    }

    #[test]
    fn amounts_are_written_as_in_the_customers_country() {
        let amounts = [
            (123_456, "USD"),
            (1_234_567, "USD"),
            (-5, "USD"),
            (99_950, "EUR"),
            (1_500, "JPY"),
            (1_234, "KWD"),
        ];
        for (tag, written) in [
            (
                "en-US",
                [
                    "$1,234.56",
                    "$12,345.67",
                    "-$0.05",
                    "€999.50",
                    "¥1,500",
                    "KWD 1.234",
                ],
            ),
            (
                "en-GB",
                [
                    "US$1,234.56",
                    "US$12,345.67",
                    "-US$0.05",
                    "€999.50",
                    "JP¥1,500",
                    "KWD 1.234",
                ],
            ),
            (
                "es-ES",
                [
                    "1234,56 US$",
                    "12.345,67 US$",
                    "-0,05 US$",
                    "999,50 €",
                    "1500 JP¥",
                    "1,234 KWD",
                ],
            ),
            (
                "es-MX",
                [
                    "US$1,234.56",
                    "US$12,345.67",
                    "-US$0.05",
                    "€999.50",
                    "JP¥1,500",
                    "KWD 1.234",
                ],
            ),
        ] {
            for ((minor, code), written) in amounts.into_iter().zip(written) {
                let amount = Money::from_minor(minor, code.parse().unwrap());
                assert_eq!(typed(&reader(tag).money(amount)), written, "{tag}");
            }
        }
    }

    /// In common use these have no minor unit; to whoever is charged they have.
    #[test]
    fn no_amount_is_rounded() {
        for code in iso_currencies() {
            let Ok(currency) = code.parse::<Currency>() else {
                continue;
            };
            let amount = Money::from_minor(1_234_567, currency);
            for tag in ["en-US", "en-GB", "es-ES", "es-MX"] {
                let written = reader(tag).money(amount);
                let digits: String = written.chars().filter(char::is_ascii_digit).collect();
                assert_eq!(digits, "1234567", "{tag}: {written}");
            }
        }
    }

    pub(super) fn iso_currencies() -> impl Iterator<Item = String> {
        let letters = || b'A'..=b'Z';
        letters().flat_map(move |one| {
            letters().flat_map(move |two| {
                letters().map(move |three| [one, two, three].map(char::from).iter().collect())
            })
        })
    }

    #[test]
    fn days_and_times_are_written_as_in_the_customers_country() {
        let at: Timestamp = "2031-05-06T19:08:59Z".parse().unwrap();
        for (tag, day, instant) in [
            ("en-US", "May 6, 2031", "May 6, 2031, 7:08 PM UTC"),
            ("en-GB", "6 May 2031", "6 May 2031, 19:08 UTC"),
            ("es-ES", "6 de mayo de 2031", "6 may 2031, 19:08 UTC"),
            ("es-MX", "6 de mayo de 2031", "6 may 2031, 07:08 p.m. UTC"),
        ] {
            let reader = reader(tag);
            assert_eq!(reader.day(at.date_naive()), day, "{tag}");
            assert_eq!(typed(&reader.instant(at)), instant, "{tag}");
        }
    }

    #[test]
    fn countries_have_names_and_are_in_their_order() {
        let countries: Vec<Country> = Country::all()
            .into_iter()
            .map(|(country, _)| country)
            .collect();
        for (tag, code, name, first) in [
            ("en-US", "DE", "Germany", "Afghanistan"),
            ("es-MX", "DE", "Alemania", "Afganistán"),
            ("es-ES", "US", "Estados Unidos", "Afganistán"),
        ] {
            let reader = reader(tag);
            assert_eq!(reader.country(code.parse().unwrap()), name);
            let all = reader.countries_by(&countries);
            assert_eq!(all.len(), countries.len());
            assert_eq!(all[0].1, first, "{tag}");
            let nameless = all.iter().find(|(country, name)| country.code() == name);
            assert_eq!(nameless, None, "{tag}");
            let at = |code: &str| all.iter().position(|(country, _)| country.code() == code);
            // Belgium stands before Belize, and Bélgica before Belice.
            assert!(at("BE") < at("BZ"), "{tag}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(reader("en-US").number("12.50"), "12.50");
        assert_eq!(reader("es-ES").number("12.50"), "12,50");
        assert_eq!(reader("es-ES").number("nonsense"), "nonsense");
    }
}
