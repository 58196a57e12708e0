//! Where a request comes from, before it is known who sent it.

use std::net::IpAddr;

use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest};
use lessor_domain::audit::Origin;

use crate::http::request_id::RequestId;
use crate::state::AppState;

/// What a request tells of its sender, whoever that is: what every audit event of its work begins with.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    request_id: Option<RequestId>,
    /// The client's, where the peer is a proxy that is trusted.
    address: Option<IpAddr>,
    /// What the program calls itself.
    user_agent: Option<HeaderValue>,
}

impl Sender {
    /// The sender of the request.
    pub(crate) fn of(state: &AppState, request: &HttpRequest) -> Self {
        let proxies = &state.settings.trusted_proxies;
        Self {
            request_id: request.extensions().get::<RequestId>().cloned(),
            address: request
                .peer_addr()
                .map(|peer| proxies.client(peer.ip(), request.headers())),
            user_agent: request.headers().get(header::USER_AGENT).cloned(),
        }
    }

    /// What the request is called.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.request_id.as_ref().map(RequestId::as_str)
    }

    /// Where the request came from.
    pub(crate) const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// What the program that sent it calls itself.
    pub(crate) fn user_agent(&self) -> Option<&str> {
        self.user_agent.as_ref()?.to_str().ok()
    }

    /// Who does what the request asks for, with where it came from.
    pub(crate) fn named(&self, who: Origin) -> Origin {
        Origin {
            request_id: self.request_id().map(ToOwned::to_owned),
            address: self.address,
            ..who
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use ipnet::IpNet;

    use super::*;
    use crate::auth::addresses::TrustedProxies;
    use crate::testing::Bench;

    #[actix_web::test]
    async fn the_address_is_the_clients_where_its_proxy_is_trusted() {
        let mut state = Bench::new().await.state;
        let peer = "10.0.0.1:4711".parse().unwrap();
        let request = TestRequest::get()
            .peer_addr(peer)
            .insert_header(("X-Forwarded-For", "198.51.100.7"))
            .to_http_request();
        request.extensions_mut().insert(RequestId::generate());
        for (trusted, address) in [("192.0.2.0/24", "10.0.0.1"), ("10.0.0.0/8", "198.51.100.7")] {
            let network: IpNet = trusted.parse().unwrap();
            let mut settings = (*state.settings).clone();
            settings.trusted_proxies = TrustedProxies::new(vec![network]);
            state.own().settings = settings.into();
            let origin = Sender::of(&state, &request).named(Origin::SYSTEM);
            assert_eq!(origin.address, Some(address.parse().unwrap()), "{trusted}");
            assert!(origin.request_id.is_some_and(|id| id.starts_with("req_")));
            assert_eq!(origin.actor, Origin::SYSTEM.actor);
        }
        let unknown = TestRequest::get().to_http_request();
        let origin = Sender::of(&state, &unknown).named(Origin::SYSTEM);
        assert_eq!((origin.address, origin.request_id), (None, None));
    }
}
