//! The organization's own terms, which are Markdown, as blocks of the document.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::fonts::Weight;
use super::words::{Block, Span};

/// The least important heading that there is.
const DEEPEST: u16 = 4;

/// Headings, paragraphs, lists and emphasis. What else there is (tables, HTML, images) stands as the text that it
/// is written as, so that nothing of the terms is left out. The first level of headings becomes the level below
/// `under`.
pub(super) fn blocks_of(markdown: &str, under: u16) -> Vec<Block> {
    let mut reader = Reader {
        under,
        ..Reader::default()
    };
    for event in Parser::new(markdown) {
        reader.take(event);
    }
    reader.end();
    reader.blocks
}

#[derive(Default)]
struct Reader {
    under: u16,
    blocks: Vec<Block>,
    spans: Vec<Span>,
    heading: Option<u16>,
    /// How many marks of emphasis are open.
    strong: usize,
    /// The next number of each list that is open; none of one with points.
    lists: Vec<Option<u64>>,
    /// What stands before the item that begins.
    label: Option<String>,
}

impl Reader {
    fn say(&mut self, text: &str) {
        let weight = if self.strong > 0 {
            Weight::Bold
        } else {
            Weight::Regular
        };
        self.spans.push(Span {
            text: text.to_owned(),
            weight,
        });
    }

    /// What was said so far is a block.
    fn end(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if spans.iter().all(|span| span.text.trim().is_empty()) {
            return;
        }
        if let Some(level) = self.heading {
            let text = spans.into_iter().map(|span| span.text).collect();
            self.blocks.push(Block::Heading { level, text });
        } else if self.lists.is_empty() {
            self.blocks.push(Block::Paragraph(spans));
        } else {
            self.blocks.push(Block::Item {
                label: self.label.take().unwrap_or_default(),
                depth: self.lists.len(),
                spans,
            });
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                self.end();
                self.heading = Some(self.level(level));
            }
            Event::Start(Tag::List(first)) => {
                self.end();
                self.lists.push(first);
            }
            Event::Start(Tag::Item) => {
                self.end();
                self.label = self.lists.last_mut().map(|next| match next {
                    Some(number) => {
                        let label = format!("{number}.");
                        *number = number.saturating_add(1);
                        label
                    }
                    None => "•".to_owned(),
                });
            }
            Event::Start(Tag::Strong | Tag::Emphasis) => {
                self.strong = self.strong.saturating_add(1);
            }
            Event::End(TagEnd::Strong | TagEnd::Emphasis) => {
                self.strong = self.strong.saturating_sub(1);
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.say(&format!("<{dest_url}> "));
            }
            Event::End(TagEnd::Heading(_)) => {
                self.end();
                self.heading = None;
            }
            Event::End(TagEnd::List(_)) => {
                self.end();
                self.lists.pop();
            }
            Event::End(
                TagEnd::Item | TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::HtmlBlock,
            ) => {
                self.end();
            }
            Event::Text(text)
            | Event::Code(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.say(&text),
            Event::SoftBreak | Event::HardBreak => self.say(" "),
            Event::Rule => self.end(),
            Event::TaskListMarker(is_done) => self.say(if is_done { "[x] " } else { "[ ] " }),
            Event::Start(_) | Event::End(_) => {}
        }
    }

    fn level(&self, level: HeadingLevel) -> u16 {
        let level = u16::try_from(level as usize).unwrap_or(DEEPEST);
        // A heading stands one level below the one before at most.
        let before = self.blocks.iter().rev().find_map(|block| match block {
            Block::Heading { level, .. } => Some(*level),
            _ => None,
        });
        let deepest = before.unwrap_or(self.under).saturating_add(1);
        self.under.saturating_add(level).min(deepest).min(DEEPEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(markdown: &str) -> Vec<String> {
        let text = |spans: &[Span]| -> String {
            let marked = spans.iter().map(|span| match span.weight {
                Weight::Bold => format!("*{}*", span.text),
                Weight::Regular => span.text.clone(),
            });
            marked.collect()
        };
        blocks_of(markdown, 2)
            .iter()
            .map(|block| match block {
                Block::Heading { level, text } => format!("h{level} {text}"),
                Block::Paragraph(spans) => format!("p {}", text(spans)),
                Block::Item {
                    label,
                    depth,
                    spans,
                } => format!("{label}{depth} {}", text(spans)),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn terms_are_told_in_their_order_and_whole() {
        let markdown = "# Use\n\nNo **smoking**\nhere.\n\n### Far below\n\n1. first\n2. second\n   - inner\n\n\
            <b>raw</b> [ours](https://example.com) `code`\n\n| a |\n|---|\n";
        assert_eq!(
            told(markdown),
            [
                "h3 Use",
                "p No *smoking* here.",
                "h4 Far below",
                "1.1 first",
                "2.1 second",
                "•2 inner",
                "p <b>raw</b> <https://example.com> ours code",
                "p | a | |---|",
            ]
        );
        assert_eq!(told(" \n\n"), Vec::<String>::new());
    }
}
