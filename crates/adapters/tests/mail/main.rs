//! Mails given to a mail server that others wrote, aiosmtpd. `tests/install peers` installs it; without it
//! these tests say that they were skipped, or fail when `LESSOR_REQUIRE_PEERS` is 1.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use lessor_adapters::mail::{Encryption, SmtpSender, SmtpServer};
use lessor_domain::ids::MailPubId;
use lessor_domain::mail::Posted;
use lessor_domain::ports::{Attachment, MailMessage, MailSender as _, MailText};
use lessor_domain::text::Email;
use lessor_domain::time::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// A mail server that ends with the test.
struct Server {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    port: u16,
}

impl Server {
    /// None where it is not installed, which is said.
    fn start(arguments: &[&str]) -> Option<Self> {
        let peers = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers");
        let python = peers.join("venv/bin/python");
        let script = peers.join("mail_server.py");
        let is_there = python.exists()
            && Command::new(&python)
                .args(["-c", "import aiosmtpd"])
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success());
        if !is_there {
            let required = std::env::var("LESSOR_REQUIRE_PEERS").is_ok_and(|value| value == "1");
            assert!(!required, "aiosmtpd is not there: {}", python.display());
            // Not by a macro, whose output is captured when a test passes.
            let said = "SKIPPED the mail server: it is not installed (tests/install peers)\n";
            std::io::stderr().write_all(said.as_bytes()).unwrap();
            return None;
        }
        let mut child = Command::new(python)
            .arg(script)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        Some(Self { child, lines, port })
    }

    /// What it took next.
    fn mail(&mut self) -> Value {
        let line = self.lines.next().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn sender(&self, sign_in: &str) -> SmtpSender {
        let url = format!("smtp://{sign_in}127.0.0.1:{}", self.port);
        sender(url.parse().unwrap(), &[])
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn sender(server: SmtpServer, trusted: &[&str]) -> SmtpSender {
    let from = "mail@lease.example".parse().unwrap();
    SmtpSender::new(server, from, trusted).unwrap()
}

async fn send(sender: &SmtpSender, to: &str) -> Posted {
    let to: Email = to.parse().unwrap();
    let text = MailText {
        subject: "Ihr Mietvertrag".to_owned(),
        text: "Grüße.\n.\nEnde".to_owned(),
        html: "<p>Grüße</p>".to_owned(),
    };
    let attachment = Attachment {
        name: "doc.pdf".to_owned(),
        media_type: "application/pdf",
        bytes: b"%PDF-".to_vec(),
    };
    let message = MailMessage {
        id: MailPubId::from_uuid(Uuid::from_u128(7)),
        from_name: "Räder & Co",
        to: &to,
        reply_to: None,
        text: &text,
        attachments: &[attachment],
        at: Timestamp::UNIX_EPOCH,
    };
    sender.send(message).await
}

#[tokio::test]
async fn a_mail_arrives_as_it_was_written_on_one_connection() {
    let Some(mut server) = Server::start(&["plain"]) else {
        return;
    };
    let sender = server.sender("");
    for to in ["ada@example.com", "eve@example.com"] {
        assert_eq!(send(&sender, to).await, Posted::Accepted);
        let mail = server.mail();
        assert_eq!(mail["from"], "mail@lease.example");
        assert_eq!(mail["to"][0], to);
        let data = mail["data"].as_str().unwrap();
        let id = MailPubId::from_uuid(Uuid::from_u128(7));
        for expected in [
            &format!("Message-ID: <{id}@lease.example>\r\n"),
            "Auto-Submitted: auto-generated\r\n",
            "Content-Disposition: attachment; filename=\"doc.pdf\"\r\n",
            // In Base64, where a line of one dot ends nothing: "Grüße.", ".", "Ende".
            "\r\n\r\nR3LDvMOfZS4NCi4NCkVuZGU=\r\n",
        ] {
            assert!(data.contains(expected), "{expected}: {data}");
        }
    }
}

#[tokio::test]
async fn what_a_refusal_means_depends_on_what_is_refused() {
    let Some(mut server) = Server::start(&["plain"]) else {
        return;
    };
    let sender = server.sender("");
    let told =
        |codes: &str, command: &str| format!("the mail server answered {codes} to {command}");
    for (to, expected) in [
        ("gone", Posted::NoSuchMailbox(told("550 5.1.1", "RCPT TO"))),
        ("unknown", Posted::NoSuchMailbox(told("550", "RCPT TO"))),
        ("blocked", Posted::Trouble(told("550 5.7.1", "RCPT TO"))),
        ("busy", Posted::Later(told("451 4.3.0", "RCPT TO"))),
        ("spam", Posted::Refused(told("554 5.6.0", "the message"))),
        ("full", Posted::Later(told("452 4.2.2", "the message"))),
    ] {
        let posted = send(&sender, &format!("{to}@example.com")).await;
        assert_eq!(posted, expected, "{to}");
    }
    // It was taken, but nobody knows: it is sent again.
    let lost = send(&sender, "lost@example.com").await;
    assert!(matches!(lost, Posted::Later(_)), "{lost:?}");
    assert_eq!(send(&sender, "ada@example.com").await, Posted::Accepted);
    let taken: Vec<String> = (0..4)
        .map(|_| server.mail()["to"][0].as_str().unwrap().to_owned())
        .collect();
    let expected = ["spam", "full", "lost", "ada"].map(|to| format!("{to}@example.com"));
    assert_eq!(taken, expected);
}

#[tokio::test]
async fn whoever_cannot_be_reached_or_signed_in_to_is_an_operators_to_mend() {
    let Some(server) = Server::start(&["plain", "auth"]) else {
        return;
    };
    assert_eq!(
        send(&server.sender("ada:p%40ss@"), "ada@example.com").await,
        Posted::Accepted
    );
    for wrong in ["ada:wrong@", ""] {
        let posted = send(&server.sender(wrong), "ada@example.com").await;
        assert!(matches!(posted, Posted::Trouble(_)), "{wrong}: {posted:?}");
    }
    let nobody = sender("smtp://127.0.0.1:1".parse().unwrap(), &[]);
    let posted = send(&nobody, "ada@example.com").await;
    assert!(matches!(posted, Posted::Trouble(_)), "{posted:?}");
}

#[tokio::test]
async fn nothing_is_sent_that_everybody_can_read() {
    let key = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let folder = std::env::temp_dir().join(format!("lessor-mail-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (cert, secret) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&cert, key.cert.pem()).unwrap();
    std::fs::write(&secret, key.signing_key.serialize_pem()).unwrap();
    let files = [cert.to_str().unwrap(), secret.to_str().unwrap()];
    let (Some(mut offering), Some(plain)) = (
        Server::start(&["starttls", files[0], files[1]]),
        Server::start(&["plain"]),
    ) else {
        return;
    };
    let elsewhere = |port: u16| {
        let mut server: SmtpServer = format!("smtp://127.0.0.1:{port}").parse().unwrap();
        // As of a server that is not on this machine.
        server.encryption = Encryption::StartTls;
        server
    };
    let pem = key.cert.pem();
    let trusting = sender(elsewhere(offering.port), &[&pem]);
    assert_eq!(send(&trusting, "ada@example.com").await, Posted::Accepted);
    assert_eq!(offering.mail()["tls"], true);
    let distrusting = sender(elsewhere(offering.port), &[]);
    let posted = send(&distrusting, "ada@example.com").await;
    assert!(matches!(posted, Posted::Trouble(_)), "{posted:?}");
    let posted = send(&sender(elsewhere(plain.port), &[&pem]), "ada@example.com").await;
    assert!(matches!(posted, Posted::Trouble(_)), "{posted:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}
