//! What is wrong with a request's data, and where.

use std::fmt;

use serde_path_to_error::Segment;

use crate::http::error::ApiError;

/// The longest text of the caller that a message repeats, in characters.
const ECHO_MAX: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Missing,
    Invalid,
}

/// The error of our deserializer: a message, and the path of the value at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    kind: Kind,
    message: String,
    /// The JSON path, `options[1].values`: of a member that the fault itself names, until the place of
    /// its object is known. Empty for the document.
    param: String,
}

impl Fault {
    /// A required value is absent.
    pub(super) const fn missing() -> Self {
        Self {
            kind: Kind::Missing,
            message: String::new(),
            param: String::new(),
        }
    }

    /// A value is not accepted; `message` is a predicate, such as `must be a string`.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Invalid,
            message: message.into(),
            param: String::new(),
        }
    }

    /// Of this member of the object that is read.
    pub(super) fn of_member(self, name: &str) -> Self {
        Self {
            param: name.to_owned(),
            ..self
        }
    }

    /// The fault with the path at which it was met.
    pub(super) fn at<'p>(self, path: impl Iterator<Item = &'p Segment>) -> Self {
        let mut param = String::new();
        let mut last = None;
        for segment in path {
            last = Some(segment);
            match segment {
                Segment::Seq { index } => param.push_str(&format!("[{index}]")),
                Segment::Map { key } => push_member(&mut param, key),
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        // An unknown member is met at its name, which the path has then.
        let is_told = matches!(last, Some(Segment::Map { key }) if *key == self.param);
        if !self.param.is_empty() && !is_told {
            push_member(&mut param, &self.param);
        }
        Self { param, ..self }
    }
}

fn push_member(param: &mut String, name: &str) {
    if !param.is_empty() && !name.is_empty() {
        param.push('.');
    }
    param.push_str(name);
}

/// The text of a caller as a message repeats it.
pub(super) fn echo(text: &str) -> String {
    match text.char_indices().nth(ECHO_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let param = echo(&self.param);
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

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let known = match expected {
            [] => "none is taken here".to_owned(),
            _ => format!("known: {}", expected.join(", ")),
        };
        Self::invalid(format!("is not a known parameter; {known}")).of_member(field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::missing().of_member(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::invalid("is given more than once").of_member(field)
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        match fault.kind {
            _ if fault.param.is_empty() => Self::invalid_request(fault.to_string()),
            Kind::Missing => Self::missing(fault.param),
            Kind::Invalid => {
                let message = fault.to_string();
                Self::invalid(fault.param, message)
            }
        }
    }
}
