//! How the languages of the catalogues are written wherever they are read, by ICU4X.
//!
//! The data of all languages that the libraries bring would be 1.4 MB more of the binary. A file has those of the catalogues
//! alone; tests make it of the libraries' own, and compare what is written.

use std::sync::LazyLock;

use icu_calendar::Gregorian;
use icu_datetime::FixedCalendarDateTimeFormatter;
use icu_datetime::fieldsets::{YMD, YMDT};
use icu_decimal::DecimalFormatter;
use icu_experimental::dimension::currency::CurrencyType;
use icu_experimental::dimension::currency::formatter::CurrencyFormatter;
use icu_experimental::displaynames::multi::RegionDisplayNames;
use icu_locale_core::Locale;
use icu_locale_fallback::LocaleFallbacker;
use icu_provider::buf::AsDeserializingBufferProvider as _;
use icu_provider_adapters::fallback::LocaleFallbackProvider;
use icu_provider_blob::BlobDataProvider;

/// Made by `the_file_is_written`.
const FILE: &[u8] = include_bytes!("../../../locales/cldr.postcard");

/// The file; what a country does not have of its own is its language's.
static DATA: LazyLock<Option<LocaleFallbackProvider<BlobDataProvider>>> = LazyLock::new(|| {
    let data = BlobDataProvider::try_new_from_static_blob(FILE).ok()?;
    let languages = LocaleFallbacker::new().static_to_owned();
    Some(LocaleFallbackProvider::new(data, languages))
});

/// What is shown of a day.
const DAY: YMD = YMD::long();

/// What is shown of a time.
fn to_the_minute() -> YMDT {
    YMD::medium().with_time_hm()
}

type Dates<Fields> = FixedCalendarDateTimeFormatter<Gregorian, Fields>;

/// What writes numbers.
pub(super) fn numbers(locale: &Locale) -> Option<DecimalFormatter> {
    let data = DATA.as_ref()?.as_deserializing();
    DecimalFormatter::try_new_unstable(&data, locale.into(), Default::default()).ok()
}

/// What writes amounts of this currency; none where it has no symbol.
pub(super) fn amounts(
    locale: &Locale,
    currency: CurrencyType,
) -> Option<CurrencyFormatter<DecimalFormatter>> {
    let data = DATA.as_ref()?.as_deserializing();
    let options = Default::default();
    CurrencyFormatter::try_new_symbol_unstable(&data, locale.into(), currency, options).ok()
}

/// What writes days, with the name of their month.
pub(super) fn days(locale: &Locale) -> Option<Dates<YMD>> {
    let data = DATA.as_ref()?.as_deserializing();
    Dates::try_new_unstable(&data, locale.into(), DAY).ok()
}

/// What writes times, to the minute.
pub(super) fn instants(locale: &Locale) -> Option<Dates<YMDT>> {
    let data = DATA.as_ref()?.as_deserializing();
    Dates::try_new_unstable(&data, locale.into(), to_the_minute()).ok()
}

/// The names of countries.
pub(super) fn countries(locale: &Locale) -> Option<RegionDisplayNames> {
    let data = DATA.as_ref()?.as_deserializing();
    RegionDisplayNames::try_new_unstable(&data, locale.into(), Default::default()).ok()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use icu_calendar::Date;
    use icu_datetime::input::{DateTime, Time};
    use icu_datetime::provider::{names, semantic_skeletons};
    use icu_decimal::input::Decimal;
    use icu_experimental::dimension::provider::currency::{self, symbols::CurrencySymbolsV1};
    use icu_experimental::displaynames::provider::LocaleNamesRegionV0;
    use icu_locale_core::locale;
    use icu_locale_core::subtags::Region;
    use icu_provider::dynutil::UpcastDataPayload as _;
    use icu_provider::export::{DataExporter as _, ExportMarker};
    use icu_provider::prelude::*;
    use icu_provider_blob::export::BlobExporter;
    use lessor_domain::address::Country;
    use lessor_domain::money::Currency;

    use super::super::Language;
    use super::super::tests::iso_currencies;
    use super::*;

    /// The libraries' own data, of all languages; what is read of it goes into the file.
    struct Library<'f> {
        read: RefCell<BTreeSet<(DataMarkerInfo, DataIdentifierCow<'static>)>>,
        file: BlobExporter<'f>,
    }

    impl Library<'_> {
        /// Whether this has not been read before, from where it was found: that may be the language, or what all share.
        fn is_new(
            &self,
            marker: DataMarkerInfo,
            asked: DataIdentifierBorrowed<'_>,
            found: Option<DataLocale>,
        ) -> Option<DataIdentifierCow<'static>> {
            let locale = found.unwrap_or(*asked.locale);
            let attributes = asked.marker_attributes.to_owned();
            let id = DataIdentifierCow::from_owned(attributes, locale);
            let is_new = self.read.borrow_mut().insert((marker, id.clone()));
            is_new.then_some(id)
        }
    }

    macro_rules! library {
        ($($baked:path => [$($marker:path),+ $(,)?])+) => {
            const MARKERS: &[DataMarkerInfo] = &[$($(<$marker>::INFO),+),+];
            $($(
                impl DataProvider<$marker> for Library<'_> {
                    fn load(
                        &self,
                        mut asked: DataRequest<'_>,
                    ) -> Result<DataResponse<$marker>, DataError> {
                        asked.metadata.silent = true;
                        let found = DataProvider::<$marker>::load(&$baked, asked)?;
                        let marker = <$marker>::INFO;
                        if let Some(id) = self.is_new(marker, asked.id, found.metadata.locale) {
                            let payload = ExportMarker::upcast(found.payload.clone());
                            self.file.put_payload(marker, id.as_borrowed(), &payload)?;
                        }
                        Ok(found)
                    }
                }
            )+)+
        };
    }

    library! {
        icu_decimal::provider::Baked => [
            icu_decimal::provider::DecimalDigitsV1,
            icu_decimal::provider::DecimalSymbolsV1,
        ]
        icu_experimental::provider::Baked => [
            LocaleNamesRegionV0,
            currency::essentials::CurrencyEssentialsV1,
            currency::fractions::CurrencyFractionsV1,
            currency::no_currency::CurrencyPatternsNoCurrencyV1,
            currency::symbols::CurrencyDecimalSymbolsV1,
            CurrencySymbolsV1,
        ]
        icu_datetime::provider::Baked => [
            names::DatetimeNamesDayperiodV1,
            names::DatetimeNamesMonthGregorianV1,
            names::DatetimeNamesYearGregorianV1,
            semantic_skeletons::DatetimePatternsDateGregorianV1,
            semantic_skeletons::DatetimePatternsGlueV1,
            semantic_skeletons::DatetimePatternsTimeV1,
        ]
    }

    // Names of time zones, which nothing here shows.
    icu_provider::marker::impl_data_provider_never_marker!(Library<'_>);

    /// A language somewhere: in whatever has a name, be it a country or a part of the world, and nowhere.
    fn locales() -> Vec<Locale> {
        let options = Default::default();
        let names = RegionDisplayNames::try_new(locale!("en").into(), options).unwrap();
        let letters = || (b'A'..=b'Z').map(char::from);
        let regions = letters()
            .flat_map(|one| letters().map(move |two| format!("{one}{two}")))
            .chain((0..1_000).map(|number| format!("{number:03}")))
            .filter(|code| names.of(Region::try_from_str(code).unwrap()).is_some())
            .map(|code| format!("-{code}"));
        // The last is a country that nobody knows.
        let regions: Vec<String> = regions.chain(["", "-XV"].map(str::to_owned)).collect();
        let tags = Language::ALL.into_iter().flat_map(|language| {
            let tag = move |region| format!("{}{region}", language.code());
            regions.iter().map(tag)
        });
        tags.map(|tag| tag.parse().unwrap()).collect()
    }

    fn has_symbol(locale: &Locale, currency: CurrencyType) -> bool {
        let locale = CurrencySymbolsV1::make_locale(locale.into());
        let mut code = Default::default();
        let code =
            CurrencySymbolsV1::make_attributes(currency, CurrencySymbolsV1::SHORT, &mut code);
        let mut asked = DataRequest {
            id: DataIdentifierBorrowed::for_marker_attributes_and_locale(code, &locale),
            ..Default::default()
        };
        asked.metadata.silent = true;
        DataProvider::<CurrencySymbolsV1>::load(&icu_experimental::provider::Baked, asked).is_ok()
    }

    /// The file, made of all that the page can ask the libraries for.
    fn from_the_libraries() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let currencies: Vec<CurrencyType> = iso_currencies()
            .filter(|code| code.parse::<Currency>().is_ok())
            .map(|code| CurrencyType::try_from_str(&code).unwrap())
            .collect();
        let mut bytes = Vec::new();
        let mut library = Library {
            read: RefCell::default(),
            file: BlobExporter::new_with_sink(Box::new(&mut bytes)),
        };
        for locale in &locales() {
            DecimalFormatter::try_new_unstable(&library, locale.into(), Default::default())?;
            Dates::try_new_unstable(&library, locale.into(), DAY)?;
            Dates::try_new_unstable(&library, locale.into(), to_the_minute())?;
            RegionDisplayNames::try_new_unstable(&library, locale.into(), Default::default())?;
            // What has no symbol is written by its code, as everything else is.
            for currency in currencies.iter().filter(|it| has_symbol(locale, **it)) {
                let (locale, options) = (locale.into(), Default::default());
                CurrencyFormatter::try_new_symbol_unstable(&library, locale, *currency, options)?;
            }
        }
        for marker in MARKERS {
            library.file.flush(*marker, Default::default())?;
        }
        library.file.close()?;
        drop(library);
        Ok(bytes)
    }

    #[test]
    fn the_file_has_what_the_libraries_have() {
        let is_same = from_the_libraries().unwrap() == FILE;
        assert!(is_same, "another version: see `the_file_is_written`");
    }

    /// After an update of the libraries: `cargo test -p lessor --lib the_file_is_written -- --ignored`
    #[test]
    #[ignore = "writes the file"]
    fn the_file_is_written() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/locales/cldr.postcard");
        std::fs::write(path, from_the_libraries().unwrap()).unwrap();
    }

    #[test]
    fn everybody_reads_what_the_data_of_all_languages_have() {
        let plain: Vec<Decimal> = ["-0.05", "1234", "12345.678"]
            .map(|number| number.parse().unwrap())
            .into();
        let currencies = ["USD", "EUR", "JPY", "MXN", "KWD", "GBP", "INR", "COP"]
            .map(|code| CurrencyType::try_from_str(code).unwrap());
        let countries: Vec<Country> = Country::all().into_iter().map(|(it, _)| it).collect();
        let times: Vec<(Date<Gregorian>, Time)> = (1..=12)
            .map(|month| (if month == 7 { 44 } else { 2031 }, month, 2 * month - 1))
            .map(|(year, month, hour)| {
                let date = Date::try_new_gregorian(year, month, 1).unwrap();
                (date, Time::try_new(hour, 5, 0, 0).unwrap())
            })
            .collect();
        for locale in &locales() {
            let same = |ours: String, theirs: String| assert_eq!(ours, theirs, "{locale}");

            let ours = numbers(locale).unwrap();
            let theirs = DecimalFormatter::try_new(locale.into(), Default::default()).unwrap();
            for it in &plain {
                same(ours.format(it).to_string(), theirs.format(it).to_string());
            }
            for currency in currencies {
                let ours = amounts(locale, currency).unwrap();
                let options = Default::default();
                let theirs = CurrencyFormatter::try_new_symbol(locale.into(), currency, options);
                let theirs = theirs.unwrap();
                for it in &plain {
                    let ours = ours.format_fixed_decimal(it).to_string();
                    same(ours, theirs.format_fixed_decimal(it).to_string());
                }
            }

            let days = (
                days(locale).unwrap(),
                Dates::try_new(locale.into(), DAY).unwrap(),
            );
            let instants = (
                instants(locale).unwrap(),
                Dates::try_new(locale.into(), to_the_minute()).unwrap(),
            );
            for (date, time) in &times {
                same(
                    days.0.format(date).to_string(),
                    days.1.format(date).to_string(),
                );
                let (date, time) = (*date, *time);
                let at = DateTime { date, time };
                same(
                    instants.0.format(&at).to_string(),
                    instants.1.format(&at).to_string(),
                );
            }

            let ours = super::countries(locale).unwrap();
            let theirs = RegionDisplayNames::try_new(locale.into(), Default::default()).unwrap();
            for country in &countries {
                let region = Region::try_from_str(country.code()).unwrap();
                assert_eq!(ours.of(region), theirs.of(region), "{locale}");
            }
        }
    }
}
