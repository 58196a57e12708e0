//! Texts that are trimmed, bounded and free of control characters.

use std::borrow::Cow;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use unicode_normalization::UnicodeNormalization as _;

/// Why a text is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing but white space.
    #[error("must not be empty")]
    Empty,
    /// Too many characters.
    #[error("must be at most {max} characters long")]
    TooLong {
        /// The most characters that are allowed.
        max: usize,
    },
    /// A control character, U+0000 among them.
    #[error("must not contain control characters (found U+{found:04X})")]
    Control {
        /// The character's code point.
        found: u32,
    },
    /// A character that is not seen and changes how the text around it reads.
    #[error("must not contain characters that are not seen (found U+{found:04X})")]
    Invisible {
        /// The character's code point.
        found: u32,
    },
    /// Not of the form that the kind of text has.
    #[error("{rule}")]
    Form {
        /// What the form is.
        rule: &'static str,
    },
}

fn checked(text: &str, max: usize, multiline: bool) -> Result<&str, TextError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(TextError::Empty);
    }
    // Most are letters and signs of ASCII alone, each a byte, and none of them refused.
    if is_plain(text) && text.len() <= max {
        return Ok(text);
    }
    if text.chars().count() > max {
        return Err(TextError::TooLong { max });
    }
    let refused = |c: &char| c.is_control() && !(multiline && matches!(c, '\n' | '\t'));
    if let Some(found) = text.chars().find(refused) {
        return Err(TextError::Control {
            found: u32::from(found),
        });
    }
    match text.chars().find(|c| !multiline && is_invisible(*c)) {
        Some(found) => Err(TextError::Invisible {
            found: u32::from(found),
        }),
        None => Ok(text),
    }
}

/// Whether all of a text is printable ASCII: looked at whole, which is many bytes at once.
fn is_plain(text: &str) -> bool {
    let plain = |byte| matches!(byte, b' '..=b'~');
    text.bytes().fold(true, |all, byte| all & plain(byte))
}

/// Whether the character is one of Unicode's format characters (Cf) that are not seen: it would
/// let a name read as another, or two that read alike differ. Those that are seen, such as the
/// Arabic number sign, are letters to whoever writes them. The two joiners are left: Persian,
/// Sinhala and many emoji cannot be written without them. In prose of several lines, where words
/// of both directions are mixed, all of them have their use.
fn is_invisible(character: char) -> bool {
    matches!(
        u32::from(character),
        0xAD
            | 0x61C
            | 0x180E
            | 0x200B
            | 0x200E..=0x200F
            | 0x202A..=0x202E
            | 0x2060..=0x2064
            | 0x2066..=0x206F
            | 0xFEFF
            | 0xFFF9..=0xFFFB
            | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A
            | 0xE0001
            | 0xE0020..=0xE007F
    )
}

/// Ids are compared, not read: no joiner has any use in them.
fn without_joiners(text: &str) -> Result<(), TextError> {
    match text.chars().find(|c| matches!(c, '\u{200C}' | '\u{200D}')) {
        Some(found) => Err(TextError::Invisible {
            found: u32::from(found),
        }),
        None => Ok(()),
    }
}

fn metadata_key_form(text: &str) -> Result<(), TextError> {
    if text.contains(['[', ']']) {
        return Err(TextError::Form {
            rule: "must not contain [ or ]",
        });
    }
    without_joiners(text)
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident { max: $max:literal, multiline: $multiline:literal, form: $form:expr }),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
        pub struct $name(String);

        impl $name {
            /// The most characters that the text may have.
            pub const MAX: usize = $max;

            /// The text, trimmed.
            ///
            /// # Errors
            /// [`TextError`] when it is empty, longer than [`Self::MAX`] characters,
            /// holds control characters or ones that are not seen, or is not of the kind's form.
            pub fn parse(text: &str) -> Result<Self, TextError> {
                // A line break is one character, whatever system it was typed on.
                let unix = if $multiline { text.replace("\r\n", "\n").into() } else { Cow::from(text) };
                let text = checked(&unix, $max, $multiline)?;
                let form: fn(&str) -> Result<(), TextError> = $form;
                form(text)?;
                Ok(Self(text.to_owned()))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = TextError;
            fn try_from(text: String) -> Result<Self, TextError> {
                Self::parse(&text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = TextError;
            fn from_str(text: &str) -> Result<Self, TextError> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> String {
                text.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

const fn any(_: &str) -> Result<(), TextError> {
    Ok(())
}

fn email_form(text: &str) -> Result<(), TextError> {
    const RULE: TextError = TextError::Form {
        rule: "must be an e-mail address",
    };
    let (local, domain) = text.rsplit_once('@').ok_or(RULE)?;
    let local_fits = !local.is_empty()
        && local.len() <= 64
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && local
            .chars()
            .all(|c| c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~-.".contains(c));
    let labels_fit = domain.contains('.')
        && domain.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|c| c.is_alphanumeric() || c == '-')
        });
    if local_fits && labels_fit {
        Ok(())
    } else {
        Err(RULE)
    }
}

texts! {
    /// A name or title, up to 255 characters.
    Name { max: 255, multiline: false, form: any },
    /// A description, up to 10,000 characters; line breaks and tabs are allowed.
    Description { max: 10_000, multiline: true, form: any },
    /// A stock keeping unit, up to 255 characters.
    Sku { max: 255, multiline: false, form: without_joiners },
    /// An id from the caller's own system, up to 255 characters.
    ExternalId { max: 255, multiline: false, form: without_joiners },
    /// One line of an address, a carrier's or provider's text, a reason: up to 255 characters.
    Line { max: 255, multiline: false, form: any },
    /// Notes, up to 2,000 characters; line breaks and tabs are allowed.
    Notes { max: 2_000, multiline: true, form: any },
    /// An organization's own terms in Markdown, up to 100,000 characters; line breaks and tabs are allowed.
    AgreementText { max: 100_000, multiline: true, form: any },
    /// What a carrier says of an event, up to 1,000 characters.
    EventText { max: 1_000, multiline: true, form: any },
    /// What is looked for in texts, up to 100 characters.
    SearchTerm { max: 100, multiline: false, form: any },
    /// A key of [metadata](crate::metadata), up to 40 characters without `[` and `]`, which parameters
    /// write around it.
    MetadataKey { max: 40, multiline: false, form: metadata_key_form },
    /// A value of [metadata](crate::metadata), up to 500 characters.
    MetadataValue { max: 500, multiline: false, form: any },
    /// An e-mail address, up to 254 characters.
    Email { max: 254, multiline: false, form: email_form },
    /// An absolute URL, up to 2,048 characters; what schemes are allowed is the caller's rule.
    Url { max: 2_048, multiline: false, form: url_form },
    /// An absolute URL that a customer's browser is sent to, up to 2,048 characters; behind its host it
    /// may hold [`RedirectUrl::CHECKOUT_ID`].
    RedirectUrl { max: 2_048, multiline: false, form: redirect_form },
}

/// The text as it is compared where neither case nor the form of letters (NFKC) tells texts apart.
pub(crate) fn folded(text: &str) -> String {
    let lower: String = text.nfkc().flat_map(char::to_lowercase).collect();
    // What is lower case may be composed anew.
    lower.nfkc().collect()
}

impl SearchTerm {
    /// The text as it is looked for, in any case and form of letters (NFKC): what holds it, folded
    /// alike, is found. No character of it means anything but itself.
    #[must_use]
    pub fn folded(&self) -> String {
        folded(&self.0)
    }
}

impl Email {
    /// What stands in the place of an address that was taken away: another for each of these numbers,
    /// in a domain that is reserved for what nobody has (RFC 2606).
    #[must_use]
    pub fn of_nobody(number: uuid::Uuid) -> Self {
        Self(format!("erased-{}@lessor.invalid", number.simple()))
    }

    /// The address as it is compared: no two customers of an organization and a mode share it. Letters that
    /// differ in form alone (NFKC), such as those of full width, are the same.
    #[must_use]
    pub fn folded(&self) -> String {
        folded(&self.0)
    }

    /// What stands before the `@`.
    #[must_use]
    pub fn local_part(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(local, _)| local)
    }
}

fn url_form(text: &str) -> Result<(), TextError> {
    const RULE: TextError = TextError::Form {
        rule: "must be an absolute http or https URL without user info",
    };
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
        .ok_or(RULE)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let clean = text.chars().all(|c| {
        !c.is_whitespace() && !matches!(c, '<' | '>' | '"' | '\\' | '^' | '`' | '{' | '|' | '}')
    });
    if authority.is_empty() || authority.contains('@') || !clean || host_of(authority).is_none() {
        return Err(RULE);
    }
    Ok(())
}

/// A URL once its placeholders are filled in. A host is never filled in: where the browser goes is
/// said by whoever gives the URL.
fn redirect_form(text: &str) -> Result<(), TextError> {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('{') {
        return Err(TextError::Form {
            rule: "must be an absolute http or https URL without user info, with {CHECKOUT_ID} behind its host only",
        });
    }
    url_form(&text.replace(RedirectUrl::CHECKOUT_ID, "chk"))
}

/// Whether the host of the URL is this machine's own.
fn leads_home(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host_of(authority).is_some_and(|host| {
        host.eq_ignore_ascii_case("localhost")
            || host == "[::1]"
            || host
                .parse::<Ipv4Addr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = if let Some(end) = authority.find(']') {
        let (host, rest) = authority.split_at_checked(end.checked_add(1)?)?;
        (host, rest.strip_prefix(':'))
    } else {
        authority
            .split_once(':')
            .map_or((authority, None), |(host, port)| (host, Some(port)))
    };
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    let is_number = |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_digit());
    let last = host.trim_end_matches('.').rsplit('.').next();
    let host_fits = match host.strip_prefix('[') {
        Some(address) => address
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()),
        // What ends in a number is an address: <https://url.spec.whatwg.org/#ends-in-a-number-checker>.
        None if last.is_some_and(is_number) => host.parse::<Ipv4Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(name),
    };
    (port_fits && host_fits).then_some(host)
}

impl Url {
    /// Whether the scheme is `https`.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Whether the host is this machine's own.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        leads_home(&self.0)
    }
}

impl RedirectUrl {
    /// What stands for the checkout's id.
    pub const CHECKOUT_ID: &'static str = "{CHECKOUT_ID}";

    /// Whether the scheme is `https`.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Whether the host is this machine's own.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        leads_home(&self.0)
    }

    /// The address for this checkout.
    #[must_use]
    pub fn filled(&self, checkout: crate::ids::CheckoutPubId) -> String {
        self.0.replace(Self::CHECKOUT_ID, &checkout.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_trimmed_bounded_and_printable() {
        assert_eq!(
            Name::parse("  Road bike ").map(String::from),
            Ok("Road bike".into())
        );
        assert_eq!(Name::parse(" \t "), Err(TextError::Empty));
        assert_eq!(Name::parse("a\u{0}b"), Err(TextError::Control { found: 0 }));
        assert_eq!(Name::parse("a\nb"), Err(TextError::Control { found: 10 }));
        assert!(Description::parse("a\n\tb").is_ok());
        assert!(Name::parse(&"ä".repeat(255)).is_ok());
        assert_eq!(
            Name::parse(&"ä".repeat(256)),
            Err(TextError::TooLong { max: 255 })
        );
    }

    #[test]
    fn what_is_not_seen_is_refused_where_it_could_deceive() {
        for found in [0x202E, 0x200B, 0xFEFF, 0xAD, 0x2066, 0xE0041] {
            let hidden = char::from_u32(found).unwrap();
            let text = format!("Road{hidden}bike");
            assert_eq!(Name::parse(&text), Err(TextError::Invisible { found }));
            assert_eq!(Line::parse(&text), Err(TextError::Invisible { found }));
            assert!(Sku::parse(&text).is_err() && ExternalId::parse(&text).is_err());
            assert!(Description::parse(&text).is_ok(), "prose may need it");
        }
        assert!(
            Name::parse("\u{FEFF}Road bike").is_err(),
            "it is no white space"
        );
        // Persian, and a family of emoji.
        for joined in ["می\u{200C}خواهم", "👩\u{200D}👧"] {
            assert!(Name::parse(joined).is_ok(), "{joined}");
            assert!(Sku::parse(joined).is_err(), "{joined}");
        }
    }

    #[test]
    fn emails_are_the_same_whatever_the_form_of_their_letters() {
        let folded = |text: &str| Email::parse(text).map(|email| email.folded());
        for (one, other) in [
            ("Ada@Example.com", "ada@example.com"),
            ("ａｄａ@example.com", "ada@example.com"),
            ("ADA@ｅxample.com", "ada@example.com"),
            // Composed, and as a letter with a sign of its own.
            ("zo\u{EB}@example.com", "ZO\u{CB}@example.com"),
            ("ﬁn@example.com", "fin@example.com"),
        ] {
            assert_eq!(folded(one), folded(other), "{one} {other}");
        }
        assert_ne!(folded("ada@example.com"), folded("eda@example.com"));
    }

    #[test]
    fn emails() {
        for good in [
            "a@example.com",
            "A.b+identityfail@mail.example.co.uk",
            "o'neil@example.com",
        ] {
            assert!(Email::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "a",
            "@example.com",
            "a@",
            "a@b",
            "a b@example.com",
            ".a@example.com",
            "a@-x.com",
            "a@x..com",
        ] {
            assert!(Email::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(
            Email::parse("Ada+creditfail@Example.com").map(|e| e.local_part().to_owned()),
            Ok("Ada+creditfail".into())
        );
    }

    #[test]
    fn urls() {
        for good in [
            "https://example.com",
            "http://localhost:3000/x?y=z#f",
            "https://[::1]:8080/",
            "https://例え.jp/",
        ] {
            assert!(Url::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "example.com",
            "ftp://example.com",
            "https://",
            "https://user@example.com",
            "https://a b.com",
            "javascript:alert(1)",
            "https://x:99999/",
            "https://[zz]/",
            "https://[::1/",
            "https://1.2.3.999/",
            "https://1.2.3.4.5/",
        ] {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
        assert!(Url::parse("http://127.0.0.1:1/").is_ok_and(|url| url.is_loopback()));
        assert!(Url::parse("http://127.0.0.1.example.com/").is_ok_and(|url| !url.is_loopback()));
    }

    #[test]
    fn the_address_that_a_browser_is_sent_to_may_name_the_checkout() {
        let id = crate::ids::CheckoutPubId::from_uuid(uuid::Uuid::from_u128(7));
        for (given, filled) in [
            (
                "https://shop.example/thanks",
                "https://shop.example/thanks".to_owned(),
            ),
            (
                "https://shop.example/{CHECKOUT_ID}/thanks",
                format!("https://shop.example/{id}/thanks"),
            ),
            (
                "http://localhost:3000/?a={CHECKOUT_ID}&b={CHECKOUT_ID}#{CHECKOUT_ID}",
                format!("http://localhost:3000/?a={id}&b={id}#{id}"),
            ),
        ] {
            let url = RedirectUrl::parse(given).unwrap();
            assert_eq!(url.filled(id), filled, "{given}");
            assert_eq!(url.as_str(), given, "it is kept as it was given");
            assert_eq!(url.is_loopback(), given.starts_with("http://localhost"));
        }
        for bad in [
            "https://{CHECKOUT_ID}.example/",
            "https://{CHECKOUT_ID}/",
            "{CHECKOUT_ID}",
            "https://shop.example/{checkout_id}",
            "https://shop.example/{CHECKOUT_ID",
            "https://shop.example/{ORDER}",
            "https://shop.example:{CHECKOUT_ID}/",
            "ftp://shop.example/{CHECKOUT_ID}",
        ] {
            assert!(RedirectUrl::parse(bad).is_err(), "{bad}");
        }
    }
}
