//! Option matrices: what a product can be chosen in, and what a variant chose.

use super::{MAX_OPTION_VALUES, MAX_OPTIONS};
use crate::text::Name;

/// One thing that a product can be chosen in, such as size.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OptionDefinition {
    /// Its id, unique within the product.
    pub id: String,
    /// Its name, unique within the product in any case.
    pub name: Name,
    /// Where it stands among the options, from 0.
    pub position: i32,
    /// What can be chosen, unique within the option in any case.
    pub values: Vec<Name>,
}

/// What a variant chose of one option.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OptionSelection {
    /// The option's name.
    pub name: Name,
    /// The value out of its list.
    pub value: Name,
}

/// What is wrong with options, and where: `path` is relative to the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OptionError {
    /// Such as `[1].values[0]`; empty for the list as a whole.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

pub(super) fn fault(path: String, message: impl Into<String>) -> OptionError {
    OptionError {
        path,
        message: message.into(),
    }
}

pub(super) fn same(a: &Name, b: &Name) -> bool {
    a.as_str().to_lowercase() == b.as_str().to_lowercase()
}

/// The product has no option of the name.
pub(super) fn unknown_option(
    path: String,
    options: &[OptionDefinition],
    name: &Name,
) -> OptionError {
    let known = options
        .iter()
        .map(|option| option.name.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known
    };
    fault(
        path,
        format!("the product has no option {name}; it has: {known}"),
    )
}

/// The value as the option spells it.
pub(super) fn known_value<'o>(
    option: &'o OptionDefinition,
    value: &Name,
    path: &str,
) -> Result<&'o Name, OptionError> {
    let known = option.values.iter().find(|known| same(known, value));
    known.ok_or_else(|| {
        let known = option
            .values
            .iter()
            .map(Name::as_str)
            .take(20)
            .collect::<Vec<_>>()
            .join(", ");
        fault(
            path.to_owned(),
            format!("{value} is not a value of {}; it has: {known}", option.name),
        )
    })
}

fn repeated<'a>(names: impl Iterator<Item = &'a Name>) -> Option<(usize, &'a Name)> {
    let mut seen: Vec<String> = Vec::new();
    for (index, name) in names.enumerate() {
        let folded = name.as_str().to_lowercase();
        if seen.contains(&folded) {
            return Some((index, name));
        }
        seen.push(folded);
    }
    None
}

/// Whether the definitions can be a product's.
///
/// # Errors
/// [`OptionError`] on more than [`MAX_OPTIONS`] options, an option without values
/// or with more than [`MAX_OPTION_VALUES`], and on repeated ids, names and values.
pub fn check_definitions(options: &[OptionDefinition]) -> Result<(), OptionError> {
    if options.len() > MAX_OPTIONS {
        return Err(fault(
            String::new(),
            format!("must have at most {MAX_OPTIONS} options"),
        ));
    }
    if let Some((index, name)) = repeated(options.iter().map(|option| &option.name)) {
        return Err(fault(
            format!("[{index}].name"),
            format!("the option name {name} is used twice"),
        ));
    }
    for (index, option) in options.iter().enumerate() {
        if options
            .iter()
            .take(index)
            .any(|earlier| earlier.id == option.id)
        {
            return Err(fault(
                format!("[{index}].id"),
                format!("the option id {} is used twice", option.id),
            ));
        }
        if option.values.is_empty() || option.values.len() > MAX_OPTION_VALUES {
            return Err(fault(
                format!("[{index}].values"),
                format!("must have 1 to {MAX_OPTION_VALUES} values"),
            ));
        }
        if let Some((value, name)) = repeated(option.values.iter()) {
            return Err(fault(
                format!("[{index}].values[{value}]"),
                format!("the value {name} is used twice"),
            ));
        }
    }
    Ok(())
}

/// The selection in the order and spelling of the definitions: exactly one
/// selection for each option, its value out of the option's list.
///
/// # Errors
/// [`OptionError`] on an unknown or repeated option, a value that is not in the
/// list, and an option without a selection.
pub fn check_selection(
    options: &[OptionDefinition],
    selection: &[OptionSelection],
) -> Result<Vec<OptionSelection>, OptionError> {
    for (index, chosen) in selection.iter().enumerate() {
        if !options
            .iter()
            .any(|option| same(&option.name, &chosen.name))
        {
            let at = format!("[{index}].name");
            return Err(unknown_option(at, options, &chosen.name));
        }
        if selection
            .iter()
            .take(index)
            .any(|earlier| same(&earlier.name, &chosen.name))
        {
            return Err(fault(
                format!("[{index}].name"),
                format!("the option {} is selected twice", chosen.name),
            ));
        }
    }
    options
        .iter()
        .map(|option| {
            let (index, chosen) = selection
                .iter()
                .enumerate()
                .find(|(_, chosen)| same(&chosen.name, &option.name))
                .ok_or_else(|| {
                    fault(
                        String::new(),
                        format!("must select a value for the option {}", option.name),
                    )
                })?;
            let value = known_value(option, &chosen.value, &format!("[{index}].value"))?;
            Ok(OptionSelection {
                name: option.name.clone(),
                value: value.clone(),
            })
        })
        .collect()
}

/// What selections have in common that are the [same combination](is_same_combination): names and
/// values in one case and one order.
#[must_use]
pub fn folded_combination(selection: &[OptionSelection]) -> Vec<(String, String)> {
    let mut folded: Vec<(String, String)> = selection
        .iter()
        .map(|chosen| {
            (
                chosen.name.as_str().to_lowercase(),
                chosen.value.as_str().to_lowercase(),
            )
        })
        .collect();
    folded.sort_unstable();
    folded
}

/// Whether two selections choose the same values of the same options.
#[must_use]
pub fn is_same_combination(a: &[OptionSelection], b: &[OptionSelection]) -> bool {
    let within = |chosen: &OptionSelection, other: &[OptionSelection]| {
        other
            .iter()
            .any(|theirs| same(&theirs.name, &chosen.name) && same(&theirs.value, &chosen.value))
    };
    a.len() == b.len() && a.iter().all(|chosen| within(chosen, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn option(id: &str, label: &str, values: &[&str]) -> OptionDefinition {
        OptionDefinition {
            id: id.into(),
            name: name(label),
            position: 0,
            values: values.iter().map(|v| name(v)).collect(),
        }
    }

    fn pick(label: &str, value: &str) -> OptionSelection {
        OptionSelection {
            name: name(label),
            value: name(value),
        }
    }

    #[test]
    fn definitions_are_unique_in_any_case() {
        let path = |options: &[OptionDefinition]| check_definitions(options).map_err(|e| e.path);
        assert_eq!(path(&[]), Ok(()));
        assert_eq!(
            path(&[
                option("a", "Size", &["S", "M"]),
                option("b", "Color", &["Red"])
            ]),
            Ok(())
        );
        assert_eq!(
            path(&[option("a", "Size", &["S"]), option("b", "SIZE", &["M"])]),
            Err("[1].name".into())
        );
        assert_eq!(
            path(&[option("a", "Size", &["S"]), option("a", "Color", &["M"])]),
            Err("[1].id".into())
        );
        assert_eq!(
            path(&[option("a", "Size", &["S", "s"])]),
            Err("[0].values[1]".into())
        );
        assert_eq!(path(&[option("a", "Size", &[])]), Err("[0].values".into()));
    }

    #[test]
    fn one_selection_for_each_option() {
        let options = [
            option("a", "Size", &["S", "M"]),
            option("b", "Color", &["Red"]),
        ];
        let check =
            |picks: &[OptionSelection]| check_selection(&options, picks).map_err(|e| e.path);
        assert_eq!(
            check(&[pick("color", "RED"), pick("size", "m")]),
            Ok(vec![pick("Size", "M"), pick("Color", "Red")])
        );
        assert_eq!(check(&[pick("Size", "S")]), Err(String::new()));
        assert_eq!(
            check(&[pick("Size", "S"), pick("Color", "Blue")]),
            Err("[1].value".into())
        );
        assert_eq!(
            check(&[pick("Size", "S"), pick("Shape", "Round")]),
            Err("[1].name".into())
        );
        assert_eq!(
            check(&[pick("Size", "S"), pick("size", "M"), pick("Color", "Red")]),
            Err("[1].name".into())
        );
    }

    #[test]
    fn combinations_compare_without_order() {
        assert!(is_same_combination(
            &[pick("A", "1"), pick("B", "2")],
            &[pick("b", "2"), pick("a", "1")]
        ));
        assert!(!is_same_combination(&[pick("A", "1")], &[pick("A", "2")]));
        assert!(!is_same_combination(&[pick("A", "1")], &[]));
    }
}
