//! What a mail tells of, and in which words.

use lessor_domain::access::Mode;
use lessor_domain::checkout::Checkout;
use lessor_domain::credit::{AdverseReason, CreditDecision};
use lessor_domain::mail::MailKind;
use lessor_domain::organization::{Color, Organization};
use lessor_domain::ports::{MailMatter, MailView};
use lessor_domain::time::Day;
use lessor_domain::webhooks::DisabledReason;
use serde::Serialize;

use crate::auth::links::CheckoutPageLinks;
use crate::checkout_page::{Reader, name_of};

/// What buttons are filled with where an organization has no color of its own.
const ACCENT: &str = "#0b57a4";

/// Something to be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Link {
    url: String,
    label: String,
}

/// The face of the organization, as templates know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Face {
    name: String,
    logo_url: Option<String>,
    accent: String,
    /// What is read on it.
    on_accent: String,
    support_email: Option<String>,
    support_phone: Option<String>,
    #[serde(skip)]
    terms_url: Option<String>,
    #[serde(skip)]
    privacy_url: Option<String>,
}

impl Face {
    fn of(organization: &Organization) -> Self {
        let face = &organization.face;
        let accent: Option<Color> = face.accent_color.or_else(|| ACCENT.parse().ok());
        let accent = accent.unwrap_or(Color::BLACK);
        Self {
            name: organization.shown_name().to_string(),
            // One that is not sent safely is not shown.
            logo_url: (face.logo_url.as_ref())
                .filter(|url| url.is_https())
                .map(ToString::to_string),
            accent: accent.to_string(),
            on_accent: accent.ink().to_string(),
            support_email: face.support_email.as_ref().map(ToString::to_string),
            support_phone: face.support_phone.as_ref().map(ToString::to_string),
            terms_url: face.terms_url.as_ref().map(ToString::to_string),
            privacy_url: face.privacy_url.as_ref().map(ToString::to_string),
        }
    }

    /// One for a look at templates.
    fn sample() -> Self {
        let accent: Option<Color> = "#1a7f5a".parse().ok();
        let accent = accent.unwrap_or(Color::BLACK);
        Self {
            name: "Bikes & More".to_owned(),
            logo_url: None,
            accent: accent.to_string(),
            on_accent: accent.ink().to_string(),
            support_email: Some("help@bikes.example".to_owned()),
            support_phone: Some("+1 415 555 0100".to_owned()),
            terms_url: Some("https://bikes.example/terms".to_owned()),
            privacy_url: Some("https://bikes.example/privacy".to_owned()),
        }
    }
}

/// What a mail tells of.
pub(super) struct Facts {
    kind: MailKind,
    reader: Reader,
    is_sandbox: bool,
    face: Face,
    /// What is leased.
    item: String,
    /// The id of what an organization is told of.
    id: String,
    /// The checkout's page.
    link: Option<String>,
    reasons: Vec<AdverseReason>,
    /// Number and carrier.
    tracking: Option<(String, String)>,
    ends: Option<Day>,
    /// Why somebody has to look.
    attention: Vec<&'static str>,
    /// The endpoint, and why it is told of nothing any more.
    endpoint: Option<(String, Option<DisabledReason>)>,
}

/// The words of a mail, as templates know them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Words {
    kind: &'static str,
    language: String,
    pub(super) subject: String,
    /// That nothing of it is real, where that is so.
    notice: Option<String>,
    heading: String,
    paragraphs: Vec<String>,
    points: Vec<String>,
    afterwards: Vec<String>,
    action: Option<Link>,
    questions: Option<String>,
    links: Vec<Link>,
    /// Why they got it.
    why: String,
    organization: Face,
}

fn tracking_of(checkout: &Checkout) -> Option<(String, String)> {
    let tracking = checkout.shipment.tracking.as_ref()?;
    let carrier = tracking.carrier.as_str().to_uppercase();
    Some((tracking.number.as_str().to_owned(), carrier))
}

impl Facts {
    pub(super) fn of(view: &MailView<'_>, links: &CheckoutPageLinks) -> Self {
        let face = Face::of(view.organization);
        let empty = Self {
            kind: view.kind,
            reader: Reader::in_country(None),
            is_sandbox: view.mode == Mode::Sandbox,
            face,
            item: String::new(),
            id: String::new(),
            link: None,
            reasons: Vec::new(),
            tracking: None,
            ends: None,
            attention: Vec::new(),
            endpoint: None,
        };
        match view.matter {
            MailMatter::Endpoint(endpoint) => Self {
                id: endpoint.id.to_string(),
                endpoint: Some((endpoint.url.to_string(), endpoint.disabled_reason)),
                ..empty
            },
            MailMatter::Checkout {
                checkout,
                customer,
                qualification,
            } => {
                let given = checkout.given_profile.as_ref();
                let country = given
                    .and_then(|given| given.country)
                    .or(customer.profile.country)
                    .filter(|_| !view.kind.is_for_organization());
                let reader = Reader::in_country(country);
                let declined =
                    qualification.filter(|made| made.decision == CreditDecision::Declined);
                let attention = checkout.progress().attention;
                Self {
                    item: name_of(checkout, &reader),
                    reader,
                    id: checkout.id.to_string(),
                    link: Some(links.url(checkout)),
                    reasons: declined
                        .map(|made| made.reasons.clone())
                        .unwrap_or_default(),
                    tracking: tracking_of(checkout),
                    ends: checkout.lease.end,
                    attention: attention.iter().map(|it| it.reason.as_str()).collect(),
                    ..empty
                }
            }
        }
    }

    /// Such a mail for a look at templates, in the language.
    pub(super) fn sample(kind: MailKind, language: &str) -> Self {
        Self {
            kind,
            reader: Reader::of(&format!("lang={language}"), None),
            is_sandbox: false,
            face: Face::sample(),
            item: "Road bike, 54 cm".to_owned(),
            id: match kind {
                MailKind::EndpointDisabled => "whe_0345Nd8jqBSVLs1aoT6tLA",
                _ => "chk_0345Nd8jqBSVLs1aoT6tLA",
            }
            .to_owned(),
            link: Some(format!(
                "https://lease.example/c/{}",
                "0123456789ab".repeat(6)
            )),
            reasons: vec![
                AdverseReason::IncomeInsufficient,
                AdverseReason::LengthOfEmployment,
            ],
            tracking: Some(("1Z999AA10123456784".to_owned(), "UPS".to_owned())),
            ends: Day::from_ymd_opt(2027, 3, 31),
            attention: vec!["paymentFailed"],
            endpoint: Some((
                "https://shop.example/hooks/lessor".to_owned(),
                Some(DisabledReason::Failing),
            )),
        }
    }

    pub(super) fn words(self) -> Words {
        let t = &self.reader;
        let item = self.item.as_str();
        let name = self.face.name.as_str();
        let mut points = Vec::new();
        let mut afterwards = Vec::new();
        let (subject, text, label) = match self.kind {
            MailKind::CheckoutLink => (
                t.mail_checkout_link_subject(name),
                t.mail_checkout_link_text(item, name),
                Some(t.mail_open_lease()),
            ),
            MailKind::OffWaitlist => (
                t.mail_off_waitlist_subject(),
                t.mail_off_waitlist_text(item),
                Some(t.mail_open_lease()),
            ),
            MailKind::AgreementReady => (
                t.mail_agreement_ready_subject(),
                t.mail_agreement_ready_text(item),
                Some(t.mail_read_and_sign()),
            ),
            MailKind::AgreementSigned => (
                t.mail_agreement_signed_subject(),
                t.mail_agreement_signed_text(item, name),
                Some(t.mail_open_lease()),
            ),
            MailKind::Refused => {
                points.extend(self.reasons.iter().map(|reason| t.reason(*reason)));
                afterwards.push(t.ask_about_decision(name));
                (
                    t.mail_refused_subject(name),
                    t.mail_refused_text(item, name),
                    None,
                )
            }
            MailKind::Shipped => {
                if let Some((number, carrier)) = &self.tracking {
                    points.push(t.tracking_number(number.as_str(), carrier.as_str()));
                }
                (
                    t.shipped(),
                    t.mail_shipped_text(item),
                    Some(t.mail_open_lease()),
                )
            }
            MailKind::PaymentFailed => (
                t.mail_payment_failed_subject(),
                t.mail_payment_failed_text(item),
                Some(t.mail_pay()),
            ),
            MailKind::LeaseEndsSoon => {
                let day = self.ends.map(|day| t.day(day)).unwrap_or_default();
                afterwards.push(t.give_back_later(name));
                (
                    t.mail_ends_soon_subject(day.as_str()),
                    t.mail_ends_soon_text(item, day.as_str()),
                    Some(t.mail_open_lease()),
                )
            }
            MailKind::LinkAgain => (
                t.mail_link_again_subject(),
                t.mail_link_again_text(item),
                Some(t.mail_open_lease()),
            ),
            MailKind::NeedsAttention => {
                points.extend(self.attention.iter().map(|reason| (*reason).to_owned()));
                let id = self.id.as_str();
                (
                    t.mail_attention_subject(id),
                    t.mail_attention_text(id),
                    None,
                )
            }
            MailKind::EndpointDisabled => {
                let (url, reason) = self.endpoint.clone().unwrap_or_default();
                points.extend(reason.map(|reason| match reason {
                    DisabledReason::Gone => t.mail_endpoint_gone(),
                    DisabledReason::Failing => t.mail_endpoint_failing(),
                }));
                afterwards.push(t.mail_endpoint_advice(self.id.as_str()));
                (
                    t.mail_endpoint_subject(),
                    t.mail_endpoint_text(url.as_str()),
                    None,
                )
            }
        };
        let mut paragraphs = vec![text];
        if self.kind == MailKind::Refused && !points.is_empty() {
            paragraphs.push(t.principal_reasons());
        }
        let is_for_customer = !self.kind.is_for_organization();
        let is_reached = self.face.support_email.is_some() || self.face.support_phone.is_some();
        let links = [
            (&self.face.terms_url, t.terms_of_business()),
            (&self.face.privacy_url, t.privacy()),
        ];
        Words {
            kind: self.kind.as_str(),
            language: t.language_code().to_owned(),
            heading: subject.clone(),
            subject,
            notice: (self.is_sandbox).then(|| format!("{} {}", t.sandbox(), t.sandbox_means())),
            paragraphs,
            points,
            afterwards,
            action: label
                .zip(self.link.clone())
                .map(|(label, url)| Link { url, label }),
            questions: (is_for_customer && is_reached).then(|| t.questions(name)),
            links: links
                .into_iter()
                .filter(|_| is_for_customer)
                .filter_map(|(url, label)| {
                    Some(Link {
                        url: url.clone()?,
                        label,
                    })
                })
                .collect(),
            why: if is_for_customer {
                t.mail_why_customer(name)
            } else {
                t.mail_why_organization(name)
            },
            organization: self.face,
        }
    }
}
