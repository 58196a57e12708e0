//! Variants made of a product's options: which combinations, and what each is called and costs.

use super::{OptionDefinition, OptionError, OptionSelection, options};
use crate::money::Money;
use crate::text::Name;

/// The most variants of a product, archived ones aside.
pub const MAX_VARIANTS_OF_PRODUCT: u16 = 2_000;

/// Values of some of a product's options.
pub type ChosenValues = Vec<(Name, Vec<Name>)>;

/// How many combinations the options have; none when there are more than can be counted.
fn count(options: &[OptionDefinition]) -> Option<usize> {
    options.iter().try_fold(1_usize, |product, option| {
        product.checked_mul(option.values.len())
    })
}

/// The options with the chosen values alone; an option of which nothing is chosen has all of its.
///
/// # Errors
/// [`OptionError`], its path such as `.Size[1]`: an unknown or repeated option, a value that is not
/// in its list or chosen twice, none at all.
fn narrowed(
    options: &[OptionDefinition],
    chosen: &ChosenValues,
) -> Result<Vec<OptionDefinition>, OptionError> {
    let mut narrowed = options.to_vec();
    for (index, (name, values)) in chosen.iter().enumerate() {
        let at = format!(".{name}");
        let option = narrowed
            .iter_mut()
            .find(|option| options::same(&option.name, name))
            .ok_or_else(|| options::unknown_option(at.clone(), options, name))?;
        let earlier = chosen.iter().take(index);
        if earlier
            .into_iter()
            .any(|(other, _)| options::same(other, name))
        {
            return Err(options::fault(at, "is given twice"));
        }
        if values.is_empty() {
            return Err(options::fault(at, "must name at least one value"));
        }
        let mut kept: Vec<Name> = Vec::new();
        for (index, value) in values.iter().enumerate() {
            let at = format!("{at}[{index}]");
            let known = options::known_value(option, value, &at)?;
            if kept.contains(known) {
                return Err(options::fault(
                    at,
                    format!("the value {known} is given twice"),
                ));
            }
            kept.push(known.clone());
        }
        option.values.retain(|value| kept.contains(value));
    }
    Ok(narrowed)
}

/// Every combination of the chosen values, in the order of the options and their values: the last
/// option changes first. A product without options has one, of nothing.
///
/// # Errors
/// [`OptionError`], its path relative to what is chosen: an unknown or repeated option or value, and
/// more than [`MAX_VARIANTS_OF_PRODUCT`] combinations.
pub fn combinations(
    options: &[OptionDefinition],
    chosen: &ChosenValues,
) -> Result<Vec<Vec<OptionSelection>>, OptionError> {
    let options = narrowed(options, chosen)?;
    if count(&options).is_none_or(|count| count > usize::from(MAX_VARIANTS_OF_PRODUCT)) {
        return Err(options::fault(
            String::new(),
            format!(
                "must make at most {MAX_VARIANTS_OF_PRODUCT} combinations: choose fewer values"
            ),
        ));
    }
    let nothing = vec![Vec::with_capacity(options.len())];
    Ok(options.iter().fold(nothing, |combinations, option| {
        combinations
            .iter()
            .flat_map(|combination| {
                option.values.iter().map(|value| {
                    let mut longer = combination.clone();
                    longer.push(OptionSelection {
                        name: option.name.clone(),
                        value: value.clone(),
                    });
                    longer
                })
            })
            .collect()
    }))
}

/// What a pattern cannot say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(String);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Product,
    Option(Name),
}

/// What variants are called, each by what it chose: `{product}-{Size}` is `BIKE-M` of a product
/// `BIKE` in size `M`.
///
/// The name of an option, in any case, stands for the value that was chosen of it, `{product}` for
/// the product's own, unless it has an option of that name. Braces of the text's own are doubled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Part>);

impl Pattern {
    /// Reads the pattern for a product of these options.
    ///
    /// # Errors
    /// [`PatternError`]: a brace that is not closed or not opened, or what is no option.
    pub fn parse(text: &str, options: &[OptionDefinition]) -> Result<Self, PatternError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            match character {
                '{' | '}' if rest.peek() == Some(&character) => {
                    plain.extend(rest.next());
                }
                '{' => {
                    let mut name = String::new();
                    loop {
                        match rest.next() {
                            Some('}') => break,
                            Some(character) => name.push(character),
                            None => {
                                let message = "has a { that is not closed; { itself is written {{";
                                return Err(PatternError(message.to_owned()));
                            }
                        }
                    }
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(placeholder(name.trim(), options)?);
                }
                '}' => {
                    let message = "has a } that was not opened; } itself is written }}";
                    return Err(PatternError(message.to_owned()));
                }
                character => plain.push(character),
            }
        }
        parts.push(Part::Text(plain));
        Ok(Self(parts))
    }

    /// Whether it says something of the product itself.
    #[must_use]
    pub fn names_the_product(&self) -> bool {
        self.0.contains(&Part::Product)
    }

    /// What it makes of a product and what a variant of it chose.
    #[must_use]
    pub fn of(&self, product: &str, selection: &[OptionSelection]) -> String {
        let mut made = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => made.push_str(text),
                Part::Product => made.push_str(product),
                Part::Option(name) => {
                    let chosen = selection.iter().find(|chosen| chosen.name == *name);
                    made.push_str(chosen.map_or("", |chosen| chosen.value.as_str()));
                }
            }
        }
        made
    }
}

fn placeholder(name: &str, options: &[OptionDefinition]) -> Result<Part, PatternError> {
    let folded = name.to_lowercase();
    let of_option = options
        .iter()
        .find(|option| option.name.as_str().to_lowercase() == folded);
    match of_option {
        Some(option) => Ok(Part::Option(option.name.clone())),
        None if folded == "product" => Ok(Part::Product),
        None => {
            let known: Vec<String> = options
                .iter()
                .map(|option| format!("{{{}}}", option.name))
                .collect();
            let known = known.join(", ");
            let known = if known.is_empty() {
                "{product} alone".to_owned()
            } else {
                format!("{{product}}, {known}")
            };
            Err(PatternError(format!(
                "names {{{name}}}, which is no option of the product; it can name {known}"
            )))
        }
    }
}

/// What values of options add to a price.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceAdditions(Vec<(OptionSelection, Money)>);

impl PriceAdditions {
    /// The additions, each for a value of one of the options.
    ///
    /// # Errors
    /// [`OptionError`], its path such as `.Size.XL`: an unknown option or value, or one that was
    /// given before.
    pub fn new(
        options: &[OptionDefinition],
        additions: Vec<(Name, Name, Money)>,
    ) -> Result<Self, OptionError> {
        let mut checked: Vec<(OptionSelection, Money)> = Vec::new();
        for (name, value, amount) in additions {
            let at = format!(".{name}.{value}");
            let option = options
                .iter()
                .find(|option| options::same(&option.name, &name))
                .ok_or_else(|| options::unknown_option(format!(".{name}"), options, &name))?;
            let chosen = OptionSelection {
                name: option.name.clone(),
                value: options::known_value(option, &value, &at)?.clone(),
            };
            if checked.iter().any(|(known, _)| *known == chosen) {
                return Err(options::fault(at, "is given twice"));
            }
            checked.push((chosen, amount));
        }
        Ok(Self(checked))
    }

    /// The price with what the chosen values add to it; none when it is more than a price can be.
    #[must_use]
    pub fn applied_to(&self, price: Money, selection: &[OptionSelection]) -> Option<Money> {
        let added = self
            .0
            .iter()
            .filter(|(chosen, _)| selection.contains(chosen));
        let sum = added
            .map(|(_, amount)| *amount)
            .try_fold(price, |sum, amount| sum.checked_add(amount).ok())?;
        let largest = Money::largest_amount(price.currency());
        (sum.minor() <= largest.minor()).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::money::Currency;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn option(label: &str, values: &[&str]) -> OptionDefinition {
        OptionDefinition {
            id: label.to_owned(),
            name: name(label),
            position: 0,
            values: values.iter().map(|value| name(value)).collect(),
        }
    }

    fn bike() -> [OptionDefinition; 2] {
        [
            option("Size", &["S", "M", "L"]),
            option("Colour", &["Red", "Blue"]),
        ]
    }

    fn chosen(options: &[(&str, &[&str])]) -> ChosenValues {
        options
            .iter()
            .map(|(option, values)| {
                let values = values.iter().map(|value| name(value));
                (name(option), values.collect())
            })
            .collect()
    }

    fn told(combinations: &[Vec<OptionSelection>]) -> Vec<String> {
        combinations
            .iter()
            .map(|combination| {
                let values = combination.iter().map(|chosen| chosen.value.as_str());
                values.collect::<Vec<_>>().join("/")
            })
            .collect()
    }

    /// Values by the names of options.
    type Part<'a> = &'a [(&'a str, &'a [&'a str])];

    #[test]
    fn the_matrix_or_a_part_of_it() {
        let cases: [(Part<'_>, &[&str]); 3] = [
            (
                &[],
                &["S/Red", "S/Blue", "M/Red", "M/Blue", "L/Red", "L/Blue"],
            ),
            // In the order of the definitions, whatever order they are chosen in.
            (
                &[("SIZE", &["m", "S"])],
                &["S/Red", "S/Blue", "M/Red", "M/Blue"],
            ),
            (&[("Colour", &["Blue"]), ("Size", &["L"])], &["L/Blue"]),
        ];
        for (part, expected) in cases {
            let made = combinations(&bike(), &chosen(part)).unwrap();
            assert_eq!(told(&made), expected, "{part:?}");
        }
        assert_eq!(combinations(&[], &Vec::new()), Ok(vec![Vec::new()]));
    }

    #[test]
    fn what_is_no_part_of_the_matrix_is_named() {
        let cases: [(Part<'_>, &str); 6] = [
            (&[("Shape", &["Round"])], ".Shape"),
            (&[("Size", &[])], ".Size"),
            (&[("Size", &["S", "XL"])], ".Size[1]"),
            (&[("Size", &["S", "s"])], ".Size[1]"),
            (&[("Size", &["S"]), ("size", &["M"])], ".size"),
            (&[("Size", &["S"]), ("Colour", &["Green"])], ".Colour[0]"),
        ];
        for (part, path) in cases {
            let error = combinations(&bike(), &chosen(part)).unwrap_err();
            assert_eq!(error.path, path, "{part:?}: {error}");
        }
    }

    #[test]
    fn no_more_combinations_than_are_allowed() {
        let numbers: Vec<String> = (0..250).map(|number| number.to_string()).collect();
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let eight = option("B", &numbers[..8]);
        let made = combinations(&[option("A", &numbers), eight.clone()], &Vec::new()).unwrap();
        assert_eq!(made.len(), usize::from(MAX_VARIANTS_OF_PRODUCT));
        for options in [
            vec![option("A", &numbers), option("B", &numbers[..9])],
            // More than can be counted.
            (0..10)
                .map(|index| option(&format!("O{index}"), &numbers))
                .collect(),
        ] {
            let error = combinations(&options, &Vec::new()).unwrap_err();
            assert_eq!(error.path, "");
            assert!(error.message.contains("2000"), "{error}");
        }
    }

    #[test]
    fn patterns_name_what_a_variant_chose() {
        let options = bike();
        let selection = combinations(&options, &Vec::new()).unwrap().remove(3);
        for (pattern, expected) in [
            ("{product}-{Size}-{Colour}", "BIKE-M-Blue"),
            ("{ colour }.{SIZE}", "Blue.M"),
            ("{{{Size}}}", "{M}"),
            ("plain", "plain"),
            ("", ""),
        ] {
            let made = Pattern::parse(pattern, &options).map(|it| it.of("BIKE", &selection));
            assert_eq!(made.as_deref(), Ok(expected), "{pattern}");
        }
        for (pattern, part) in [
            ("{Size", "not closed"),
            ("Size}", "not opened"),
            ("{Shape}", "{product}, {Size}, {Colour}"),
            ("{}", "{product}, {Size}, {Colour}"),
        ] {
            let error = Pattern::parse(pattern, &options).unwrap_err().to_string();
            assert!(error.contains(part), "{pattern}: {error}");
        }
        assert!(
            Pattern::parse("{product}", &[])
                .unwrap()
                .names_the_product()
        );
        let own = [option("Product", &["Frame"])];
        assert!(
            !Pattern::parse("{product}", &own)
                .unwrap()
                .names_the_product()
        );
    }

    #[test]
    fn values_add_to_the_price() {
        let usd = |minor| Money::from_minor(minor, Currency::USD);
        let options = bike();
        let additions = PriceAdditions::new(
            &options,
            vec![
                (name("size"), name("l"), usd(2_000)),
                (name("Colour"), name("Blue"), usd(550)),
            ],
        )
        .unwrap();
        let prices: Vec<_> = combinations(&options, &Vec::new())
            .unwrap()
            .iter()
            .map(|selection| {
                additions
                    .applied_to(usd(10_000), selection)
                    .unwrap()
                    .minor()
            })
            .collect();
        assert_eq!(prices, [10_000, 10_550, 10_000, 10_550, 12_000, 12_550]);
        let largest = Money::largest_amount(Currency::USD);
        let all = combinations(&options, &Vec::new()).unwrap();
        assert_eq!(additions.applied_to(largest, &all[0]), Some(largest));
        assert_eq!(additions.applied_to(largest, &all[1]), None);
        for (option, value, path) in [
            ("Shape", "Round", ".Shape"),
            ("Size", "XL", ".Size.XL"),
            ("SIZE", "M", ".SIZE.M"),
        ] {
            let twice = vec![
                (name("Size"), name("M"), usd(1)),
                (name(option), name(value), usd(1)),
            ];
            let error = PriceAdditions::new(&options, twice).unwrap_err();
            assert_eq!(error.path, path);
        }
    }

    proptest! {
        /// Of whatever options: as many combinations as the values multiply to, no two the same, and
        /// each one that a variant can choose.
        #[test]
        fn combinations_are_whole_and_different(
            sizes in proptest::collection::vec(1..6_usize, 0..5),
        ) {
            let numbers = ["0", "1", "2", "3", "4"];
            let options: Vec<_> = sizes
                .iter()
                .enumerate()
                .map(|(index, size)| option(&format!("O{index}"), &numbers[..*size]))
                .collect();
            prop_assume!(sizes.iter().product::<usize>() <= usize::from(MAX_VARIANTS_OF_PRODUCT));
            let made = combinations(&options, &Vec::new()).unwrap();
            prop_assert_eq!(made.len(), sizes.iter().product::<usize>());
            let different: std::collections::BTreeSet<_> = told(&made).into_iter().collect();
            prop_assert_eq!(different.len(), made.len());
            for combination in &made {
                let checked = super::super::check_selection(&options, combination);
                prop_assert_eq!(checked.as_ref(), Ok(combination));
            }
        }
    }
}
