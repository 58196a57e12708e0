//! Which addresses are asked.
//!
//! An organization that could have Lessor ask any address would reach what only Lessor's own network
//! does: databases, other services, and the cloud's metadata. So what a URL shows is judged when it is
//! set, and what its name stands for each time that it is asked; and the address that was judged is the
//! one that is connected to.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

/// Why a URL is not asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ForbiddenTarget(&'static str);

/// Where requests may go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Targets {
    /// Whether loopback is asked too, also by plain HTTP: for development.
    pub allow_loopback: bool,
}

/// What a URL's host is.
enum Host {
    Name(String),
    Address(IpAddr),
}

impl Targets {
    /// Judges what the URL shows: scheme, user info, an address in any notation, and this machine's own
    /// name. What a name stands for is judged when it is asked.
    ///
    /// # Errors
    /// [`ForbiddenTarget`], which says what is wrong with it.
    pub fn check(self, url: &str) -> Result<(), ForbiddenTarget> {
        self.parse(url).map(drop)
    }

    fn parse(self, url: &str) -> Result<(Url, Host), ForbiddenTarget> {
        let url = Url::parse(url).map_err(|_| ForbiddenTarget("must be an absolute https URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ForbiddenTarget("must name no user and no password"));
        }
        // The parser reads every notation of an address: 127.1, 0x7f000001, 2130706433.
        let host = url
            .host_str()
            .filter(|host| !host.is_empty())
            .ok_or(ForbiddenTarget("must be an absolute https URL"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = match host.parse::<IpAddr>() {
            Ok(address) => Host::Address(address),
            Err(_) => Host::Name(host.trim_end_matches('.').to_ascii_lowercase()),
        };
        let is_loopback = match &host {
            Host::Address(address) => is_loopback(*address),
            Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        };
        if is_loopback {
            let is_http = matches!(url.scheme(), "http" | "https");
            return if self.allow_loopback && is_http {
                Ok((url, host))
            } else {
                Err(ForbiddenTarget("must not be of this machine"))
            };
        }
        if url.scheme() != "https" {
            return Err(ForbiddenTarget("must be an absolute https URL"));
        }
        if let Host::Address(address) = &host
            && !is_public(*address)
        {
            return Err(ForbiddenTarget("must be of a public address"));
        }
        Ok((url, host))
    }

    /// The URL, its name, and the addresses that may be connected to: none of them is looked up again.
    pub(super) async fn resolve(self, url: &str) -> Result<Target, ResolveError> {
        self.resolve_by(url, look_up).await
    }

    /// [`resolve`](Self::resolve) by whoever looks names up.
    async fn resolve_by<F>(
        self,
        url: &str,
        look_up: impl FnOnce(String, u16) -> F,
    ) -> Result<Target, ResolveError>
    where
        F: Future<Output = io::Result<Vec<SocketAddr>>>,
    {
        let (url, host) = self.parse(url)?;
        let port = url.port_or_known_default().unwrap_or(443);
        let (name, addresses) = match host {
            Host::Address(address) => (None, vec![SocketAddr::new(address, port)]),
            Host::Name(name) => {
                let is_ours = name == "localhost" || name.ends_with(".localhost");
                let found = look_up(name, port).await?;
                // One that is refused refuses all: which is asked would be chance.
                let is_allowed = |address: &SocketAddr| {
                    if is_ours {
                        is_loopback(address.ip())
                    } else {
                        is_public(address.ip())
                    }
                };
                if found.is_empty() || !found.iter().all(is_allowed) {
                    return Err(ForbiddenTarget("stands for an address that is not asked").into());
                }
                (url.host_str().map(str::to_owned), found)
            }
        };
        Ok(Target {
            url,
            name,
            addresses,
        })
    }
}

/// What the system says that a name stands for.
async fn look_up(name: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found = tokio::net::lookup_host((name.as_str(), port)).await?;
    Ok(found.collect())
}

/// Where a request goes.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) url: Url,
    /// The name that the addresses are of; none where the URL has an address.
    pub(super) name: Option<String>,
    pub(super) addresses: Vec<SocketAddr>,
}

/// Why it is not known where a request goes.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResolveError {
    #[error(transparent)]
    Forbidden(#[from] ForbiddenTarget),
    #[error("its name could not be looked up")]
    Lookup(#[from] io::Error),
}

/// Whether the address is this machine's own, in whatever form.
fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => {
            address.is_loopback()
                || address
                    .to_ipv4_mapped()
                    .is_some_and(|mapped| mapped.is_loopback())
        }
    }
}

/// Networks of IPv4 that are nobody's in public, by the registry of RFC 6890 and its successors.
const RESERVED_V4: [(Ipv4Addr, u8); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Where clouds keep their metadata.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Where one of them has it besides, at an address that is public by its number.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    (Ipv4Addr::new(255, 255, 255, 255), 32),
];

/// Networks of IPv6 that are nobody's in public, or stand for addresses of IPv4.
const RESERVED_V6: [(Ipv6Addr, u8); 15] = [
    // Unspecified, loopback, and the addresses of IPv4 that were compatible once.
    (Ipv6Addr::UNSPECIFIED, 96),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96),
    // NAT64, the well-known prefix and the local one.
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64),
    // Teredo and the other special networks of 2001::/23.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16),
    // Unique local, link-local, site-local.
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
    // IPv4-translated.
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96),
];

/// Whether the address is one that anybody may ask.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let bits = u32::from(address);
            !RESERVED_V4.iter().any(|(network, length)| {
                let ignored = 32_u8.saturating_sub(*length);
                let mask = u32::MAX.checked_shl(ignored.into()).unwrap_or(0);
                bits & mask == u32::from(*network)
            })
        }
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            !RESERVED_V6.iter().any(|(network, length)| {
                let ignored = 128_u8.saturating_sub(*length);
                let mask = u128::MAX.checked_shl(ignored.into()).unwrap_or(0);
                bits & mask == u128::from(*network)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: Targets = Targets {
        allow_loopback: false,
    };
    const LOOSE: Targets = Targets {
        allow_loopback: true,
    };

    #[test]
    fn what_is_not_public_is_not_asked() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "168.63.129.16",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "168.63.129.15",
            "168.63.129.17",
            "172.15.255.255",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.255.255",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001:81b::200e",
            "2001:4860:4860::8888",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn what_a_url_shows_is_judged_at_once() {
        for (url, strict, loose) in [
            ("https://decide.example.com/credit", true, true),
            ("https://decide.example.com:8443/?a=b", true, true),
            ("https://8.8.8.8/", true, true),
            ("https://[2606:4700:4700::1111]/", true, true),
            ("http://decide.example.com/", false, false),
            ("ftp://decide.example.com/", false, false),
            ("decide.example.com", false, false),
            ("https://", false, false),
            ("https://user@decide.example.com/", false, false),
            ("https://user:word@decide.example.com/", false, false),
            ("https://:word@decide.example.com/", false, false),
            ("http://8.8.8.8/", false, false),
            ("https://10.0.0.1/", false, false),
            ("https://169.254.169.254/latest/meta-data", false, false),
            ("https://[fd00:ec2::254]/", false, false),
            ("https://[::ffff:10.0.0.1]/", false, false),
            ("https://[64:ff9b::10.0.0.1]/", false, false),
            // Addresses in other notations: 10.0.0.1.
            ("https://0x0a000001/", false, false),
            ("https://167772161/", false, false),
            ("https://012.0.0.1/", false, false),
            ("https://10.1/", false, false),
            ("https://0.0.0.0/", false, false),
            ("https://[::]/", false, false),
            // This machine.
            ("https://localhost/", false, true),
            ("http://localhost:8080/", false, true),
            ("http://LOCALHOST./", false, true),
            ("http://a.localhost/", false, true),
            ("http://127.0.0.1:9/", false, true),
            ("http://127.1/", false, true),
            ("http://2130706433/", false, true),
            ("http://0x7f.1/", false, true),
            ("http://[::1]/", false, true),
            ("http://[::ffff:127.0.0.1]/", false, true),
            ("ftp://localhost/", false, false),
            ("http://user@localhost/", false, false),
        ] {
            assert_eq!(STRICT.check(url).is_ok(), strict, "{url}");
            assert_eq!(LOOSE.check(url).is_ok(), loose, "{url} for development");
        }
    }

    /// Every kind of address that is refused, by which a name may have been given.
    const KINDS: [(&str, &str); 24] = [
        ("unspecified", "0.0.0.0"),
        ("this network", "0.8.8.8"),
        ("private", "10.0.0.1"),
        ("private, of 172.16/12", "172.20.0.1"),
        ("private, of 192.168/16", "192.168.0.1"),
        ("carrier-grade NAT", "100.100.100.200"),
        ("loopback", "127.0.0.1"),
        ("link-local, metadata", "169.254.169.254"),
        ("protocol assignments, metadata", "192.0.0.192"),
        ("documentation", "203.0.113.1"),
        ("benchmarks", "198.18.0.1"),
        ("multicast", "224.0.0.1"),
        ("reserved", "250.0.0.1"),
        ("unspecified v6", "::"),
        ("loopback v6", "::1"),
        ("compatible", "::8.8.8.8"),
        ("mapped", "::ffff:8.8.8.8"),
        ("NAT64", "64:ff9b::808:808"),
        ("local NAT64", "64:ff9b:1::808:808"),
        ("6to4", "2002:808:808::1"),
        ("Teredo", "2001:0:4136:e378::1"),
        ("unique local, metadata", "fd00:ec2::254"),
        ("link-local v6", "fe80::1"),
        ("site-local", "fec0::1"),
    ];

    async fn resolved(targets: Targets, url: &str, found: &[&str]) -> Result<Target, ResolveError> {
        let found: Vec<IpAddr> = found.iter().map(|ip| ip.parse().unwrap()).collect();
        targets
            .resolve_by(url, async |_, port| {
                let addresses = found.into_iter();
                Ok(addresses.map(|ip| SocketAddr::new(ip, port)).collect())
            })
            .await
    }

    #[tokio::test]
    async fn one_address_that_is_refused_refuses_the_name() {
        const URL: &str = "https://hooks.example.com/in";
        for targets in [STRICT, LOOSE] {
            for (kind, address) in KINDS {
                for found in [
                    &[address][..],
                    &["8.8.8.8", address],
                    &[address, "2606:4700:4700::1111"],
                    &["8.8.8.8", "1.1.1.1", address],
                ] {
                    let refused = resolved(targets, URL, found).await;
                    let is_refused = matches!(refused, Err(ResolveError::Forbidden(_)));
                    assert!(is_refused, "{kind}: {found:?}");
                }
                let literal: IpAddr = address.parse().unwrap();
                let url = match literal {
                    IpAddr::V4(literal) => format!("https://{literal}/in"),
                    IpAddr::V6(literal) => format!("https://[{literal}]/in"),
                };
                assert!(STRICT.check(&url).is_err(), "{kind}: {url}");
            }
            assert!(resolved(targets, URL, &[]).await.is_err(), "no address");
        }
        let public = ["8.8.8.8", "2606:4700:4700::1111"];
        let target = resolved(STRICT, URL, &public).await.unwrap();
        let expected = ["8.8.8.8:443", "[2606:4700:4700::1111]:443"].map(|it| it.parse().unwrap());
        assert_eq!(target.addresses, expected, "all of them, in their order");
        assert_eq!(target.name.as_deref(), Some("hooks.example.com"));
    }

    #[tokio::test]
    async fn this_machine_s_name_stands_for_this_machine_alone() {
        const URL: &str = "http://localhost:8080/in";
        assert!(resolved(LOOSE, URL, &["127.0.0.1", "::1"]).await.is_ok());
        for found in [&["8.8.8.8"][..], &["127.0.0.1", "10.0.0.1"]] {
            assert!(resolved(LOOSE, URL, found).await.is_err(), "{found:?}");
        }
    }

    #[tokio::test]
    async fn names_are_looked_up_once_and_judged() {
        let target = LOOSE.resolve("http://localhost:7/x").await.unwrap();
        assert_eq!(target.name.as_deref(), Some("localhost"));
        assert!(!target.addresses.is_empty());
        for address in target.addresses {
            assert!(
                is_loopback(address.ip()) && address.port() == 7,
                "{address}"
            );
        }
        assert!(STRICT.resolve("http://localhost:7/x").await.is_err());
        let literal = STRICT.resolve("https://8.8.8.8/").await.unwrap();
        assert_eq!(literal.name, None);
        assert_eq!(literal.addresses, ["8.8.8.8:443".parse().unwrap()]);
    }
}
