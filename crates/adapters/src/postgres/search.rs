//! Products by a part of their texts.
//!
//! Texts are folded by the domain and kept beside the columns that they are made of, with the
//! pieces of one, two and three characters of each, of which triggers make rows that an index
//! knows. The texts with the pieces of a term are found by it, and of these the ones that hold the
//! term itself are kept. No extension is needed, and no character has a meaning of its own.

use diesel::dsl::{AsExprOf, sql};
use diesel::expression::{SqlLiteral, UncheckedBind};
use diesel::sql_types::{Array, BigInt, Bool, Integer, Text};
use lessor_domain::ids::OrganizationId;
use lessor_domain::text::SearchTerm;

/// The most characters of a piece.
const LONGEST: usize = 3;
/// The most pieces of a term that are looked for: so many leave few texts to be compared, however
/// long the term is.
const ENOUGH: usize = 8;

/// The pieces of this size, each once: a number of ten bits for each character, as the migration
/// says. Characters of other scripts may share some, which costs time and finds nothing wrong.
fn pieces(folded: &str, size: usize) -> Vec<i32> {
    let characters: Vec<u32> = folded.chars().map(|it| u32::from(it) % 1024).collect();
    let number = |piece: &[u32]| {
        let bits = piece.iter().rev().fold(0, |bits, it| bits << 10 | it);
        // Thirty bits.
        i32::try_from(bits).unwrap_or_default()
    };
    let mut pieces: Vec<i32> = characters.windows(size).map(number).collect();
    pieces.sort_unstable();
    pieces.dedup();
    pieces
}

/// All pieces of a text.
pub(super) fn grams(folded: &str) -> Vec<i32> {
    let mut grams: Vec<i32> = (1..=LONGEST)
        .flat_map(|size| pieces(folded, size))
        .collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// The longest pieces of a term: who has them has the others too.
fn longest(folded: &str) -> Vec<i32> {
    pieces(folded, folded.chars().count().clamp(1, LONGEST))
}

/// The pieces that a term is looked for by.
fn telling(folded: &str) -> Vec<i32> {
    let all = longest(folded);
    let step = all.len().div_ceil(ENOUGH).max(1);
    all.into_iter().step_by(step).collect()
}

type With<T, U, S> = UncheckedBind<SqlLiteral<Bool, T>, AsExprOf<U, S>>;
type OfOrganization = UncheckedBind<SqlLiteral<Bool>, AsExprOf<i64, BigInt>>;
/// The organization of the pieces, the pieces, how many they are, and the term.
type Sought<T> =
    With<With<With<With<T, i64, BigInt>, Vec<i32>, Array<Integer>>, i64, BigInt>, String, Text>;
type Own = Sought<OfOrganization>;
type AndSold = Sought<With<Own, i64, BigInt>>;

/// Whether the term is in the product's own texts, or in those of a variant that is not archived.
pub(super) fn is_found(
    organization: OrganizationId,
    term: &SearchTerm,
) -> SqlLiteral<Bool, AndSold> {
    let organization = organization.get();
    let term = term.folded();
    let pieces = telling(&term);
    let all = i64::try_from(pieces.len()).unwrap_or(i64::MAX);
    sql::<Bool>("products.id IN (SELECT own.id FROM products AS own WHERE own.organization_id = ")
        .bind::<BigInt, _>(organization)
        .sql(
            " AND own.id IN (SELECT piece.product_id FROM product_search_pieces AS piece \
         WHERE piece.organization_id = ",
        )
        .bind::<BigInt, _>(organization)
        .sql(" AND piece.piece = ANY(")
        .bind::<Array<Integer>, _>(pieces.clone())
        .sql(") GROUP BY piece.product_id HAVING count(*) = ")
        .bind::<BigInt, _>(all)
        .sql(") AND strpos(own.search_text, ")
        .bind::<Text, _>(term.clone())
        .sql(
            ") > 0 UNION ALL SELECT sold.product_id FROM product_variants AS sold \
         WHERE sold.status <> 'archived' AND sold.organization_id = ",
        )
        .bind::<BigInt, _>(organization)
        .sql(
            " AND sold.id IN (SELECT piece.variant_id FROM variant_search_pieces AS piece \
         WHERE piece.organization_id = ",
        )
        .bind::<BigInt, _>(organization)
        .sql(" AND piece.piece = ANY(")
        .bind::<Array<Integer>, _>(pieces)
        .sql(") GROUP BY piece.variant_id HAVING count(*) = ")
        .bind::<BigInt, _>(all)
        .sql(") AND strpos(sold.search_text, ")
        .bind::<Text, _>(term)
        .sql(") > 0)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_pieces_of_every_term_in_it() {
        let text = "räder 700c\n自転車 100%_\\";
        let characters: Vec<char> = text.chars().collect();
        let all = grams(text);
        for size in 1..=characters.len() {
            for term in characters.windows(size) {
                let term: String = term.iter().collect();
                assert!(longest(&term).iter().all(|it| all.contains(it)), "{term}");
            }
        }
        for foreign in ["x", "re", "dar", "000", "räd7"] {
            assert!(
                longest(foreign).iter().any(|it| !all.contains(it)),
                "{foreign}"
            );
        }
    }

    #[test]
    fn a_long_term_is_looked_for_by_some_of_its_pieces() {
        let term: String = ('a'..='z').collect();
        for length in 1..=term.len() {
            let term = &term[..length];
            let pieces = telling(term);
            assert!((1..=ENOUGH).contains(&pieces.len()), "{term}: {pieces:?}");
            assert!(pieces.iter().all(|it| longest(term).contains(it)), "{term}");
        }
    }

    #[test]
    fn pieces_are_numbers_as_the_migration_makes_them() {
        assert_eq!(longest("a"), [97]);
        assert_eq!(longest("ab"), [97 + 98 * 1_024]);
        assert_eq!(longest("abc"), [97 + 98 * 1_024 + 99 * 1_048_576]);
        assert_eq!(longest("aaaa"), [97 + 97 * 1_024 + 97 * 1_048_576]);
        // Other scripts share numbers.
        assert_eq!(longest("\u{4E61}"), longest("\u{661}"));
        assert_eq!(grams("").len(), 0);
    }
}
