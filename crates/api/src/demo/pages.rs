//! The customer of the demo: a browser without scripts that presses the buttons of pages.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use reqwest::Method;
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;

use super::client::Client;

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Somebody at a checkout's page.
pub(super) struct Customer<'a> {
    http: reqwest::Client,
    /// The checkout's page.
    page: String,
    /// Who is told of what they do.
    teller: &'a Client<'a>,
}

/// What came of a request.
struct Seen {
    status: u16,
    /// Where the browser is sent.
    to: Option<String>,
    html: String,
}

impl<'a> Customer<'a> {
    pub(super) fn at(page: &str, teller: &'a Client<'a>) -> anyhow::Result<Self> {
        Ok(Self {
            // They follow by themselves, to say where they are.
            http: reqwest::Client::builder()
                .no_proxy()
                .redirect(Policy::none())
                .timeout(PATIENCE)
                .build()?,
            page: page.to_owned(),
            teller,
        })
    }

    async fn send(&self, url: &str, form: Option<&[(&str, &str)]>) -> anyhow::Result<Seen> {
        let (method, request) = match form {
            Some(form) => (Method::POST, self.http.post(url).form(form)),
            None => (Method::GET, self.http.get(url)),
        };
        let answer = request.send().await.context("a page does not answer")?;
        let status = answer.status().as_u16();
        let to = answer.headers().get(LOCATION);
        let to = to.map(|to| to.to_str().map(str::to_owned)).transpose()?;
        // Their page's address is a secret, and the others' are long.
        let shown = match url.strip_prefix(&self.page) {
            Some(rest) => format!("/c/…{rest}"),
            None => url.to_owned(),
        };
        self.teller.note(&method, &shown, status);
        Ok(Seen {
            status,
            to,
            html: answer.text().await?,
        })
    }

    /// Sends a form of the checkout's page; answers where that leads.
    pub(super) async fn press(&self, step: &str, form: &[(&str, &str)]) -> anyhow::Result<String> {
        let url = format!("{}/{step}", self.page);
        let sent = self.send(&url, Some(form)).await?;
        ensure!(
            sent.status == 303,
            "{step} answered {}: {}",
            sent.status,
            sent.html
        );
        sent.to.context("the form leads nowhere")
    }

    /// Sends a form that leads to a page of the processor's, presses a button there, and comes back.
    pub(super) async fn press_there(&self, step: &str, choice: &str) -> anyhow::Result<()> {
        let there = self.press(step, &[]).await?;
        let shown = self.send(&there, None).await?;
        ensure!(
            shown.status == 200,
            "{there} answered {}: {}",
            shown.status,
            shown.html
        );
        let chosen = self.send(&there, Some(&[("choice", choice)])).await?;
        let back = chosen
            .to
            .filter(|to| to.starts_with(&self.page))
            .with_context(|| format!("{choice} does not lead back: {}", chosen.html))?;
        let returned = self.send(&back, None).await?;
        ensure!(returned.status == 303, "{}", returned.html);
        Ok(())
    }
}
