//! The guides: what a reader of the reference has to know beside it.
//!
//! Their text is that of the repository: files of `docs/guides`, each followed by the sections of
//! other documents that say the rules exactly. Nothing is told here a second time.

use std::fmt::Write as _;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

macro_rules! repository {
    ($path:literal) => {
        include_str!(concat!("../../../../../", $path))
    };
}

const README: &str = repository!("README.md");
const DESIGN: &str = repository!("docs/API-DESIGN.md");
const LIFECYCLE: &str = repository!("docs/LIFECYCLE.md");
const PRICING: &str = repository!("docs/PRICING.md");

/// A guide before it is a page.
pub(super) struct Guide {
    /// The last part of its address; none for the page that the site begins with.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    parts: &'static [Part],
}

/// Where a piece of a guide stands.
enum Part {
    /// A whole file.
    File(&'static str),
    /// One section of a document, under the heading that it has there.
    Section(&'static str, &'static str),
}

use Part::{File, Section};

/// In the order in which somebody who begins needs them.
pub(super) const GUIDES: [Guide; 9] = [
    Guide {
        name: "",
        title: "Start",
        parts: &[
            File(repository!("docs/guides/start.md")),
            Section(README, "A five-minute tour"),
        ],
    },
    Guide {
        name: "lifecycle",
        title: "Lifecycle",
        parts: &[
            File(repository!("docs/guides/lifecycle.md")),
            Section(LIFECYCLE, "The phases"),
            Section(LIFECYCLE, "Who moves what"),
            Section(LIFECYCLE, "Waitlists"),
            Section(LIFECYCLE, "Exceptions and ends"),
        ],
    },
    Guide {
        name: "pricing",
        title: "Pricing",
        parts: &[
            File(repository!("docs/guides/pricing.md")),
            Section(PRICING, "A catalog quote"),
        ],
    },
    Guide {
        name: "shop",
        title: "Prices in your shop",
        parts: &[
            File(repository!("docs/guides/shop.md")),
            Section(DESIGN, "Publishable keys"),
        ],
    },
    Guide {
        name: "modes",
        title: "Modes and the sandbox",
        parts: &[
            File(repository!("docs/guides/modes.md")),
            Section(DESIGN, "Modes"),
            Section(DESIGN, "The sandbox"),
        ],
    },
    Guide {
        name: "retries",
        title: "Idempotency and retries",
        parts: &[
            File(repository!("docs/guides/retries.md")),
            Section(DESIGN, "Repeating requests"),
        ],
    },
    Guide {
        name: "events",
        title: "Know what happened",
        parts: &[
            File(repository!("docs/guides/events.md")),
            Section(DESIGN, "Events"),
            Section(DESIGN, "Webhook endpoints"),
        ],
    },
    Guide {
        name: "lists",
        title: "Lists, filters and formats",
        parts: &[
            File(repository!("docs/guides/lists.md")),
            Section(DESIGN, "Lists"),
            Section(DESIGN, "Reading what was written"),
            Section(DESIGN, "Representation"),
        ],
    },
    Guide {
        name: "errors",
        title: "Errors",
        parts: &[
            File(repository!("docs/guides/errors.md")),
            Section(DESIGN, "Errors"),
        ],
    },
];

/// Documents of the repository, and the page that holds what the reader of a guide needs of them.
const PAGES: [(&str, &str); 5] = [
    ("LIFECYCLE.md", "/docs/lifecycle"),
    ("PRICING.md", "/docs/pricing"),
    ("openapi.json", "/openapi.json"),
    // The server of the tour is the one that shows it, wherever it is.
    ("http://localhost:8080/docs", "/docs"),
    ("http://localhost:8080/docs/reference", "/docs/reference"),
];

impl Guide {
    pub(super) fn path(&self) -> String {
        match self.name {
            "" => "/docs".to_owned(),
            name => format!("/docs/{name}"),
        }
    }

    /// The guide as HTML, with what can be found in it.
    pub(super) fn rendered(&self) -> GuideHtml {
        let mut text = String::new();
        for part in self.parts {
            text.push_str(match part {
                File(file) => file,
                Section(document, heading) => section(document, heading).unwrap_or_default(),
            });
            text.push_str("\n\n");
        }
        render(&text)
    }
}

/// The section of a document, with its heading.
fn section<'d>(document: &'d str, heading: &str) -> Option<&'d str> {
    let begin = document
        .match_indices("## ")
        .map(|(at, _)| at)
        .find(|&at| {
            let is_line = at == 0 || document.as_bytes().get(at - 1) == Some(&b'\n');
            let title = document.get(at + 3..).and_then(|rest| rest.lines().next());
            is_line && title == Some(heading)
        })?;
    let section = document.get(begin..)?;
    let end = section.find("\n## ").map_or(section.len(), |at| at + 1);
    section.get(..end)
}

/// A text as HTML.
#[derive(Debug, Default)]
pub(super) struct GuideHtml {
    pub(super) html: String,
    /// Its headings below the title, in their order.
    pub(super) headings: Vec<Heading>,
}

/// A heading, and what stands under it.
#[derive(Debug, Default)]
pub(super) struct Heading {
    pub(super) id: String,
    pub(super) title: String,
    /// The words up to the next heading.
    pub(super) words: String,
}

fn render(text: &str) -> GuideHtml {
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut headings: Vec<Heading> = Vec::new();
    // The title, and what comes before the first heading.
    let mut now = Heading::default();
    let mut is_heading = false;
    let mut is_linked = Vec::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { level, .. }) if level > HeadingLevel::H1 => {
                let before = std::mem::take(&mut now);
                headings.push(before);
                is_heading = true;
                // Its id is known at its end.
                events.push(Event::Start(Tag::Paragraph));
            }
            Event::End(TagEnd::Heading(level)) if level > HeadingLevel::H1 => {
                is_heading = false;
                now.id = anchor(&now.title, &headings);
                let begin = events
                    .iter()
                    .rposition(|event| matches!(event, Event::Start(Tag::Paragraph)));
                if let Some(begin) = begin {
                    let opened = format!("<{level} id=\"{0}\"><a href=\"#{0}\">", now.id);
                    events[begin] = Event::InlineHtml(opened.into());
                }
                events.push(Event::InlineHtml(format!("</a></{level}>\n").into()));
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let target = target(&dest_url);
                is_linked.push(target.is_some());
                if let Some(target) = target {
                    events.push(Event::InlineHtml(
                        format!("<a href=\"{}\">", escaped(&target)).into(),
                    ));
                }
            }
            Event::End(TagEnd::Link) => {
                if is_linked.pop() == Some(true) {
                    events.push(Event::InlineHtml("</a>".into()));
                }
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                // Samples that follow each other are one sample in several languages.
                let opened = format!(
                    "<pre data-language=\"{0}\" tabindex=\"0\"><code>",
                    escaped(&language)
                );
                events.push(Event::Html(opened.into()));
            }
            Event::End(TagEnd::CodeBlock) => events.push(Event::Html("</code></pre>\n".into())),
            // A wide table is moved by itself.
            Event::Start(Tag::Table(alignments)) => {
                events.push(Event::Html("<div class=\"table\" tabindex=\"0\">".into()));
                events.push(Event::Start(Tag::Table(alignments)));
            }
            Event::End(TagEnd::Table) => {
                events.push(Event::End(TagEnd::Table));
                events.push(Event::Html("</div>\n".into()));
            }
            Event::Html(_) | Event::InlineHtml(_) => {}
            Event::Text(ref words) | Event::Code(ref words) => {
                let place = if is_heading {
                    &mut now.title
                } else {
                    &mut now.words
                };
                // Writing to a string cannot fail.
                let _infallible = write!(place, "{words}");
                if !is_heading {
                    place.push(' ');
                }
                events.push(event);
            }
            Event::SoftBreak | Event::HardBreak => {
                now.words.push(' ');
                events.push(event);
            }
            event => events.push(event),
        }
    }
    headings.push(now);
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events.into_iter());
    GuideHtml { html, headings }
}

/// Where a link of a document leads on the site. `None`: to a file that is not on it.
fn target(link: &CowStr<'_>) -> Option<String> {
    if link.starts_with('/') || link.starts_with('#') {
        return Some(link.to_string());
    }
    let (file, anchor) = link
        .split_once('#')
        .map_or((&**link, None), |(file, anchor)| (file, Some(anchor)));
    let file = file.trim_start_matches("../").trim_start_matches("docs/");
    let guide = file
        .strip_suffix(".md")
        .and_then(|file| GUIDES.iter().find(|guide| guide.name == file));
    let page = match guide {
        Some(guide) => guide.path(),
        None => {
            let (_, page) = PAGES.iter().find(|(name, _)| *name == file)?;
            (*page).to_owned()
        }
    };
    Some(anchor.map_or(page.clone(), |anchor| format!("{page}#{anchor}")))
}

/// The anchor of a heading, as the repository's host would make it, once on a page.
fn anchor(title: &str, taken: &[Heading]) -> String {
    let anchor: String = title
        .to_lowercase()
        .chars()
        .filter_map(|letter| match letter {
            ' ' => Some('-'),
            letter if letter.is_alphanumeric() || letter == '-' => Some(letter),
            _ => None,
        })
        .collect();
    if taken.iter().any(|heading| heading.id == anchor) {
        format!("{anchor}-{}", taken.len())
    } else {
        anchor
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_of_every_guide_is_there() {
        for guide in &GUIDES {
            for part in guide.parts {
                if let Section(document, heading) = part {
                    let section = section(document, heading).expect(heading);
                    assert!(section.starts_with(&format!("## {heading}\n")));
                    assert!(section.len() > 100, "{heading}");
                    assert_eq!(section.matches("\n## ").count(), 0, "{heading}");
                }
            }
            let rendered = guide.rendered();
            assert!(rendered.headings.len() > 1, "{}", guide.title);
            assert!(rendered.html.starts_with("<h1>"), "{}", guide.title);
            assert_eq!(rendered.html.matches("<h1>").count(), 1, "{}", guide.title);
        }
    }

    #[test]
    fn links_lead_to_pages_of_the_site() {
        let rendered = render(
            "# T\n\n[a](LIFECYCLE.md#the-phases) [b](errors.md) [c](../crates/x.rs) [d](/docs/reference) <b>x</b>\n\n\
             ## Two & *three*\n\n## Two & three",
        );
        assert_eq!(
            rendered.html,
            "<h1>T</h1>\n<p><a href=\"/docs/lifecycle#the-phases\">a</a> <a href=\"/docs/errors\">b</a> c \
             <a href=\"/docs/reference\">d</a> x</p>\n\
             <h2 id=\"two--three\"><a href=\"#two--three\">Two &amp; <em>three</em></a></h2>\n\
             <h2 id=\"two--three-2\"><a href=\"#two--three-2\">Two &amp; three</a></h2>\n"
        );
    }
}
