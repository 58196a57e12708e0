//! What is wrong with a request's data, and where.

use std::fmt;

use crate::http::error::ApiError;

/// The longest text of the caller that a message repeats, in characters.
const ECHO_MAX: usize = 60;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Member(String),
    Index(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Missing,
    Invalid,
}

/// The error of our deserializers: a message with the path of the value at fault. The path grows
/// from the inside out while the error travels up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    kind: Kind,
    message: String,
    /// Innermost first.
    path: Vec<Segment>,
}

impl Fault {
    /// A required value is absent.
    pub(crate) const fn missing() -> Self {
        Self {
            kind: Kind::Missing,
            message: String::new(),
            path: Vec::new(),
        }
    }

    /// A value is not accepted; `message` is a predicate, such as `must be a string`.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Invalid,
            message: message.into(),
            path: Vec::new(),
        }
    }

    pub(crate) fn in_member(mut self, name: &str) -> Self {
        self.path.push(Segment::Member(name.to_owned()));
        self
    }

    /// Like [`Fault::in_member`], for an error about the name itself: one that already names a
    /// member (an unknown one) stays as it is.
    pub(crate) fn about_member(self, name: &str) -> Self {
        if self.path.is_empty() {
            self.in_member(name)
        } else {
            self
        }
    }

    pub(crate) fn in_element(mut self, index: usize) -> Self {
        self.path.push(Segment::Index(index));
        self
    }

    /// The JSON path: `options[1].values`. Empty for the document itself.
    fn param(&self) -> String {
        let mut param = String::new();
        for segment in self.path.iter().rev() {
            match segment {
                Segment::Member(name) => {
                    if !param.is_empty() {
                        param.push('.');
                    }
                    param.push_str(name);
                }
                Segment::Index(index) => param.push_str(&format!("[{index}]")),
            }
        }
        param
    }
}

/// The first characters of a caller's text, for a message.
pub(crate) fn echo(text: &str) -> String {
    match text.char_indices().nth(ECHO_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn one_of(expected: &[&str]) -> String {
    expected.join(", ")
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let param = echo(&self.param());
        match self.kind {
            Kind::Missing => write!(f, "{param} is required"),
            Kind::Invalid if param.is_empty() => write!(f, "the request {}", self.message),
            Kind::Invalid => write!(f, "{param}: {}", self.message),
        }
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::invalid(message.to_string())
    }

    fn invalid_type(_: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::invalid(format!("must be {expected}"))
    }

    fn invalid_value(_: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::invalid(format!("must be {expected}"))
    }

    fn invalid_length(_: usize, expected: &dyn serde::de::Expected) -> Self {
        Self::invalid(format!("must be {expected}"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::invalid(format!("must be one of: {}", one_of(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let fault = if expected.is_empty() {
            Self::invalid("is not a known parameter; none is taken here")
        } else {
            Self::invalid(format!(
                "is not a known parameter; known: {}",
                one_of(expected)
            ))
        };
        fault.in_member(field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::missing().in_member(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::invalid("is given more than once").in_member(field)
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let param = fault.param();
        match fault.kind {
            _ if param.is_empty() => Self::invalid_request(fault.to_string()),
            Kind::Missing => Self::missing(param),
            Kind::Invalid => {
                let message = fault.to_string();
                Self::invalid(param, message)
            }
        }
    }
}
