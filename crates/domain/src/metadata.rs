//! What callers keep beside records: keys and texts of their own, which mean nothing here.

use std::collections::BTreeMap;

use crate::text::{MetadataKey, MetadataValue};

/// More keys than a record keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have at most {} keys", Metadata::MAX_KEYS)]
pub struct TooManyKeys;

/// Up to [`Metadata::MAX_KEYS`] keys, each with a text.
///
/// ```
/// use lessor_domain::metadata::{Metadata, MetadataPatch};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut kept = Metadata::default();
/// kept.merge(MetadataPatch::Merge([("warehouse".parse()?, Some("north".parse()?))].into()))?;
/// kept.merge(MetadataPatch::Merge([("batch".parse()?, Some("7".parse()?))].into()))?;
/// assert_eq!(kept.entries().len(), 2);
/// kept.merge(MetadataPatch::Merge([("batch".parse()?, None)].into()))?;
/// assert_eq!(kept.entries().len(), 1);
/// kept.merge(MetadataPatch::Clear)?;
/// assert!(kept.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        try_from = "BTreeMap<MetadataKey, MetadataValue>",
        into = "BTreeMap<MetadataKey, MetadataValue>"
    )
)]
pub struct Metadata(BTreeMap<MetadataKey, MetadataValue>);

impl Metadata {
    /// The most keys.
    pub const MAX_KEYS: usize = 50;

    /// Nothing.
    pub const NONE: &'static Self = &Self(BTreeMap::new());

    /// These entries.
    ///
    /// # Errors
    /// [`TooManyKeys`] on more than [`Self::MAX_KEYS`].
    pub fn new(entries: BTreeMap<MetadataKey, MetadataValue>) -> Result<Self, TooManyKeys> {
        if entries.len() > Self::MAX_KEYS {
            Err(TooManyKeys)
        } else {
            Ok(Self(entries))
        }
    }

    /// The entries, by key.
    #[must_use]
    pub const fn entries(&self) -> &BTreeMap<MetadataKey, MetadataValue> {
        &self.0
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether each of the wanted entries is here, with that very text.
    #[must_use]
    pub fn has_all(&self, wanted: &Self) -> bool {
        let has = |(key, value)| self.0.get(key) == Some(value);
        wanted.0.iter().all(has)
    }

    /// Applies the update: keys that it does not name stay.
    ///
    /// # Errors
    /// [`TooManyKeys`] when more than [`Self::MAX_KEYS`] would be left; nothing has changed then.
    pub fn merge(&mut self, update: MetadataPatch) -> Result<(), TooManyKeys> {
        let merged = match update {
            MetadataPatch::Keep => return Ok(()),
            MetadataPatch::Clear => BTreeMap::new(),
            MetadataPatch::Merge(changes) => {
                let mut merged = self.0.clone();
                for (key, value) in changes {
                    match value {
                        Some(value) => merged.insert(key, value),
                        None => merged.remove(&key),
                    };
                }
                merged
            }
        };
        *self = Self::new(merged)?;
        Ok(())
    }
}

impl TryFrom<BTreeMap<MetadataKey, MetadataValue>> for Metadata {
    type Error = TooManyKeys;

    fn try_from(entries: BTreeMap<MetadataKey, MetadataValue>) -> Result<Self, TooManyKeys> {
        Self::new(entries)
    }
}

impl From<Metadata> for BTreeMap<MetadataKey, MetadataValue> {
    fn from(metadata: Metadata) -> Self {
        metadata.0
    }
}

/// What an update does to metadata.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MetadataPatch {
    /// Leaves them as they are.
    #[default]
    Keep,
    /// Takes all away.
    Clear,
    /// Sets the keys with a text, and takes those without one away.
    Merge(BTreeMap<MetadataKey, Option<MetadataValue>>),
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    fn key(text: &str) -> MetadataKey {
        MetadataKey::parse(text).unwrap()
    }

    fn value(text: &str) -> MetadataValue {
        MetadataValue::parse(text).unwrap()
    }

    #[test]
    fn keys_and_values_have_limits() {
        for text in ["a", "order-source", "größe", "a.b c", &"ä".repeat(40)] {
            assert!(MetadataKey::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "  ",
            "a[b]",
            "a]",
            "a\tb",
            "a\u{0}",
            "a\u{202E}b",
            "a\u{200D}b",
            &"ä".repeat(41),
        ] {
            assert!(MetadataKey::parse(text).is_err(), "{text:?}");
        }
        for text in ["1", "[]", "%_\\", "👩\u{200D}👧", &"ä".repeat(500)] {
            assert!(MetadataValue::parse(text).is_ok(), "{text}");
        }
        for text in ["", " ", "a\nb", "a\u{0}", "a\u{202E}", &"ä".repeat(501)] {
            assert!(MetadataValue::parse(text).is_err(), "{text:?}");
        }
    }

    fn some_key() -> impl Strategy<Value = MetadataKey> {
        (0..70_u8).prop_map(|number| key(&format!("key {number}")))
    }

    fn some_value() -> impl Strategy<Value = MetadataValue> {
        "[a-c]{1,2}".prop_map(|text| value(&text))
    }

    fn some_patch() -> impl Strategy<Value = MetadataPatch> {
        prop_oneof![
            1 => Just(MetadataPatch::Keep),
            1 => Just(MetadataPatch::Clear),
            8 => btree_map(some_key(), proptest::option::of(some_value()), 0..40)
                .prop_map(MetadataPatch::Merge),
        ]
    }

    proptest! {
        /// Whatever is asked for, in whatever order: what is kept is what a plain map would hold, and
        /// never more than is allowed.
        #[test]
        fn updates_do_what_they_say_or_nothing(updates in vec(some_patch(), 0..12)) {
            let mut kept = Metadata::default();
            for update in updates {
                let before = kept.clone();
                let mut expected = before.entries().clone();
                match &update {
                    MetadataPatch::Keep => {}
                    MetadataPatch::Clear => expected.clear(),
                    MetadataPatch::Merge(changes) => {
                        expected.retain(|key, _| !changes.contains_key(key));
                        let set = |(key, value): (&MetadataKey, &Option<MetadataValue>)| {
                            Some((key.clone(), value.clone()?))
                        };
                        expected.extend(changes.iter().filter_map(set));
                    }
                }
                match kept.merge(update) {
                    Ok(()) => prop_assert_eq!(kept.entries(), &expected),
                    Err(TooManyKeys) => {
                        prop_assert!(expected.len() > Metadata::MAX_KEYS);
                        prop_assert_eq!(&kept, &before);
                    }
                }
                prop_assert!(kept.entries().len() <= Metadata::MAX_KEYS);
            }
        }

        /// A record has a part of what it has, and not what it lacks.
        #[test]
        fn what_is_wanted_is_found(
            entries in btree_map(some_key(), some_value(), 0..20),
            wanted in btree_map(some_key(), some_value(), 0..3),
        ) {
            let kept = Metadata::new(entries.clone()).unwrap();
            let part = entries.iter().step_by(2).map(|(key, value)| (key.clone(), value.clone()));
            prop_assert!(kept.has_all(&Metadata::new(part.collect()).unwrap()));
            let has_all = wanted.iter().all(|entry| entries.iter().any(|known| known == entry));
            prop_assert_eq!(kept.has_all(&Metadata::new(wanted).unwrap()), has_all);
        }

        /// Whatever the text is: a key that is taken is trimmed, short, and without brackets.
        #[test]
        fn keys_that_are_taken_are_keys(text in "\\PC{0,45}|.{0,45}|[a-z\\[\\] ]{0,45}") {
            if let Ok(key) = MetadataKey::parse(&text) {
                let key = key.as_str();
                prop_assert_eq!(key, text.trim());
                prop_assert!(!key.is_empty() && key.chars().count() <= 40);
                prop_assert!(!key.contains(|c: char| c.is_control() || matches!(c, '[' | ']')));
            }
        }
    }
}
