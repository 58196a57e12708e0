//! Agreements as PDF documents.
//!
//! `words` says what stands in the document, block by block; `layout` finds the place of every line; `pdf` draws
//! them. Nothing but the content goes into the bytes: no clock, no chance, no fonts of the machine. A document is
//! PDF/A-2b and PDF/UA-1: it can be read aloud, and in many years.

mod fonts;
mod layout;
mod markdown;
mod pdf;
mod words;

use lessor_domain::agreement::Agreement;
use lessor_domain::cause::Cause;
use lessor_domain::ports::{AgreementRenderer, RenderError};

use self::fonts::Fonts;

/// Makes PDF documents.
#[derive(Debug, Clone, Copy, Default)]
pub struct PdfRenderer;

impl AgreementRenderer for PdfRenderer {
    fn render(&self, agreement: &Agreement) -> Result<Vec<u8>, RenderError> {
        let failed = |problem: String| RenderError(Cause::new(problem));
        let fonts = Fonts::embedded().map_err(failed)?;
        let blocks = words::of(agreement);
        let pages = layout::Pages::of(&blocks, &fonts, words::paper(agreement));
        pdf::write(&pages, &fonts, &words::about(agreement)).map_err(failed)
    }
}
