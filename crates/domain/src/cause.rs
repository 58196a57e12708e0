//! What an error came of.
//!
//! A port's error says what it means to the domain. What the library below the adapter
//! said is its cause, and is carried along: nobody decides by it, and who has to find
//! out what went wrong reads it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The error that another came of, of whatever library. Its source is followed as any
/// error's. Clones share it; two are equal when they say the same.
#[derive(Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// Takes an error, or a sentence where there is no error to tell of.
    #[must_use]
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into().into())
    }
}

impl Deref for Cause {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        chain(&*self.0).to_string() == chain(&*other.0).to_string()
    }
}

impl Eq for Cause {}

/// The error, with what was tried when it was met.
///
/// ```
/// use lessor_domain::cause::{chain, tried};
///
/// let error = tried("the rate cannot be read", "x".parse::<u8>().unwrap_err());
/// assert_eq!(chain(&*error).to_string(), "the rate cannot be read: invalid digit found in string");
/// ```
#[must_use]
pub fn tried(
    what: impl Into<Cow<'static, str>>,
    error: impl Into<Box<dyn Error + Send + Sync>>,
) -> Box<dyn Error + Send + Sync> {
    Box::new(Tried {
        what: what.into(),
        source: error.into(),
    })
}

#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct Tried {
    what: Cow<'static, str>,
    source: Box<dyn Error + Send + Sync>,
}

/// The error and all that it came of, in one line. A cause that its error names already
/// is not told twice.
#[must_use]
pub fn chain<'a>(error: &'a (dyn Error + 'static)) -> Chain<'a> {
    Chain(error)
}

/// See [`chain`].
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a>(&'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = self.0.to_string();
        f.write_str(&told)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            let text = error.to_string();
            if !told.contains(&text) {
                write!(f, ": {text}")?;
                told.push_str(&text);
            }
            next = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("connection refused")]
    struct Refused;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot connect: {0}")]
    struct TellsItsCause(#[source] Refused);

    #[test]
    fn a_chain_tells_every_cause_once() {
        let error = tried("the store cannot be reached", TellsItsCause(Refused));
        assert_eq!(
            chain(&*error).to_string(),
            "the store cannot be reached: cannot connect: connection refused"
        );
        assert_eq!(chain(&Refused).to_string(), "connection refused");
    }

    #[test]
    fn a_cause_is_the_error_itself() {
        let cause = Cause::new(Refused);
        assert!(cause.downcast_ref::<Refused>().is_some());
        assert_eq!(cause, Cause::new("connection refused"));
        assert_ne!(cause, Cause::new(TellsItsCause(Refused)));
    }
}
