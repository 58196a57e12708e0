//! How many requests come from one address, and whose address that is.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName};
use ipnet::IpNet;

use super::buckets::{Buckets, Empty, Rate, Standing};
use crate::http::error::ApiError;
use crate::telemetry::RATE_LIMITED;

/// How many seconds' worth of requests may come at once.
const BURST: u32 = 5;
/// The part of an IPv6 address that one subscriber has.
const SUBSCRIBER: u128 = !0 << 64;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies whose word is taken for whom they speak for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Proxies of these networks.
    #[must_use]
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks.into())
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address of the client: of those that `X-Forwarded-For` names, the last that is no trusted
    /// proxy. What a client writes there itself stands before what its proxy adds, and is never looked
    /// at.
    #[must_use]
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut address = peer.to_canonical();
        let named: Vec<&str> = headers
            .get_all(FORWARDED_FOR)
            .flat_map(|value| value.to_str().unwrap_or_default().split(','))
            .collect();
        for name in named.into_iter().rev() {
            if !self.trusts(address) {
                break;
            }
            let Some(before) = address_of(name.trim()) else {
                break;
            };
            address = before.to_canonical();
        }
        address
    }
}

/// An address, with or without a port.
fn address_of(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<SocketAddr>().ok().map(|it| it.ip());
    text.parse().ok().or_else(with_port)
}

/// How many requests each address may make. Cloning it shares what was counted.
#[derive(Clone)]
pub struct AddressLimits {
    buckets: Arc<Buckets<IpAddr>>,
    /// What is looked up for addresses that asked too often, all of them together.
    lookups: Arc<Buckets<()>>,
    proxies: TrustedProxies,
}

impl AddressLimits {
    /// So many in a second, and five times as many at once.
    #[must_use]
    pub fn per_second(requests: NonZeroU32, proxies: TrustedProxies) -> Self {
        let rate = Rate::per_second(requests, BURST);
        Self {
            buckets: Arc::new(Buckets::new(rate)),
            lookups: Arc::new(Buckets::new(rate)),
            proxies,
        }
    }

    /// Counts a request of the peer, or of whom it speaks for.
    ///
    /// # Errors
    /// 429 when it is one too many.
    pub(crate) fn check(&self, peer: IpAddr, headers: &HeaderMap) -> Result<Standing, ApiError> {
        let subscriber = self.subscriber(peer, headers);
        self.buckets.take(&subscriber).map_err(refusal)
    }

    /// Counts a request of the peer, or of whom it speaks for, until it shows that it may be made.
    pub(crate) fn unproven(&self, peer: IpAddr, headers: &HeaderMap) -> Unproven {
        let subscriber = self.subscriber(peer, headers);
        Unproven(Some(Suspect {
            limits: self.clone(),
            subscriber,
            taken: self.buckets.take(&subscriber),
        }))
    }

    fn subscriber(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        match self.proxies.client(peer, headers) {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & SUBSCRIBER)),
            address @ IpAddr::V4(_) => address,
        }
    }
}

fn refusal(empty: Empty) -> ApiError {
    metrics::counter!(RATE_LIMITED, "by" => "address").increment(1);
    empty.refusal(ApiError::rate_limited_address)
}

impl fmt::Debug for AddressLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressLimits")
            .field("proxies", &self.proxies)
            .finish_non_exhaustive()
    }
}

/// A request that has not shown yet that it may be made. It counts for its address unless it does, so that
/// those who may are let in whatever others do at the same address.
#[derive(Debug, Default)]
pub(crate) struct Unproven(Option<Suspect>);

#[derive(Debug)]
struct Suspect {
    limits: AddressLimits,
    subscriber: IpAddr,
    taken: Result<Standing, Empty>,
}

impl Unproven {
    /// Whether it may be looked up what the request shows, which costs more than to refuse it. Addresses that
    /// asked too often share what one may: else made-up keys would be looked up without end.
    ///
    /// # Errors
    /// 429 when they asked too often together.
    pub(crate) fn may_look_up(&self) -> Result<(), ApiError> {
        match &self.0 {
            Some(Suspect {
                limits,
                taken: Err(empty),
                ..
            }) if limits.lookups.take(&()).is_err() => Err(refusal(*empty)),
            _ => Ok(()),
        }
    }

    /// What came of the request, once that is known: a 401 counts, and is a 429 where the address asked too
    /// often; nothing else counts.
    pub(crate) fn settle<T>(self, came_of_it: Result<T, ApiError>) -> Result<T, ApiError> {
        let Some(suspect) = self.0 else {
            return came_of_it;
        };
        match came_of_it {
            Err(error) if error.status() == StatusCode::UNAUTHORIZED => Err(match suspect.taken {
                Ok(standing) => standing.told_with(error),
                Err(empty) => refusal(empty),
            }),
            came_of_it => {
                if suspect.taken.is_ok() {
                    suspect.limits.buckets.give_back(&suspect.subscriber);
                }
                came_of_it
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn the_last_address_that_is_no_trusted_proxy_is_the_clients() {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|it| it.parse().unwrap());
        let proxies = TrustedProxies::new(networks.to_vec());
        for (peer, forwarded, client) in [
            ("203.0.113.9", &[] as &[&str], "203.0.113.9"),
            // Who is no proxy is not believed.
            ("203.0.113.9", &["198.51.100.1"], "203.0.113.9"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            // What the client wrote stands before what the proxy saw.
            ("10.0.0.1", &["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["1.1.1.1", "198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["198.51.100.1, 10.2.3.4"], "198.51.100.1"),
            ("10.0.0.1", &["10.9.9.9, 10.2.3.4"], "10.9.9.9"),
            ("::ffff:10.0.0.1", &["2001:db8::1"], "2001:db8::1"),
            ("fd00::1", &["[2001:db8::1]:443"], "2001:db8::1"),
            ("10.0.0.1", &["198.51.100.1:80"], "198.51.100.1"),
            ("10.0.0.1", &["198.51.100.1, nonsense"], "10.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append(FORWARDED_FOR, HeaderValue::from_static(value));
            }
            let found = proxies.client(peer.parse().unwrap(), &headers);
            assert_eq!(found.to_string(), client, "{peer} {forwarded:?}");
        }
        let mut headers = HeaderMap::new();
        headers.append(FORWARDED_FOR, HeaderValue::from_static("198.51.100.1"));
        let peer: IpAddr = "127.0.0.1".parse().unwrap();
        assert_eq!(TrustedProxies::default().client(peer, &headers), peer);
    }

    #[test]
    fn each_address_has_its_bucket_and_a_subscriber_one() {
        let one = NonZeroU32::new(1).unwrap();
        let limits = AddressLimits::per_second(one, TrustedProxies::default());
        let none = HeaderMap::new();
        let ask = |address: &str| limits.check(address.parse().unwrap(), &none);
        let mut left = 0;
        while ask("2001:db8::1").is_ok() {
            left += 1;
            assert!(left < 20, "nothing is refused");
        }
        assert!(left >= 5, "{left}");
        // Another address of the same subscriber is the same.
        let refused = ask("2001:db8::2").unwrap_err();
        assert_eq!(refused.status().as_u16(), 429);
        assert!(ask("2001:db8:0:1::1").is_ok());
        assert!(ask("192.0.2.1").is_ok());
    }
}
