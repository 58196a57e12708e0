//! The pages as PDF.

use std::num::NonZeroU16;

use chrono::{Datelike, Timelike};
use krilla::configure::{Accessibility, Archival, ConfigurationBuilder};
use krilla::destination::XyzDestination;
use krilla::geom::{PathBuilder, Point};
use krilla::metadata::{DateTime, Metadata};
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::Stroke;
use krilla::surface::Surface;
use krilla::tagging::{
    Artifact, ArtifactType, ContentTag, Identifier, SpanTag, TableHeaderScope, Tag, TagGroup,
    TagTree,
};
use krilla::{Document, SerializeSettings};

use super::fonts::{Fonts, Weight};
use super::layout::{Element, Kind, Line, MARGIN, Pages};
use super::words::{About, Span};

const LANGUAGE: &str = "en";
const FOOT_SIZE: f32 = 7.5;

/// The document's bytes.
///
/// # Errors
/// What of it cannot be written.
pub(super) fn write(pages: &Pages, fonts: &Fonts, about: &About) -> Result<Vec<u8>, String> {
    let configuration = ConfigurationBuilder::new()
        .with_archival_validator(Archival::A2_B)
        .with_accessibility_validator(Accessibility::UA1)
        .finish()
        .map_err(|_| "no PDF version fits the standards".to_owned())?;
    let mut document = Document::new_with(SerializeSettings {
        configuration,
        enable_tagging: true,
        ..SerializeSettings::default()
    });
    let (width, height) = pages.paper.size();
    let mut drawn: Vec<Option<Identifier>> = vec![None; pages.lines.len()];
    for number in 0..pages.count {
        let settings = PageSettings::from_wh(width, height).ok_or("the paper has no size")?;
        let mut page = document.start_page_with(settings);
        let mut surface = page.surface();
        for (line, place) in pages.lines.iter().zip(&mut drawn) {
            if line.page == number {
                *place = Some(surface.start_tagged(ContentTag::Span(SpanTag::empty())));
                draw(&mut surface, fonts, line);
                surface.end_tagged();
            }
        }
        let layout = Artifact::with_kind(ArtifactType::Layout);
        surface.start_tagged(ContentTag::Artifact(layout));
        for rule in pages.rules.iter().filter(|rule| rule.page == number) {
            draw_rule(&mut surface, rule.y, width);
        }
        surface.end_tagged();
        surface.start_tagged(ContentTag::Artifact(Artifact::with_kind(
            ArtifactType::Footer,
        )));
        foot(&mut surface, fonts, pages, about, number);
        surface.end_tagged();
        surface.finish();
        page.finish();
    }
    let mut tree = TagTree::new().with_lang(Some(LANGUAGE.to_owned()));
    let mut outline = Outline::new();
    for element in &pages.elements {
        tree.push(group(element, &drawn));
        if let (Kind::Heading(_, text), Some(line)) = (
            &element.kind,
            element
                .lines
                .first()
                .and_then(|line| pages.lines.get(*line)),
        ) {
            let place = XyzDestination::new(line.page, Point::from_xy(line.x, line.y - line.size));
            outline.push_child(OutlineNode::new(text.clone(), place));
        }
    }
    document.set_tag_tree(tree);
    document.set_outline(outline);
    document.set_metadata(metadata(about));
    document
        .finish()
        .map_err(|error| format!("the document cannot be written: {error}"))
}

fn metadata(about: &About) -> Metadata {
    let at = about.made_at;
    let small = |number: u32| u8::try_from(number).unwrap_or_default();
    let made_at = DateTime::new(u16::try_from(at.year()).unwrap_or_default())
        .month(small(at.month()))
        .day(small(at.day()))
        .hour(small(at.hour()))
        .minute(small(at.minute()))
        .second(small(at.second()))
        .utc_offset_hour(0)
        .utc_offset_minute(0);
    Metadata::new()
        .title(about.title.clone())
        .authors(vec![about.author.clone()])
        .creator("Lessor".to_owned())
        .producer("Lessor".to_owned())
        .language(LANGUAGE.to_owned())
        .document_id(about.id.clone())
        .creation_date(made_at)
}

fn draw(surface: &mut Surface<'_>, fonts: &Fonts, line: &Line) {
    let mut x = line.x;
    for span in &line.spans {
        let shaped = fonts.shape(&span.text, span.weight);
        surface.draw_glyphs(
            Point::from_xy(x, line.y),
            &shaped.glyphs,
            fonts.font(span.weight),
            &span.text,
            line.size,
            false,
        );
        x += shaped.width * line.size;
    }
}

fn draw_rule(surface: &mut Surface<'_>, y: f32, width: f32) {
    let mut path = PathBuilder::new();
    path.move_to(MARGIN, y);
    path.line_to(width - MARGIN, y);
    if let Some(path) = path.finish() {
        surface.set_stroke(Some(Stroke {
            width: 0.3,
            ..Stroke::default()
        }));
        surface.draw_path(&path);
        surface.set_stroke(None);
    }
}

/// The document's name, and which page of how many.
fn foot(surface: &mut Surface<'_>, fonts: &Fonts, pages: &Pages, about: &About, number: usize) {
    let (width, height) = pages.paper.size();
    let count = format!("Page {} of {}", number.saturating_add(1), pages.count);
    let long = fonts.width(&count, Weight::Regular) * FOOT_SIZE;
    let name = fonts.showable(&about.foot);
    for (x, text) in [(MARGIN, name), (width - MARGIN - long, count)] {
        let line = Line {
            page: number,
            x,
            y: height - MARGIN,
            size: FOOT_SIZE,
            spans: vec![Span {
                text,
                weight: Weight::Regular,
            }],
        };
        draw(surface, fonts, &line);
    }
}

fn group(element: &Element, drawn: &[Option<Identifier>]) -> TagGroup {
    let mut group = match &element.kind {
        Kind::Heading(level, text) => {
            let level = NonZeroU16::new(*level).unwrap_or(NonZeroU16::MIN);
            TagGroup::new(Tag::Hn(level, Some(text.clone())))
        }
        Kind::Paragraph => TagGroup::new(Tag::P),
        Kind::Table => TagGroup::new(Tag::Table),
        Kind::Row => TagGroup::new(Tag::TR),
        Kind::Head => TagGroup::new(Tag::TH(TableHeaderScope::Column)),
        Kind::Cell => TagGroup::new(Tag::TD),
    };
    for inner in &element.elements {
        group.push(self::group(inner, drawn));
    }
    let lines = element.lines.iter().filter_map(|line| drawn.get(*line));
    for id in lines.flatten() {
        group.push(*id);
    }
    group
}
