//! At which revision organizations' prices are, as far as that is heard.
//!
//! The database counts every change of what an organization's prices are made of, whoever makes it, and says so to whoever
//! listens. While it is listened, what was read is true until something is said, and nothing has to be asked.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lessor_domain::ids::OrganizationId;

/// For how long it is believed that nothing was said. A line that broke without a word is noticed later than this.
const BELIEVED: Duration = Duration::from_secs(10);

/// Revisions that were read, and whether anything was said since. Cloning it shares them.
#[derive(Clone, Default)]
pub struct PriceRevisions(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    is_heard: bool,
    /// Grows with whatever is said.
    said: u64,
    known: HashMap<OrganizationId, Known>,
}

struct Known {
    revision: i64,
    until: Instant,
}

/// That nothing was said until here: taken before a revision is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence(u64);

impl PriceRevisions {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on it is listened, or not any more. What was said before nobody knows.
    pub(crate) fn listening(&self, is_heard: bool) {
        let mut inner = self.inner();
        inner.said = inner.said.wrapping_add(1);
        inner.known.clear();
        inner.is_heard = is_heard;
    }

    /// The organization's prices have changed, or may have.
    pub(crate) fn changed(&self, organization: OrganizationId) {
        let mut inner = self.inner();
        inner.said = inner.said.wrapping_add(1);
        inner.known.remove(&organization);
    }

    /// The revision, where nothing was said since it was read.
    pub(crate) fn current(&self, organization: OrganizationId) -> Option<i64> {
        let inner = self.inner();
        let known = inner.known.get(&organization);
        known
            .filter(|known| Instant::now() < known.until)
            .map(|known| known.revision)
    }

    pub(crate) fn silence(&self) -> Silence {
        Silence(self.inner().said)
    }

    /// The revision was read after that silence began.
    pub(crate) fn read(&self, since: Silence, organization: OrganizationId, revision: i64) {
        let mut inner = self.inner();
        if inner.is_heard && inner.said == since.0 {
            let until = Instant::now() + BELIEVED;
            inner.known.insert(organization, Known { revision, until });
        }
    }
}

impl fmt::Debug for PriceRevisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PriceRevisions").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_known_until_something_is_said() {
        let (own, other) = (
            OrganizationId::new(1).unwrap(),
            OrganizationId::new(2).unwrap(),
        );
        let revisions = PriceRevisions::default();
        revisions.read(revisions.silence(), own, 1);
        assert_eq!(revisions.current(own), None, "nobody listens");

        revisions.listening(true);
        revisions.read(revisions.silence(), own, 1);
        assert_eq!(
            (revisions.current(own), revisions.current(other)),
            (Some(1), None)
        );

        revisions.changed(other);
        assert_eq!(
            revisions.current(own),
            Some(1),
            "what is said of others is of others"
        );
        let before = revisions.silence();
        revisions.changed(own);
        assert_eq!(revisions.current(own), None, "it changed");
        revisions.read(before, own, 1);
        assert_eq!(
            revisions.current(own),
            None,
            "it may have been read before it changed"
        );

        revisions.read(revisions.silence(), own, 2);
        for is_heard in [false, true] {
            let before = revisions.silence();
            revisions.listening(is_heard);
            revisions.read(before, own, 2);
            assert_eq!(
                revisions.current(own),
                None,
                "what was said before nobody knows"
            );
        }
    }
}
