//! Products by a part of their texts.
//!
//! Texts are folded by the domain and kept beside the columns that they are made of, with the
//! pieces of one to four characters of each, of which triggers make rows that an index
//! knows. The texts with the pieces of a term are found by it, and of these the ones that hold the
//! term itself are kept. No extension is needed, and no character has a meaning of its own.
//!
//! How many texts have a piece decides how the term is looked for, and is therefore asked first, up to a number.

use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Integer, Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::StoreError;
use lessor_domain::text::SearchTerm;

use super::error::store_error;
use super::kept::Keep as _;
use super::schema::products;

/// The most characters of a piece.
const LONGEST: usize = 4;
/// The most pieces of a term that are looked for: so many leave few texts to be compared, however
/// long the term is.
const ENOUGH: usize = 8;
/// From so many texts on a piece is one of many.
const MANY: i64 = 1_000;
/// So many texts are counted at first: most terms have a piece that fewer have.
const AT_FIRST: i64 = 64;
/// So many texts are read sooner than it is looked which of them have another piece.
const FEW: i64 = 32;

/// The pieces of this size, each once, as numbers like the migration says: of ten bits for each character, and of four
/// characters of seven bits for each below a set one. Characters of other scripts may share some, which costs time and finds
/// nothing wrong.
fn pieces(folded: &str, size: usize) -> Vec<i32> {
    let (above, bits) = if size == LONGEST { (4, 7) } else { (0, 10) };
    let characters: Vec<u32> = folded
        .chars()
        .map(|it| u32::from(it) % (1 << bits))
        .collect();
    let number = |piece: &[u32]| {
        let number = piece
            .iter()
            .rev()
            .fold(above, |number, it| number << bits | it);
        // Thirty-one bits.
        number.cast_signed()
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

/// A piece of a term, and how many texts have it: of the products themselves, and of variants. No more than many are
/// counted.
#[derive(Clone, Copy, Debug, QueryableByName)]
struct Piece {
    #[diesel(sql_type = Integer)]
    piece: i32,
    #[diesel(sql_type = BigInt)]
    own: i64,
    #[diesel(sql_type = BigInt)]
    sold: i64,
}

/// The pieces of `$2`, and how many texts of the organization `$1` have each: `$3` at first, and up to `$4` where no piece is
/// in fewer than that. Where one is the others count as in many.
const PIECES: &str = "\
WITH few AS MATERIALIZED (
    SELECT sought.piece AS piece,
        (SELECT count(*) FROM (SELECT FROM product_search_pieces AS own
            WHERE own.organization_id = $1 AND own.piece = sought.piece LIMIT $3) AS few) AS own,
        (SELECT count(*) FROM (SELECT FROM variant_search_pieces AS sold
            WHERE sold.organization_id = $1 AND sold.piece = sought.piece LIMIT $3) AS few) AS sold
    FROM unnest($2) AS sought(piece)
), told AS MATERIALIZED (
    SELECT bool_or(own < $3) AND bool_or(sold < $3) AS is_enough FROM few
)
SELECT few.piece,
    CASE WHEN few.own < $3 THEN few.own WHEN told.is_enough THEN $4 ELSE
        (SELECT count(*) FROM (SELECT FROM product_search_pieces AS own
            WHERE own.organization_id = $1 AND own.piece = few.piece LIMIT $4) AS many) END AS own,
    CASE WHEN few.sold < $3 THEN few.sold WHEN told.is_enough THEN $4 ELSE
        (SELECT count(*) FROM (SELECT FROM variant_search_pieces AS sold
            WHERE sold.organization_id = $1 AND sold.piece = few.piece LIMIT $4) AS many) END AS sold
FROM few, told";

/// How a term is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// Few texts have these pieces, those of products the ones and those of variants the others: all that have them are read.
    Rarest { own: Vec<i32>, sold: Vec<i32> },
    /// Many have each piece, but perhaps not all of them: those are found that do.
    Together(Vec<i32>),
    /// Many have the term: the list is read until there are enough.
    Along,
}

impl Way {
    /// For a term with these pieces.
    fn of(pieces: &[Piece]) -> Self {
        let own = rarest(pieces, |piece| piece.own);
        let sold = rarest(pieces, |piece| piece.sold);
        match (own, sold) {
            (Some(own), Some(sold)) => Self::Rarest { own, sold },
            _ if pieces.len() > 1 => {
                Self::Together(pieces.iter().map(|piece| piece.piece).collect())
            }
            _ => Self::Along,
        }
    }
}

/// The rarest of the pieces; the two rarest where more texts have it than are worth reading to see whether they have the term.
/// None where many texts have each.
fn rarest(pieces: &[Piece], count: impl Fn(&Piece) -> i64) -> Option<Vec<i32>> {
    let counted = pieces.iter().map(|piece| (count(piece), piece.piece));
    let mut rare: Vec<(i64, i32)> = counted.filter(|(count, _)| *count < MANY).collect();
    rare.sort_unstable();
    let enough = match rare.as_slice() {
        [] => return None,
        [(fewest, _), ..] if *fewest > FEW => 2,
        _ => 1,
    };
    let rare = rare.into_iter().take(enough);
    Some(rare.map(|(_, piece)| piece).collect())
}

/// A term of an organization, and how it is looked for.
#[derive(Clone, Debug)]
pub(super) struct Sought {
    organization: i64,
    term: String,
    way: Way,
    is_counted: bool,
}

impl Sought {
    /// Asks how to look for the term.
    pub(super) async fn new(
        mut connection: &AsyncPgConnection,
        organization: OrganizationId,
        term: &SearchTerm,
    ) -> Result<Self, StoreError> {
        let (organization, term) = (organization.get(), term.folded());
        let counted: Vec<Piece> = diesel::sql_query(PIECES)
            .bind::<BigInt, _>(organization)
            .bind::<Array<Integer>, _>(telling(&term))
            .bind::<BigInt, _>(AT_FIRST)
            .bind::<BigInt, _>(MANY)
            .kept()
            .load(&mut connection)
            .await
            .map_err(store_error)?;
        Ok(Self {
            organization,
            term,
            way: Way::of(&counted),
            is_counted: false,
        })
    }

    /// The same, of which all is read instead of a page.
    pub(super) fn counted(self) -> Self {
        Self {
            is_counted: true,
            ..self
        }
    }

    /// Whether it is this term of this organization.
    pub(super) fn is(&self, organization: OrganizationId, term: &SearchTerm) -> bool {
        self.organization == organization.get() && self.term == term.folded()
    }

    /// Those of the products of which the term is in their own texts, or in those of a variant that is not archived.
    pub(super) fn of(
        self,
        query: products::BoxedQuery<'static, Pg>,
    ) -> products::BoxedQuery<'static, Pg> {
        let Self {
            organization,
            term,
            way,
            is_counted,
        } = self;
        let (own, sold, gathered) = match way {
            Way::Rarest { own, sold } => (own, sold, Gathered::FEW),
            Way::Together(pieces) => (pieces.clone(), pieces, Gathered::MANY),
            Way::Along => {
                // All variants with the term are gathered once where all products are read. Of a page it is looked at those of
                // one product after the other: the planner does so only where the subquery has an offset.
                let end = if is_counted {
                    ") > 0))"
                } else {
                    ") > 0 OFFSET 0))"
                };
                return query.filter(
                    sql::<Bool>("(strpos(products.search_text, ")
                        .bind::<Text, _>(term.clone())
                        .sql(
                            ") > 0 OR EXISTS (SELECT FROM product_variants AS sold \
                             WHERE sold.organization_id = products.organization_id \
                             AND sold.product_id = products.id AND sold.status <> 'archived' \
                             AND strpos(sold.search_text, ",
                        )
                        .bind::<Text, _>(term)
                        .sql(end),
                );
            }
        };
        let all = |pieces: &[i32]| i64::try_from(pieces.len()).unwrap_or(i64::MAX);
        let (all_own, all_sold) = (all(&own), all(&sold));
        let Gathered {
            array,
            end,
            found,
            each,
        } = gathered;
        query.filter(
            sql::<Bool>(&format!(
                "products.id = ANY({array}SELECT own.id FROM products AS own WHERE own.organization_id = "
            ))
            .bind::<BigInt, _>(organization)
            .sql(&format!(
                " AND own.id = ANY({found}SELECT piece.product_id AS id FROM product_search_pieces AS piece \
                 WHERE piece.organization_id = "
            ))
            .bind::<BigInt, _>(organization)
            .sql(" AND piece.piece = ANY(")
            .bind::<Array<Integer>, _>(own)
            .sql(&format!("){each} GROUP BY id HAVING count(*) = "))
            .bind::<BigInt, _>(all_own)
            .sql(&format!("){end} AND strpos(own.search_text, "))
            .bind::<Text, _>(term.clone())
            .sql(
                ") > 0 UNION ALL SELECT sold.product_id FROM product_variants AS sold \
                 WHERE sold.status <> 'archived' AND sold.organization_id = ",
            )
            .bind::<BigInt, _>(organization)
            .sql(&format!(
                " AND sold.id = ANY({found}SELECT piece.variant_id AS id FROM variant_search_pieces AS piece \
                 WHERE piece.organization_id = "
            ))
            .bind::<BigInt, _>(organization)
            .sql(" AND piece.piece = ANY(")
            .bind::<Array<Integer>, _>(sold)
            .sql(&format!("){each} GROUP BY id HAVING count(*) = "))
            .bind::<BigInt, _>(all_sold)
            .sql(&format!("){end} AND strpos(sold.search_text, "))
            .bind::<Text, _>(term)
            .sql(&format!(") > 0){end}")),
        )
    }
}

/// How texts with some pieces are gathered: parts of the statement.
struct Gathered {
    array: &'static str,
    end: &'static str,
    found: &'static str,
    each: &'static str,
}

impl Gathered {
    /// In arrays: the planner cannot know how few they are, and would rather read all products, and have room for all pieces that
    /// are as frequent as most before it counts those of one text, which took longer than all else.
    const FEW: Self = Self {
        array: "ARRAY(",
        end: ")",
        found: "ARRAY(SELECT id FROM unnest(ARRAY(",
        each: ")) AS id",
    };
    const MANY: Self = Self {
        array: "",
        end: "",
        found: "",
        each: "",
    };
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
    fn a_term_is_looked_for_by_how_many_have_its_pieces() {
        let piece = |piece, own, sold| Piece { piece, own, sold };
        let rarest = |own: &[i32], sold: &[i32]| Way::Rarest {
            own: own.to_vec(),
            sold: sold.to_vec(),
        };
        for (pieces, way) in [
            (
                vec![piece(1, 5, MANY), piece(2, MANY, 0)],
                rarest(&[1], &[2]),
            ),
            (vec![piece(1, 0, 0)], rarest(&[1], &[1])),
            (
                vec![piece(1, FEW, 0), piece(2, FEW + 1, 0)],
                rarest(&[1], &[1]),
            ),
            (
                vec![
                    piece(1, 900, MANY),
                    piece(2, MANY, FEW + 1),
                    piece(3, 400, MANY),
                    piece(4, 500, MANY),
                ],
                rarest(&[3, 4], &[2]),
            ),
            (vec![piece(1, MANY, 0)], Way::Along),
            (vec![piece(1, 0, MANY)], Way::Along),
            (
                vec![piece(1, MANY, 0), piece(2, MANY, 0)],
                Way::Together(vec![1, 2]),
            ),
            (
                vec![piece(1, 0, MANY), piece(2, 0, MANY)],
                Way::Together(vec![1, 2]),
            ),
        ] {
            assert_eq!(Way::of(&pieces), way, "{pieces:?}");
        }
    }

    #[test]
    fn pieces_are_numbers_as_the_migration_makes_them() {
        assert_eq!(longest("a"), [97]);
        assert_eq!(longest("ab"), [97 + 98 * 1_024]);
        assert_eq!(longest("abc"), [97 + 98 * 1_024 + 99 * 1_048_576]);
        let four = 97 + 98 * 128 + 99 * 128 * 128 + 100 * 128 * 128 * 128;
        assert_eq!(longest("abcd"), [four + 1_073_741_824]);
        assert_eq!(longest("aaaaaa").len(), 1);
        // Other scripts share numbers.
        assert_eq!(longest("\u{4E61}"), longest("\u{661}"));
        assert_eq!(grams("").len(), 0);
    }
}
