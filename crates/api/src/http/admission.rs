//! How many connections there may be, in all and from one address.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;

/// The part of an IPv6 address that one subscriber has.
const SUBSCRIBER: u128 = !0 << 64;

/// How many connections there may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The most in all.
    pub total: usize,
    /// The most from one address, or from one network of 64 bits with IPv6, which one subscriber has.
    pub per_address: usize,
    /// Networks that may have as many as there are in all: those of proxies, who connect for others. So
    /// may this machine.
    pub uncapped: Vec<IpNet>,
}

impl Default for ConnectionLimits {
    /// 10,000 in all, and 2,048 from one address.
    fn default() -> Self {
        Self {
            total: 10_000,
            per_address: 2_048,
            uncapped: Vec::new(),
        }
    }
}

impl ConnectionLimits {
    /// What a peer's connections are counted under; none where they are not.
    fn counted(&self, peer: IpAddr) -> Option<IpAddr> {
        let address = peer.to_canonical();
        let is_uncapped = || self.uncapped.iter().any(|it| it.contains(&address));
        if address.is_loopback() || is_uncapped() {
            return None;
        }
        Some(match address {
            IpAddr::V6(it) => IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & SUBSCRIBER)),
            IpAddr::V4(_) => address,
        })
    }
}

/// Which limit a connection is beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Total,
    Address,
}

impl Refusal {
    /// The name that it is counted under.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Address => "address",
        }
    }
}

/// Who is connected. Cloning it shares what is counted.
#[derive(Clone, Debug)]
pub(crate) struct Connected(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: ConnectionLimits,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    /// None is 0.
    by_address: HashMap<IpAddr, usize>,
}

impl Connected {
    /// Nobody yet.
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self(Arc::new(Inner {
            limits,
            counts: Mutex::default(),
        }))
    }

    /// Counts a connection until what is returned is dropped.
    ///
    /// # Errors
    /// It is one too many.
    pub(crate) fn admit(&self, peer: Option<IpAddr>) -> Result<Admission, Refusal> {
        let address = peer.and_then(|peer| self.0.limits.counted(peer));
        let mut counts = self.counts();
        if counts.total >= self.0.limits.total {
            return Err(Refusal::Total);
        }
        if let Some(address) = address {
            let others = counts.by_address.get(&address).copied().unwrap_or(0);
            if others >= self.0.limits.per_address {
                return Err(Refusal::Address);
            }
            counts.by_address.insert(address, others.saturating_add(1));
        }
        counts.total = counts.total.saturating_add(1);
        Ok(Admission {
            connected: self.clone(),
            address,
        })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is counted.
#[derive(Debug)]
pub(crate) struct Admission {
    connected: Connected,
    address: Option<IpAddr>,
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut counts = self.connected.counts();
        counts.total = counts.total.saturating_sub(1);
        let Some(address) = self.address else {
            return;
        };
        if let Entry::Occupied(mut others) = counts.by_address.entry(address) {
            let left = others.get().saturating_sub(1);
            if left == 0 {
                others.remove();
            } else {
                others.insert(left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(connected: &Connected, peer: &str) -> Result<Admission, Refusal> {
        connected.admit(Some(peer.parse().unwrap()))
    }

    #[test]
    fn there_are_so_many_in_all() {
        let connected = Connected::new(ConnectionLimits {
            total: 2,
            ..ConnectionLimits::default()
        });
        let first = admit(&connected, "127.0.0.1").unwrap();
        let _second = connected.admit(None).unwrap();
        for peer in ["127.0.0.1", "192.0.2.1"] {
            assert_eq!(admit(&connected, peer).unwrap_err(), Refusal::Total);
        }
        drop(first);
        admit(&connected, "192.0.2.1").unwrap();
    }

    #[test]
    fn an_address_has_its_own_limit_and_a_subscriber_one() {
        let connected = Connected::new(ConnectionLimits {
            per_address: 2,
            ..ConnectionLimits::default()
        });
        for (peers, other) in [
            (["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"], "192.0.2.2"),
            (
                ["2001:db8::1", "2001:db8::2", "2001:db8::3"],
                "2001:db8:0:1::1",
            ),
        ] {
            let first = admit(&connected, peers[0]).unwrap();
            let _second = admit(&connected, peers[1]).unwrap();
            assert_eq!(admit(&connected, peers[2]).unwrap_err(), Refusal::Address);
            let _other = admit(&connected, other).unwrap();
            drop(first);
            let _third = admit(&connected, peers[2]).unwrap();
            assert_eq!(admit(&connected, peers[0]).unwrap_err(), Refusal::Address);
        }
        // Who has none is not remembered.
        assert_eq!(connected.counts().by_address.len(), 0);
        assert_eq!(connected.counts().total, 0);
    }

    #[test]
    fn this_machine_and_proxies_have_none_of_their_own() {
        let connected = Connected::new(ConnectionLimits {
            total: 6,
            per_address: 1,
            uncapped: vec!["10.0.0.0/8".parse().unwrap()],
        });
        let peers = [
            "127.0.0.1",
            "127.0.0.1",
            "::1",
            "::1",
            "10.1.2.3",
            "10.1.2.3",
        ];
        let admitted: Result<Vec<_>, _> = peers.iter().map(|it| admit(&connected, it)).collect();
        assert_eq!(admitted.map(|them| them.len()), Ok(6));
    }
}
