//! Where each line stands.

use super::fonts::{Fonts, Weight};
use super::words::{Align, Block, Row, Span, Table};

/// The size of the sheets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paper {
    A4,
    Letter,
}

impl Paper {
    /// Width and height in points.
    pub(super) const fn size(self) -> (f32, f32) {
        match self {
            Self::A4 => (595.0, 842.0),
            Self::Letter => (612.0, 792.0),
        }
    }
}

/// What is left free at each side, in points.
pub(super) const MARGIN: f32 = 54.0;
/// The room of the foot above the margin.
const FOOT: f32 = 18.0;
const TEXT: f32 = 9.5;
/// What is between the columns of a table.
const GAP: f32 = 8.0;
/// What an item of a list stands in by.
const INDENT: f32 = 16.0;

/// What a piece of the document is, for whoever has it read aloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Heading(u16, String),
    Paragraph,
    Table,
    Row,
    /// A cell of a table's head.
    Head,
    Cell,
}

/// A piece, which is made of pieces or of lines.
#[derive(Debug, Clone)]
pub(super) struct Element {
    pub(super) kind: Kind,
    pub(super) elements: Vec<Element>,
    /// The numbers of its lines.
    pub(super) lines: Vec<usize>,
}

impl Element {
    const fn new(kind: Kind) -> Self {
        Self {
            kind,
            elements: Vec::new(),
            lines: Vec::new(),
        }
    }
}

/// A line, where it stands.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) page: usize,
    pub(super) x: f32,
    /// Of its base, from the top.
    pub(super) y: f32,
    pub(super) size: f32,
    pub(super) spans: Vec<Span>,
}

/// A thin rule over the whole width.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) page: usize,
    pub(super) y: f32,
}

/// All that is drawn.
pub(super) struct Pages {
    pub(super) paper: Paper,
    pub(super) count: usize,
    pub(super) lines: Vec<Line>,
    pub(super) rules: Vec<Rule>,
    pub(super) elements: Vec<Element>,
}

impl Pages {
    pub(super) fn of(blocks: &[Block], fonts: &Fonts, paper: Paper) -> Self {
        let mut setter = Setter {
            fonts,
            y: MARGIN,
            pages: Self {
                paper,
                count: 1,
                lines: Vec::new(),
                rules: Vec::new(),
                elements: Vec::new(),
            },
        };
        for block in blocks {
            setter.set(block);
        }
        setter.pages
    }
}

struct Setter<'f> {
    fonts: &'f Fonts,
    y: f32,
    pages: Pages,
}

impl Setter<'_> {
    fn width(&self) -> f32 {
        self.pages.paper.size().0 - 2.0 * MARGIN
    }

    /// Begins a page where so much does not fit on this one.
    fn reserve(&mut self, height: f32) {
        let bottom = self.pages.paper.size().1 - MARGIN - FOOT;
        if self.y + height > bottom && self.y > MARGIN {
            self.pages.count = self.pages.count.saturating_add(1);
            self.y = MARGIN;
        }
    }

    fn page(&self) -> usize {
        self.pages.count.saturating_sub(1)
    }

    fn put(&mut self, x: f32, y: f32, size: f32, spans: Vec<Span>) -> usize {
        let page = self.page();
        self.pages.lines.push(Line {
            page,
            x,
            y,
            size,
            spans,
        });
        self.pages.lines.len().saturating_sub(1)
    }

    fn set(&mut self, block: &Block) {
        match block {
            Block::Title(text) => self.head(0, 20.0, text),
            Block::Heading { level, text } => {
                self.head(*level, if *level <= 1 { 12.5 } else { 10.5 }, text);
            }
            Block::Paragraph(spans) => {
                self.lines_of(spans, MARGIN, None);
                self.y += 5.0;
            }
            Block::Item {
                label,
                depth,
                spans,
            } => {
                let depth = u16::try_from(*depth).unwrap_or(u16::MAX).min(6);
                self.lines_of(spans, MARGIN + f32::from(depth) * INDENT, Some(label));
                self.y += 2.0;
            }
            Block::Table(table) => self.table(table),
        }
    }

    fn head(&mut self, level: u16, size: f32, text: &str) {
        self.y += if self.y > MARGIN { 9.0 } else { 0.0 };
        // No heading stands alone at the end of a page.
        self.reserve(size * 1.4 + 4.0 * TEXT * 1.4);
        let spans = [Span {
            text: text.to_owned(),
            weight: Weight::Bold,
        }];
        let level = level.saturating_add(1);
        let mut element = Element::new(Kind::Heading(level, self.fonts.showable(text)));
        for line in broken(self.fonts, &spans, size, self.width()) {
            self.reserve(size * 1.4);
            let number = self.put(MARGIN, self.y + size, size, line);
            element.lines.push(number);
            self.y += size * 1.4;
        }
        self.y += 3.0;
        self.pages.elements.push(element);
    }

    fn lines_of(&mut self, spans: &[Span], x: f32, label: Option<&str>) {
        let mut element = Element::new(Kind::Paragraph);
        let room = self.width() - (x - MARGIN);
        for (place, line) in broken(self.fonts, spans, TEXT, room)
            .into_iter()
            .enumerate()
        {
            self.reserve(TEXT * 1.4);
            let y = self.y + TEXT;
            if let (0, Some(label)) = (place, label) {
                let label = Span {
                    text: self.fonts.showable(label),
                    weight: Weight::Regular,
                };
                element
                    .lines
                    .push(self.put(x - INDENT, y, TEXT, vec![label]));
            }
            element.lines.push(self.put(x, y, TEXT, line));
            self.y += TEXT * 1.4;
        }
        self.pages.elements.push(element);
    }

    fn table(&mut self, table: &Table) {
        let shares: f32 = table
            .columns
            .iter()
            .map(|(share, _)| f32::from(*share))
            .sum();
        let mut element = Element::new(Kind::Table);
        if table.head.iter().any(|cell| !cell.is_empty()) {
            let head = Row {
                cells: table.head.clone(),
                weight: Weight::Bold,
            };
            element.elements.push(self.row(table, &head, shares, true));
        }
        for row in &table.rows {
            element.elements.push(self.row(table, row, shares, false));
        }
        self.y += 6.0;
        self.pages.elements.push(element);
    }

    fn row(&mut self, table: &Table, row: &Row, shares: f32, is_head: bool) -> Element {
        let size = TEXT - 1.0;
        let step = size * 1.35;
        let mut cells = Vec::new();
        let mut x = MARGIN;
        let mut tallest = 1.0_f32;
        for ((share, align), text) in table.columns.iter().zip(&row.cells) {
            let width = self.width() * f32::from(*share) / shares;
            let spans = [Span {
                text: text.clone(),
                weight: row.weight,
            }];
            let lines = broken(self.fonts, &spans, size, width - GAP);
            tallest = tallest.max(f32::from(u16::try_from(lines.len()).unwrap_or(u16::MAX)));
            cells.push((x, width - GAP, *align, lines));
            x += width;
        }
        self.reserve(tallest * step + 5.0);
        let mut element = Element::new(Kind::Row);
        for (x, width, align, lines) in cells {
            let mut cell = Element::new(if is_head { Kind::Head } else { Kind::Cell });
            let mut y = self.y + size + 1.5;
            for line in lines {
                let long: f32 = line
                    .iter()
                    .map(|span| self.fonts.width(&span.text, span.weight) * size)
                    .sum();
                let x = match align {
                    Align::Left => x,
                    Align::Right => x + (width - long).max(0.0),
                };
                cell.lines.push(self.put(x, y, size, line));
                y += step;
            }
            element.elements.push(cell);
        }
        self.y += tallest * step + 5.0;
        let rule = Rule {
            page: self.page(),
            y: self.y - 1.0,
        };
        self.pages.rules.push(rule);
        element
    }
}

/// The spans in lines that are no wider than this. A word that is wider is broken where the line ends.
fn broken(fonts: &Fonts, spans: &[Span], size: f32, room: f32) -> Vec<Vec<Span>> {
    let mut lines: Vec<Vec<Span>> = Vec::new();
    let mut line: Vec<Span> = Vec::new();
    let mut long = 0.0_f32;
    let mut is_apart = false;
    for span in spans {
        let shown = fonts.showable(&span.text);
        for (place, word) in shown.split(' ').enumerate() {
            is_apart |= place > 0;
            for piece in pieces(fonts, word, span.weight, size, room) {
                let wide = fonts.width(&piece, span.weight) * size;
                let space = if is_apart && !line.is_empty() {
                    fonts.width(" ", span.weight) * size
                } else {
                    0.0
                };
                if !line.is_empty() && long + space + wide > room {
                    lines.push(std::mem::take(&mut line));
                    long = 0.0;
                } else if space > 0.0 {
                    say(&mut line, " ", span.weight);
                    long += space;
                }
                say(&mut line, &piece, span.weight);
                long += wide;
                is_apart = false;
            }
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

fn say(line: &mut Vec<Span>, text: &str, weight: Weight) {
    match line.last_mut() {
        Some(last) if last.weight == weight => last.text.push_str(text),
        _ => line.push(Span {
            text: text.to_owned(),
            weight,
        }),
    }
}

/// A word, in pieces where it is wider than a line. None of no letters.
fn pieces(fonts: &Fonts, word: &str, weight: Weight, size: f32, room: f32) -> Vec<String> {
    if word.is_empty() {
        return Vec::new();
    }
    if fonts.width(word, weight) * size <= room {
        return vec![word.to_owned()];
    }
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for letter in word.chars() {
        let mut longer = piece.clone();
        longer.push(letter);
        if !piece.is_empty() && fonts.width(&longer, weight) * size > room {
            pieces.push(std::mem::replace(&mut piece, letter.to_string()));
        } else {
            piece = longer;
        }
    }
    pieces.push(piece);
    pieces
}
