//! The site's pages as HTML.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::guides::{GUIDES, Guide, GuideHtml};
use super::vendor_modules;
use crate::http::error::Code;

/// A page around its content.
fn document(title: &str, scripts: &Markup, content: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" type="image/svg+xml" href="/favicon.svg";
                link rel="stylesheet" href="/docs/assets/site.css";
                (scripts)
            }
            body { (content) }
        }
    }
    .into_string()
}

/// What stands above every page.
fn header(is_reference: bool) -> Markup {
    html! {
        header.site {
            a.brand href="/docs" { img src="/favicon.svg" alt="" width="22" height="22"; "Lessor" }
            nav aria-label="Documentation" {
                a href="/docs" aria-current=[(!is_reference).then_some("true")] { "Guides" }
                a href="/docs/reference" aria-current=[is_reference.then_some("page")] { "API reference" }
                a.wide href="/openapi.json" { "OpenAPI" }
            }
            @if !is_reference {
                div.search role="search" {
                    input #search type="search" placeholder="Search" aria-label="Search the documentation"
                        autocomplete="off" aria-controls="found" hidden;
                    ul #found hidden {}
                }
            }
        }
    }
}

fn contents(current: &Guide) -> Markup {
    html! {
        ul {
            @for guide in &GUIDES {
                li { a href=(guide.path()) aria-current=[(guide.name == current.name).then_some("page")] { (guide.title) } }
            }
            li { a href="/docs/reference" { "API reference" } }
        }
    }
}

/// The page of a guide.
pub(super) fn guide(guide: &Guide, rendered: &GuideHtml) -> String {
    let place = GUIDES.iter().position(|other| other.name == guide.name);
    let beside = |step: usize, forward: bool| {
        let place = if forward {
            place?.checked_add(step)
        } else {
            place?.checked_sub(step)
        };
        GUIDES.get(place?)
    };
    let scripts = html! { script src="/docs/assets/site.js" defer {} };
    let content = html! {
        a.skip href="#content" { "Skip to the text" }
        (header(false))
        div.columns {
            aside { nav aria-label="Guides" { (contents(guide)) } }
            details.contents { summary { "Guides" } nav aria-label="Guides" { (contents(guide)) } }
            main #content {
                (PreEscaped(&rendered.html))
                @if guide.name == "errors" { (codes()) }
                nav.beside aria-label="Next" {
                    @if let Some(other) = beside(1, false) { a rel="prev" href=(other.path()) { "← " (other.title) } }
                    @if let Some(other) = beside(1, true) { a rel="next" href=(other.path()) { (other.title) " →" } }
                    @else { a rel="next" href="/docs/reference" { "API reference →" } }
                }
            }
            aside.toc { nav aria-label="On this page" {
                p { "On this page" }
                ul { @for heading in rendered.headings.iter().filter(|heading| !heading.id.is_empty()) {
                    li { a href={ "#" (heading.id) } { (heading.title) } }
                } }
            } }
        }
    };
    document(&format!("{} · Lessor", guide.title), &scripts, &content)
}

/// One section for each code, with the anchor that `doc_url` names.
fn codes() -> Markup {
    html! {
        h2 #codes { a href="#codes" { "The codes" } }
        @for code in Code::ALL {
            section id=(code.as_str()) {
                h3 {
                    a href={ "#" (code.as_str()) } { code { (code.as_str()) } }
                    " " small { (code.statuses().iter().map(u16::to_string).collect::<Vec<_>>().join(", ")) }
                }
                p { (code.explanation()) }
            }
        }
    }
}

/// The reference. Its script finds Scalar by the link.
pub(super) fn reference() -> String {
    let scalar = format!("/docs/scalar/{}/scalar.js", vendor_modules::version());
    let scripts = html! {
        link rel="modulepreload" href=(scalar);
        script type="module" src="/docs/assets/reference.js" {}
    };
    let content = html! {
        (header(true))
        noscript { p {
            "The reference needs JavaScript. The " a href="/docs" { "guides" } " do not, and the "
            a href="/openapi.json" { "OpenAPI document" } " has the same content."
        } }
        div #reference {}
    };
    document("API reference · Lessor", &scripts, &content)
}
