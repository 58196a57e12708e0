//! The fonts that every document is written in, and how wide its texts are in them.

use krilla::text::{Font, GlyphId, KrillaGlyph};
use rustybuzz::{Direction, Face, UnicodeBuffer};

const REGULAR: &[u8] = include_bytes!("../../assets/fonts/NotoSans-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../../assets/fonts/NotoSans-Bold.ttf");

/// How heavy a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

struct Cut {
    font: Font,
    face: Face<'static>,
}

impl Cut {
    fn of(bytes: &'static [u8]) -> Result<Self, String> {
        let unreadable = || "an embedded font cannot be read".to_owned();
        Ok(Self {
            font: Font::new(bytes.into(), 0).ok_or_else(unreadable)?,
            face: Face::from_slice(bytes, 0).ok_or_else(unreadable)?,
        })
    }
}

/// Both weights.
pub(super) struct Fonts {
    regular: Cut,
    bold: Cut,
}

/// A text of one weight, as it is drawn.
pub(super) struct Shaped {
    pub(super) glyphs: Vec<KrillaGlyph>,
    /// In units of its size.
    pub(super) width: f32,
}

impl Fonts {
    pub(super) fn embedded() -> Result<Self, String> {
        Ok(Self {
            regular: Cut::of(REGULAR)?,
            bold: Cut::of(BOLD)?,
        })
    }

    fn cut(&self, weight: Weight) -> &Cut {
        match weight {
            Weight::Regular => &self.regular,
            Weight::Bold => &self.bold,
        }
    }

    pub(super) fn font(&self, weight: Weight) -> Font {
        self.cut(weight).font.clone()
    }

    /// The text as the fonts can show it: of a letter that they do not have stands its number, `[U+4E2D]`, so that
    /// nobody takes it for another. White space of any kind is a space.
    pub(super) fn showable(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for letter in text.chars() {
            if letter.is_whitespace() {
                shown.push(' ');
            } else if self.regular.face.glyph_index(letter).is_some() {
                shown.push(letter);
            } else {
                shown.push_str(&format!("[U+{:04X}]", u32::from(letter)));
            }
        }
        shown
    }

    /// How wide the text is, in units of its size.
    pub(super) fn width(&self, text: &str, weight: Weight) -> f32 {
        self.shape(text, weight).width
    }

    /// The text's glyphs and where they stand. The text is [showable](Self::showable).
    pub(super) fn shape(&self, text: &str, weight: Weight) -> Shaped {
        let face = &self.cut(weight).face;
        let mut buffer = UnicodeBuffer::new();
        buffer.push_str(text);
        buffer.guess_segment_properties();
        // No font here has a script that is written from right to left.
        buffer.set_direction(Direction::LeftToRight);
        let shaped = rustybuzz::shape(face, &[], buffer);
        let units = face.units_per_em() as f32;
        let infos = shaped.glyph_infos();
        let starts: Vec<usize> = infos.iter().map(|info| info.cluster as usize).collect();
        let mut width = 0.0;
        let mut glyphs = Vec::with_capacity(infos.len());
        for (info, position) in infos.iter().zip(shaped.glyph_positions()) {
            let start = info.cluster as usize;
            let next = starts.iter().copied().find(|other| *other > start);
            let advance = position.x_advance as f32 / units;
            width += advance;
            glyphs.push(KrillaGlyph::new(
                GlyphId::new(info.glyph_id),
                advance,
                position.x_offset as f32 / units,
                position.y_offset as f32 / units,
                position.y_advance as f32 / units,
                start..next.unwrap_or(text.len()),
                None,
            ));
        }
        Shaped { glyphs, width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_no_font_has_are_told_by_their_numbers() {
        let fonts = Fonts::embedded().unwrap();
        let known = "Zoë Łukasz Ωmega Юлия Nguyễn € £ ₹ – “x”";
        assert_eq!(fonts.showable(known), known);
        assert_eq!(fonts.showable("中\u{a0}a\tb"), "[U+4E2D] a b");
    }

    #[test]
    fn both_weights_have_the_same_letters() {
        let fonts = Fonts::embedded().unwrap();
        for letter in '\u{20}'..'\u{2fff}' {
            assert_eq!(
                fonts.regular.face.glyph_index(letter).is_some(),
                fonts.bold.face.glyph_index(letter).is_some(),
                "{letter:?}"
            );
        }
    }

    #[test]
    fn a_text_is_as_wide_as_its_glyphs() {
        let fonts = Fonts::embedded().unwrap();
        assert!(fonts.width("iii", Weight::Regular) < fonts.width("mmm", Weight::Regular));
        assert!(fonts.width("abc", Weight::Regular) < fonts.width("abc", Weight::Bold));
        assert!(fonts.width("", Weight::Bold).abs() < f32::EPSILON);
    }
}
