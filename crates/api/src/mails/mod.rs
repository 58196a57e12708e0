//! Mails as people read them: words of the catalogues in templates, which an operator may replace.
//!
//! Every kind has a template of its own for text and for HTML, `shipped.txt` and `shipped.html`, which
//! extends `mail.txt` or `mail.html`. A file of that name in the operator's folder takes its place.

mod facts;

use std::path::{Path, PathBuf};

use lessor_domain::cause::Cause;
use lessor_domain::mail::MailKind;
use lessor_domain::ports::{MailText, MailTextError, MailView, MailWriter};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};

use self::facts::Facts;
use crate::auth::links::CheckoutPageLinks;

/// What all of a form extend.
const LAYOUTS: [(&str, &str); 2] = [
    ("mail.html", include_str!("mail.html")),
    ("mail.txt", include_str!("mail.txt")),
];
/// The languages of the catalogues.
pub(crate) const LANGUAGES: [&str; 2] = ["en", "es"];

/// A template cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// It cannot be read.
    #[error("the template {} cannot be read", .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// It is none, or asks for what there is not.
    #[error("the template {0} cannot be used: {1:#}")]
    Unusable(String, minijinja::Error),
}

/// Templates, filled in.
struct Templates(Environment<'static>);

impl Templates {
    /// Those of the folder, and ours where it has none. Each is tried.
    fn read(folder: Option<&Path>) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        environment.set_syntax(
            syntax.map_err(|error| TemplateError::Unusable("syntax".to_owned(), error))?,
        );
        let mut add = |name: String, ours: String| {
            let source = match folder.map(|folder| folder.join(&name)) {
                Some(path) if path.exists() => std::fs::read_to_string(&path)
                    .map_err(|error| TemplateError::Unreadable(path, error))?,
                _ => ours,
            };
            environment
                .add_template_owned(name.clone(), source)
                .map_err(|error| TemplateError::Unusable(name, error))
        };
        for (name, source) in LAYOUTS {
            add(name.to_owned(), source.to_owned())?;
        }
        for kind in MailKind::ALL {
            for (layout, _) in LAYOUTS {
                let (_, form) = layout.split_once('.').unwrap_or_default();
                add(
                    format!("{kind}.{form}"),
                    format!("{{% extends \"{layout}\" %}}"),
                )?;
            }
        }
        let templates = Self(environment);
        for kind in MailKind::ALL {
            for language in LANGUAGES {
                templates.fill(*kind, Facts::sample(*kind, language))?;
            }
        }
        Ok(templates)
    }

    fn fill(&self, kind: MailKind, facts: Facts) -> Result<MailText, TemplateError> {
        let words = facts.words();
        let fill = |form: &str| {
            let name = format!("{kind}.{form}");
            let filled = self
                .0
                .get_template(&name)
                .and_then(|template| template.render(Serde(&words)));
            filled.map_err(|error| TemplateError::Unusable(name, error))
        };
        Ok(MailText {
            text: fill("txt")?,
            html: fill("html")?,
            subject: words.subject,
        })
    }
}

/// Writes mails.
pub struct MailPen {
    templates: Templates,
    links: CheckoutPageLinks,
}

impl MailPen {
    /// With the templates of this folder, and ours where it has none; with links to pages of checkouts.
    ///
    /// # Errors
    /// [`TemplateError`] of the first that cannot be used.
    pub fn new(folder: Option<&Path>, links: CheckoutPageLinks) -> Result<Self, TemplateError> {
        Ok(Self {
            templates: Templates::read(folder)?,
            links,
        })
    }
}

impl MailWriter for MailPen {
    fn write(&self, view: &MailView<'_>) -> Result<MailText, MailTextError> {
        let facts = Facts::of(view, &self.links);
        let text = self.templates.fill(view.kind, facts);
        text.map_err(|error| MailTextError(Cause::new(error.to_string())))
    }
}

/// A mail with made-up contents, for a look at the templates.
///
/// # Errors
/// [`TemplateError`].
pub fn preview(
    folder: Option<&Path>,
    kind: MailKind,
    language: &str,
) -> Result<MailText, TemplateError> {
    Templates::read(folder)?.fill(kind, Facts::sample(kind, language))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_written_in_every_language() {
        let templates = Templates::read(None).unwrap();
        for kind in MailKind::ALL {
            let [english, spanish] = LANGUAGES.map(|language| {
                let mail = templates
                    .fill(*kind, Facts::sample(*kind, language))
                    .unwrap();
                assert!(
                    !mail.subject.is_empty() && !mail.subject.contains('\n'),
                    "{kind}"
                );
                assert!(mail.text.contains(&mail.subject), "{kind}: {}", mail.text);
                assert!(!mail.text.contains("\n\n\n"), "{kind}: {}", mail.text);
                assert!(!mail.text.contains('<'), "{kind}: {}", mail.text);
                assert!(
                    mail.html.contains(&format!("lang=\"{language}\"")),
                    "{kind}"
                );
                // Nothing is loaded, and nothing runs.
                for bad in ["<table", "<script", "<link", "src=", "@import", "url("] {
                    assert!(!mail.html.contains(bad), "{kind}: {bad}");
                }
                mail
            });
            assert_ne!(english.subject, spanish.subject, "{kind}");
        }
    }

    #[test]
    fn what_people_write_is_escaped() {
        let templates = Templates::read(None).unwrap();
        let mail = templates
            .fill(MailKind::Shipped, Facts::sample(MailKind::Shipped, "en"))
            .unwrap();
        assert!(mail.html.contains("Bikes &amp; More"), "{}", mail.html);
        assert!(mail.text.contains("Bikes & More"), "{}", mail.text);
    }

    #[test]
    fn a_refusal_says_why_and_whom_to_ask_and_leads_nowhere() {
        let kind = MailKind::Refused;
        let mail = preview(None, kind, "en").unwrap();
        for expected in [
            "Income insufficient for amount of credit requested",
            "please ask Bikes & More",
            "help@bikes.example",
        ] {
            assert!(mail.text.contains(expected), "{expected}: {}", mail.text);
        }
        assert!(!mail.text.contains("/c/"), "{}", mail.text);
    }

    #[test]
    fn a_file_of_the_operator_takes_the_place_of_ours() {
        let folder = std::env::temp_dir().join(format!("lessor-mails-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(
            folder.join("shipped.txt"),
            "{{ organization.name }}: {{ points[0] }}",
        )
        .unwrap();
        let shipped = preview(Some(&folder), MailKind::Shipped, "en").unwrap();
        assert_eq!(
            shipped.text,
            "Bikes & More: Tracking number 1Z999AA10123456784 (UPS)"
        );
        assert!(shipped.html.contains("<!doctype html>"));
        std::fs::write(folder.join("shipped.txt"), "{{ nobody.name }}").unwrap();
        let refused = preview(Some(&folder), MailKind::LinkAgain, "en").unwrap_err();
        assert!(refused.to_string().contains("shipped.txt"), "{refused}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
