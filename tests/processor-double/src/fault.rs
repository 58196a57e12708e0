//! What goes wrong, when a test wants it to.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Before or after the request took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum When {
    /// The request had no effect. Its idempotency key is as if it had not been used,
    /// unless the failure is stored.
    Before,
    /// The request had its effect, and its answer is kept for its idempotency key.
    After,
}

/// What goes wrong with a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Fault {
    /// An answer of this status, an error of the processor's own.
    Status {
        /// Such as 500.
        status: u16,
        /// Before or after the effect.
        when: When,
        /// Whether it is what the idempotency key answers from now on, as a 500 is.
        #[serde(default)]
        stored: bool,
        /// The header `Stripe-Should-Retry`.
        #[serde(default)]
        should_retry: Option<bool>,
    },
    /// 429, without effect.
    RateLimited {
        /// The header `Retry-After`, as it is: seconds or a date.
        #[serde(default)]
        retry_after: Option<String>,
    },
    /// No answer, for ever.
    Hang {
        /// Before or after the effect.
        when: When,
    },
    /// The connection is reset.
    Reset {
        /// Before or after the effect.
        when: When,
    },
    /// Half of the answer comes, then the connection ends. It had its effect.
    Cut,
    /// The request waits so long before it has its effect. Its key is in use.
    Slow {
        /// Milliseconds.
        millis: u64,
    },
    /// The request waits before its effect until [`Double::release`] is called. Its
    /// key is in use.
    ///
    /// [`Double::release`]: crate::Double::release
    Hold,
    /// Another answer altogether, without effect: a gateway's page, for one.
    Answer {
        /// The status.
        status: u16,
        /// Headers.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// The body, as it is.
        body: String,
    },
    /// The effect, and the answer with these members merged in. What is kept for the
    /// idempotency key is the answer without them.
    Merge {
        /// Members, groups member by member.
        members: Value,
    },
}

impl Fault {
    /// 500 without effect, stored: the key is used up by it.
    pub const FAILED: Self = Self::failed(When::Before);
    /// 500 after the effect, stored: it hides that it was done.
    pub const FAILED_AFTER: Self = Self::failed(When::After);

    const fn failed(when: When) -> Self {
        Self::Status {
            status: 500,
            when,
            stored: true,
            should_retry: None,
        }
    }

    /// An answer that nothing is kept of, as a gateway's is.
    #[must_use]
    pub const fn status(status: u16, when: When) -> Self {
        Self::Status {
            status,
            when,
            stored: false,
            should_retry: None,
        }
    }

    /// How the journal names it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::RateLimited { .. } => "rateLimited",
            Self::Hang { .. } => "hang",
            Self::Reset { .. } => "reset",
            Self::Cut => "cut",
            Self::Slow { .. } => "slow",
            Self::Hold => "hold",
            Self::Answer { .. } => "answer",
            Self::Merge { .. } => "merge",
        }
    }
}

/// Which requests a fault meets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Such as `POST`; every method when there is none.
    #[serde(default)]
    pub method: Option<String>,
    /// Such as `/v1/payment_intents/*/capture`: `*` is one segment, a final `**` all
    /// that follow.
    pub path: String,
    /// How many matching requests are let through first.
    #[serde(default)]
    pub skip: u32,
    /// How many requests it meets; all of them when there is none.
    #[serde(default)]
    pub times: Option<u32>,
    /// What goes wrong.
    pub fault: Fault,
}

impl Rule {
    /// The fault on the next request of this method and path.
    #[must_use]
    pub fn once(method: &str, path: &str, fault: Fault) -> Self {
        Self {
            times: Some(1),
            ..Self::always(method, path, fault)
        }
    }

    /// The fault on every request of this method and path.
    #[must_use]
    pub fn always(method: &str, path: &str, fault: Fault) -> Self {
        Self {
            method: (method != "*").then(|| method.to_owned()),
            path: path.to_owned(),
            skip: 0,
            times: None,
            fault,
        }
    }

    /// The fault so many times.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// The fault after so many requests that go well.
    #[must_use]
    pub const fn after(mut self, requests: u32) -> Self {
        self.skip = requests;
        self
    }

    fn fits(&self, method: &str, path: &str) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted == method) && matches(&self.path, path)
    }
}

/// The rules in force. The first that fits a request is the one that meets it.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Rule>);

impl Faults {
    pub(crate) fn add(&mut self, rule: Rule) {
        self.0.push(rule);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// What goes wrong with this request.
    pub(crate) fn meet(&mut self, method: &str, path: &str) -> Option<Fault> {
        let at = self.0.iter().position(|rule| rule.fits(method, path))?;
        let rule = &mut self.0[at];
        if rule.skip > 0 {
            rule.skip -= 1;
            return None;
        }
        let fault = rule.fault.clone();
        if let Some(times) = &mut rule.times {
            *times = times.saturating_sub(1);
            if *times == 0 {
                self.0.remove(at);
            }
        }
        Some(fault)
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    for wanted in pattern.split('/') {
        if wanted == "**" {
            return true;
        }
        match parts.next() {
            Some(part) if wanted == "*" || wanted == part => {}
            _ => return false,
        }
    }
    parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_segments() {
        for (pattern, path, fits) in [
            ("/v1/refunds", "/v1/refunds", true),
            ("/v1/refunds", "/v1/refunds/re_1", false),
            (
                "/v1/payment_intents/*/capture",
                "/v1/payment_intents/pi_1/capture",
                true,
            ),
            (
                "/v1/payment_intents/*",
                "/v1/payment_intents/pi_1/capture",
                false,
            ),
            ("/v1/**", "/v1/payment_intents/pi_1/capture", true),
            ("/v1/refunds/*", "/v1/refunds", false),
        ] {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn rules_are_used_up() {
        let mut faults = Faults::default();
        faults.add(Rule::once("POST", "/a", Fault::Cut).after(1).times(2));
        let met: Vec<_> = (0..5)
            .map(|_| faults.meet("POST", "/a").is_some())
            .collect();
        assert_eq!(met, [false, true, true, false, false]);
        assert_eq!(faults.meet("GET", "/a"), None);
    }
}
