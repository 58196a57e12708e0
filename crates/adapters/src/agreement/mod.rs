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

use std::sync::LazyLock;

use async_trait::async_trait;
use lessor_domain::agreement::Agreement;
use lessor_domain::cause::Cause;
use lessor_domain::ports::{AgreementRenderer, RenderError};

use self::fonts::Fonts;

/// Makes PDF documents.
#[derive(Debug, Clone, Copy, Default)]
pub struct PdfRenderer;

/// The fonts are read once.
static FONTS: LazyLock<Result<Fonts, String>> = LazyLock::new(Fonts::embedded);

fn document(agreement: &Agreement) -> Result<Vec<u8>, String> {
    let fonts = FONTS.as_ref().map_err(Clone::clone)?;
    let blocks = words::of(agreement);
    let pages = layout::Pages::of(&blocks, fonts, words::paper(agreement));
    pdf::write(&pages, fonts, &words::about(agreement))
}

#[async_trait]
impl AgreementRenderer for PdfRenderer {
    async fn render(&self, agreement: &Agreement) -> Result<Vec<u8>, RenderError> {
        let agreement = agreement.clone();
        // Laying out and compressing takes the processor for milliseconds, which others would wait for.
        let made = tokio::task::spawn_blocking(move || document(&agreement)).await;
        match made {
            Ok(Ok(pdf)) => Ok(pdf),
            Ok(Err(problem)) => Err(RenderError(Cause::new(problem))),
            Err(lost) => Err(RenderError(Cause::new(lost))),
        }
    }
}
