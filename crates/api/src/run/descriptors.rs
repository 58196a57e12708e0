//! How many descriptors the process may have: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors beside those of connections: files, logs, who is asked by the process, connections that are
/// being refused.
const OTHERS: u64 = 512;

/// Raises the limit as far as the process may, and warns where that is too little for so many connections.
///
/// The limit that processes begin with is 1,024 on most systems, for programs that know no higher one.
pub(crate) fn raise(connections: usize) {
    let needed = needed(connections);
    let limit = raised(needed).current;
    if is_below(limit, Some(needed)) {
        tracing::warn!(
            limit,
            needed,
            "the process may not have as many descriptors as its connections need: raise its hard limit \
             (`LimitNOFILE=` of systemd, `ulimit -Hn`), or lower LESSOR_MAX_CONNECTIONS"
        );
    }
}

/// How many descriptors go with so many connections.
fn needed(connections: usize) -> u64 {
    let connections = u64::try_from(connections).unwrap_or(u64::MAX);
    connections.saturating_add(OTHERS)
}

/// The most descriptors that a process may have which is started as this one was, and how many go with so
/// many connections; none where that is enough.
pub(crate) fn lacking(connections: usize) -> Option<(u64, u64)> {
    let needed = needed(connections);
    let most = getrlimit(Resource::Nofile).maximum?;
    (most < needed).then_some((most, needed))
}

/// The limit after it was raised, to `needed` at the least where that is allowed.
fn raised(needed: u64) -> Rlimit {
    let found = getrlimit(Resource::Nofile);
    // Where the maximum is none, some systems still refuse to go as high.
    for current in [found.maximum, Some(needed)] {
        let wanted = Rlimit { current, ..found };
        if is_below(found.current, current) && setrlimit(Resource::Nofile, wanted).is_ok() {
            return wanted;
        }
    }
    found
}

/// Whether a limit, of which there may be none, is below another.
const fn is_below(limit: Option<u64>, other: Option<u64>) -> bool {
    match (limit, other) {
        (Some(limit), Some(other)) => limit < other,
        (limit, other) => limit.is_some() && other.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_what_is_allowed() {
        let found = getrlimit(Resource::Nofile);
        let Some(most) = found.maximum else {
            return;
        };
        let current = Some(most.saturating_sub(1));
        setrlimit(Resource::Nofile, Rlimit { current, ..found }).unwrap();
        assert_eq!(raised(1).current, Some(most));
        assert_eq!(getrlimit(Resource::Nofile).current, Some(most));
        // There is nothing to be raised any more, and nothing is lowered.
        assert_eq!(raised(1).current, Some(most));
    }

    #[test]
    fn it_is_known_before_whether_that_is_enough() {
        let most = getrlimit(Resource::Nofile).maximum;
        let lacks = most.map(|most| (most, u64::MAX));
        assert_eq!(lacking(usize::MAX), lacks);
        let enough = most.is_none_or(|most| most >= OTHERS);
        assert_eq!(lacking(0).is_none(), enough);
    }

    #[test]
    fn no_limit_is_above_every_limit() {
        for (limit, other, below) in [
            (Some(1), Some(2), true),
            (Some(2), Some(2), false),
            (Some(2), None, true),
            (None, Some(2), false),
            (None, None, false),
        ] {
            assert_eq!(is_below(limit, other), below, "{limit:?} {other:?}");
        }
    }
}
