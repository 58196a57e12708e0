//! A mail as it goes over the wire.

use lessor_domain::ports::MailMessage;
use lettre::Message;
use lettre::error::Error;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};

use super::settings::Sender;

/// <https://www.rfc-editor.org/rfc/rfc3834#section-5>: nobody is to answer it by themselves.
const AUTO_SUBMITTED: &str = "Auto-Submitted";

/// One line: what breaks lines begins no header here.
fn line(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars()
        .map(plain)
        .collect::<String>()
        .trim()
        .to_owned()
}

fn content_type(text: &str) -> ContentType {
    // Ours are written down here, and are some.
    ContentType::parse(text).unwrap_or(ContentType::TEXT_PLAIN)
}

/// Puts the mail together. The same mail has the same `Message-ID` whenever it is sent.
pub(super) fn compose(
    from: &Sender,
    to: Mailbox,
    message: &MailMessage<'_>,
) -> Result<Message, Error> {
    let mailbox = Mailbox::new(
        Some(line(message.from_name)).filter(|name| !name.is_empty()),
        from.address().clone(),
    );
    let mut builder = Message::builder()
        .message_id(Some(format!("<{}@{}>", message.id, from.domain())))
        .date(message.at.into())
        .from(mailbox)
        .to(to)
        .subject(line(&message.text.subject))
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str(AUTO_SUBMITTED),
            "auto-generated".to_owned(),
        ));
    // One that is none of SMTP is left out: the mail itself is what matters.
    let reply_to = message.reply_to.and_then(|to| to.as_str().parse().ok());
    if let Some(reply_to) = reply_to {
        builder = builder.reply_to(reply_to);
    }
    let both =
        MultiPart::alternative_plain_html(message.text.text.clone(), message.text.html.clone());
    if message.attachments.is_empty() {
        return builder.multipart(both);
    }
    let mut mixed = MultiPart::mixed().multipart(both);
    for it in message.attachments {
        let attachment: SinglePart =
            Attachment::new(line(&it.name)).body(it.bytes.clone(), content_type(it.media_type));
        mixed = mixed.singlepart(attachment);
    }
    builder.multipart(mixed)
}

#[cfg(test)]
mod tests {
    use lessor_domain::ids::MailPubId;
    use lessor_domain::ports::{Attachment as File, MailText};
    use lessor_domain::text::Email;
    use lessor_domain::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn composed(from_name: &str, subject: &str, files: &[File]) -> String {
        let to: Email = "ada@example.com".parse().unwrap();
        let reply_to: Email = "help@bikes.example".parse().unwrap();
        let text = MailText {
            subject: subject.to_owned(),
            text: "Grüße.\n.\nEnde".to_owned(),
            html: "<p>Grüße</p>".to_owned(),
        };
        let message = MailMessage {
            id: MailPubId::from_uuid(Uuid::from_u128(7)),
            from_name,
            to: &to,
            reply_to: Some(&reply_to),
            text: &text,
            attachments: files,
            at: Timestamp::UNIX_EPOCH,
        };
        let from: Sender = "Lessor <mail@lease.example>".parse().unwrap();
        let to = to.as_str().parse().unwrap();
        let composed = compose(&from, to, &message).unwrap();
        String::from_utf8(composed.formatted()).unwrap()
    }

    fn heads(composed: &str) -> Vec<&str> {
        let (head, _) = composed.split_once("\r\n\r\n").unwrap();
        head.split("\r\n").collect()
    }

    #[test]
    fn the_head_says_who_and_what() {
        let composed = composed("Räder & Co", "Your goods are on their way", &[]);
        let heads = heads(&composed);
        let id = MailPubId::from_uuid(Uuid::from_u128(7));
        for expected in [
            format!("Message-ID: <{id}@lease.example>"),
            "Date: Thu, 01 Jan 1970 00:00:00 +0000".to_owned(),
            "To: ada@example.com".to_owned(),
            "Reply-To: help@bikes.example".to_owned(),
            "Subject: Your goods are on their way".to_owned(),
            "Auto-Submitted: auto-generated".to_owned(),
            "MIME-Version: 1.0".to_owned(),
        ] {
            assert!(heads.contains(&expected.as_str()), "{expected}: {heads:#?}");
        }
        let from = heads.iter().find(|head| head.starts_with("From: "));
        let from = from.unwrap();
        assert!(from.starts_with("From: =?utf-8?b?"), "{from}");
        assert!(from.ends_with("<mail@lease.example>"), "{from}");
        assert!(composed.is_ascii(), "{composed}");
    }

    /// Whoever names an organization or a product writes no header.
    #[test]
    fn nobody_breaks_out_of_a_header() {
        for evil in [
            "Bikes\r\nBcc: eve@example.com",
            "Bikes\nBcc: eve@example.com",
            "Bikes\rBcc: eve@example.com",
            "Bikes\0\u{85}\u{2028}Bcc: eve@example.com",
            "\r\n\r\nBcc: eve@example.com",
            "Räder\r\nBcc: eve@example.com",
        ] {
            let file = File {
                name: evil.to_owned(),
                media_type: "application/pdf",
                bytes: vec![1, 2, 3],
            };
            let composed = composed(evil, evil, &[file]);
            for head in composed.split(['\r', '\n']) {
                assert!(!head.to_lowercase().starts_with("bcc"), "{composed}");
            }
            let names: Vec<&str> = heads(&composed)
                .iter()
                .filter(|head| !head.starts_with([' ', '\t']))
                .filter_map(|head| head.split(':').next())
                .collect();
            let expected = [
                "Message-ID",
                "Date",
                "From",
                "To",
                "Subject",
                "Auto-Submitted",
                "Reply-To",
                "MIME-Version",
                "Content-Type",
            ];
            assert_eq!(names.len(), expected.len(), "{names:?}");
            assert!(
                expected.iter().all(|name| names.contains(name)),
                "{names:?}"
            );
        }
    }
}
