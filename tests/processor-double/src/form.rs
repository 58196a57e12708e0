//! Form-encoded nested keys, read: `items[0][price]=price_1`, `expand[]=customer`.

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tree {
    /// A value.
    Leaf(String),
    /// Members, in the order of the form. Those of `name[]` have no name.
    Node(Vec<(String, Tree)>),
}

impl Tree {
    /// No parameters at all.
    pub(crate) const fn empty() -> Self {
        Self::Node(Vec::new())
    }

    /// The members; none of a value.
    pub(crate) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Leaf(_) => &[],
            Self::Node(members) => members,
        }
    }

    fn put(&mut self, path: &[String], value: String) -> Result<(), String> {
        let Some((name, rest)) = path.split_first() else {
            *self = Self::Leaf(value);
            return Ok(());
        };
        let Self::Node(members) = self else {
            return Err(format!("`{name}` is both a value and a group"));
        };
        let known = match name.as_str() {
            "" => None,
            _ => members.iter().position(|(known, _)| known == name),
        };
        let at = known.unwrap_or_else(|| {
            members.push((name.clone(), Self::empty()));
            members.len() - 1
        });
        if rest.is_empty() && known.is_some() {
            return Err(format!("`{name}` is given twice"));
        }
        members[at].1.put(rest, value)
    }
}

/// Reads a form, or the query of a URL.
///
/// # Errors
/// What is wrong with a name.
pub(crate) fn decode(form: &[u8]) -> Result<Tree, String> {
    let mut tree = Tree::empty();
    for (name, value) in form_urlencoded::parse(form) {
        tree.put(&path(&name)?, value.into_owned())?;
    }
    Ok(tree)
}

fn path(name: &str) -> Result<Vec<String>, String> {
    let (first, mut rest) = match name.find('[') {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    let mut parts = vec![first.to_owned()];
    while let Some(open) = rest.strip_prefix('[') {
        let (part, after) = open
            .split_once(']')
            .ok_or_else(|| format!("`{name}` has a bracket that is not closed"))?;
        parts.push(part.to_owned());
        rest = after;
    }
    if first.is_empty() || !rest.is_empty() {
        return Err(format!("`{name}` is no name of a parameter"));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(text: &str) -> Tree {
        Tree::Leaf(text.to_owned())
    }

    #[test]
    fn nested_names_become_a_tree() {
        let tree = decode(b"items[0][price]=price_1&items[0][quantity]=1&metadata[a%20b]=x%26y");
        let item = Tree::Node(vec![
            ("price".to_owned(), leaf("price_1")),
            ("quantity".to_owned(), leaf("1")),
        ]);
        let expected = Tree::Node(vec![
            ("items".to_owned(), Tree::Node(vec![("0".to_owned(), item)])),
            (
                "metadata".to_owned(),
                Tree::Node(vec![("a b".to_owned(), leaf("x&y"))]),
            ),
        ]);
        assert_eq!(tree, Ok(expected));
    }

    #[test]
    fn nameless_members_are_kept_apart() {
        let tree = decode(b"expand[]=a&expand[]=b");
        let members = vec![(String::new(), leaf("a")), (String::new(), leaf("b"))];
        assert_eq!(
            tree,
            Ok(Tree::Node(vec![("expand".to_owned(), Tree::Node(members))]))
        );
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for form in ["a[b=1", "[a]=1", "a[b]c=1", "a=1&a[b]=2", "a=1&a=2", "=1"] {
            assert!(decode(form.as_bytes()).is_err(), "{form}");
        }
    }
}
