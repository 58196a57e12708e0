//! What handlers work with: the ports, and what is kept between requests.

pub(crate) mod editions;
pub mod feeds;
pub(crate) mod journal;
pub mod price_revisions;
pub mod pricing_summaries;
pub(crate) mod remembered;
pub mod replica;
mod sender;
pub mod settle;
pub(crate) mod totals;

use std::fmt;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;
use lessor_adapters::outbound::Targets;
use lessor_adapters::postgres::LastCommit;
use lessor_adapters::processor::signature::{SignatureError, WebhookSecret, verify};
use lessor_adapters::processor::standard_webhooks::SharedSecret;
use lessor_domain::access::Mode;
use lessor_domain::mail::MailModes;
use lessor_domain::ports::Database;
use lessor_domain::time::Timestamp;
use lessor_domain::workers::Engine;
use quick_cache::sync::Cache;

use crate::auth::addresses::{AddressLimits, TrustedProxies, Unproven};
use crate::auth::buckets::Standing;
use crate::auth::cache::{KeyCache, RateLimits};
use crate::auth::links::CheckoutPageLinks;
use crate::auth::server_key::ServerKeys;
use crate::http::error::ApiError;
use crate::http::mutation::Mutations;
use crate::http::public_url::PublicUrl;
use crate::state::editions::Editions;
use crate::state::feeds::Feeds;
use crate::state::price_revisions::PriceRevisions;
use crate::state::pricing_summaries::SummaryCache;
use crate::state::remembered::Remembered;
use crate::state::replica::Replica;
use crate::state::totals::{CheckoutTotals, LongLists, ProductCounts, ProductTotals, TOTALS};

pub(crate) use self::sender::Sender;

/// Where Stripe's own pages are: for payments and cards, and for identities.
pub const PROVIDER_PAGES: [&str; 2] = ["https://checkout.stripe.com", "https://verify.stripe.com"];

/// What an operator chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSettings {
    /// Where clients reach the service.
    pub public_url: PublicUrl,
    /// The most requests of one secret key in a second, twice as many at once; none: as many as there are.
    pub rate_limit: Option<NonZeroU32>,
    /// The most requests of one address in a second that show no secret key and no signature, five times as
    /// many at once; none: as many as there are.
    pub address_rate_limit: Option<NonZeroU32>,
    /// Whose word is taken for the address of a client.
    pub trusted_proxies: TrustedProxies,
    /// How long a key that was looked up is taken for unchanged: a revoked key still opens for this
    /// long.
    pub key_cache_ttl: Duration,
    /// How long a pricing summary is kept, unless a price changes before.
    pub summary_cache_ttl: Duration,
    /// What the addresses of checkout pages are derived under; the same for every process.
    pub server_keys: ServerKeys,
    /// Whose tracking messages are believed; several while one is being replaced.
    pub tracking_secrets: Vec<SharedSecret>,
    /// Whose processor messages are believed.
    pub processor_secrets: ProcessorSecrets,
    /// Whose reports of mails are believed; several while one is being replaced.
    pub mail_secrets: Vec<SharedSecret>,
    /// In which modes mails are sent.
    pub mail: MailModes,
    /// The origins of the pages where customers pay and prove who they are: the checkout's page may lead
    /// there.
    pub provider_pages: Vec<String>,
    /// Which URLs of organizations are asked.
    pub targets: Targets,
}

/// What the processor signs its messages with; several of a mode while one is being replaced. A
/// secret opens its own mode alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessorSecrets {
    /// Of live mode.
    pub live: Vec<WebhookSecret>,
    /// Of sandbox mode.
    pub sandbox: Vec<WebhookSecret>,
}

impl ProcessorSecrets {
    /// The mode whose secret signed the body.
    ///
    /// # Errors
    /// [`SignatureError`] says why the message is not to be believed.
    pub fn mode_of(
        &self,
        body: &[u8],
        header: &str,
        now: Timestamp,
    ) -> Result<Mode, SignatureError> {
        match verify(body, header, &self.live, now) {
            Err(SignatureError::Mismatch) => {
                verify(body, header, &self.sandbox, now).map(|()| Mode::Sandbox)
            }
            verified => verified.map(|()| Mode::Live),
        }
    }
}

impl StateSettings {
    /// No rate limits, no proxies, keys looked up anew after 2 seconds, summaries computed anew after 5 minutes,
    /// no messages of carriers or the processor, no mails, no URLs on this machine.
    #[must_use]
    pub fn new(public_url: PublicUrl, server_keys: ServerKeys) -> Self {
        Self {
            public_url,
            rate_limit: None,
            address_rate_limit: None,
            trusted_proxies: TrustedProxies::default(),
            key_cache_ttl: Duration::from_secs(2),
            summary_cache_ttl: Duration::from_secs(300),
            server_keys,
            tracking_secrets: Vec::new(),
            processor_secrets: ProcessorSecrets {
                live: Vec::new(),
                sandbox: Vec::new(),
            },
            mail_secrets: Vec::new(),
            mail: MailModes::default(),
            provider_pages: PROVIDER_PAGES.map(str::to_owned).into(),
            targets: Targets::default(),
        }
    }
}

/// Everything a handler works with. App data; cloning shares it.
///
/// Handlers do not use it themselves but through a [`Call`](crate::idempotency::Call), which also
/// knows who asks.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

/// What an [`AppState`] shares.
#[derive(Clone)]
pub struct Shared {
    /// The ports. Work that changes anything uses them on the runtime of [`Mutations`].
    pub engine: Engine,
    /// What reads go to: the same stores, by connections of the worker's own where there are any.
    pub reads: Arc<dyn Database>,
    /// What answers lists of who says how much it has to know, where there is one.
    pub replica: Option<Replica>,
    /// Where work that changes anything runs.
    pub mutations: Mutations,
    /// What an operator chose.
    pub settings: Arc<StateSettings>,
    /// API keys that were looked up a moment ago.
    pub keys: KeyCache,
    /// How many requests each secret key may make.
    pub limits: Option<RateLimits>,
    /// How many requests each address may make that show no secret key and no signature.
    pub address_limits: Option<AddressLimits>,
    /// Pricing summaries.
    pub summaries: SummaryCache,
    /// Which of them are true still.
    pub prices: PriceRevisions,
    /// What reads were answered.
    pub(crate) remembered: Remembered,
    /// Whether they are true still.
    pub(crate) editions: Editions,
    /// How many products long lists have.
    pub(crate) product_totals: ProductTotals,
    /// How many others had when they were last counted.
    pub(crate) product_counts: ProductCounts,
    /// How many checkouts there are where there are many.
    pub(crate) checkout_totals: CheckoutTotals,
    /// The lists of audit events, checkouts and customers that are long.
    pub(crate) long_lists: LongLists,
    /// The addresses of checkout pages.
    pub pages: CheckoutPageLinks,
    /// Who waits for events.
    pub feeds: Feeds,
}

impl AppState {
    /// A state over these ports. Reads and changes share the database.
    #[must_use]
    pub fn new(engine: Engine, mutations: Mutations, settings: StateSettings) -> Self {
        Self(Arc::new(Shared {
            reads: Arc::clone(&engine.database),
            replica: None,
            engine,
            mutations,
            keys: KeyCache::new(settings.key_cache_ttl),
            limits: settings.rate_limit.map(RateLimits::per_second),
            address_limits: settings.address_rate_limit.map(|requests| {
                AddressLimits::per_second(requests, settings.trusted_proxies.clone())
            }),
            summaries: SummaryCache::new(settings.summary_cache_ttl),
            prices: PriceRevisions::default(),
            remembered: Remembered::new(),
            editions: Editions::new(),
            product_totals: ProductTotals::default(),
            product_counts: Arc::new(Cache::new(TOTALS)),
            checkout_totals: CheckoutTotals::default(),
            long_lists: LongLists::default(),
            pages: CheckoutPageLinks::new(
                settings.server_keys.clone(),
                settings.public_url.clone(),
            ),
            settings: Arc::new(settings),
            feeds: Feeds::default(),
        }))
    }

    /// For what is told apart of it: the others keep theirs.
    pub(crate) fn own(&mut self) -> &mut Shared {
        Arc::make_mut(&mut self.0)
    }

    /// The same state, whose feeds are told of by whoever writes events.
    #[must_use]
    pub fn following(mut self, feeds: Feeds) -> Self {
        self.own().feeds = feeds;
        self
    }

    /// The same state, which is told when prices change.
    #[must_use]
    pub fn hearing_of(mut self, prices: PriceRevisions) -> Self {
        self.own().prices = prices;
        self
    }

    /// The same state, with a database of its own for reads: a connection belongs to the runtime on
    /// which it was opened, and each worker has one. Call it inside of the closure that builds a
    /// worker's app.
    #[must_use]
    pub fn reading_from(mut self, reads: Arc<dyn Database>) -> Self {
        self.own().reads = reads;
        self
    }

    /// The same state, with a replica for lists. Its connections belong to the runtime on which they
    /// were opened, too.
    #[must_use]
    pub fn listing_from(mut self, replica: Replica) -> Self {
        self.own().replica = Some(replica);
        self
    }

    /// The same state for a request whose commits are noted, where somebody wants to know of them.
    pub(crate) fn noting(mut self, last_commit: Option<LastCommit>) -> Self {
        if let (Some(replica), Some(last_commit)) = (&self.replica, last_commit) {
            let database = replica.noted(last_commit);
            self.own().engine.database = database;
        }
        self
    }

    /// Counts a request for its address, where that is limited.
    ///
    /// # Errors
    /// 429 when it is one too many.
    pub(crate) fn count_address(
        &self,
        request: &HttpRequest,
    ) -> Result<Option<Standing>, ApiError> {
        match (&self.address_limits, request.peer_addr()) {
            (Some(limits), Some(peer)) => limits.check(peer.ip(), request.headers()).map(Some),
            _ => Ok(None),
        }
    }

    /// Counts a request for its address until it shows that it may be made, where that is limited.
    pub(crate) fn unproven(&self, request: &HttpRequest) -> Unproven {
        match (&self.address_limits, request.peer_addr()) {
            (Some(limits), Some(peer)) => limits.unproven(peer.ip(), request.headers()),
            _ => Unproven::default(),
        }
    }

    /// The state of the app that serves the request.
    pub(crate) fn of(request: &HttpRequest) -> Result<&Self, ApiError> {
        request
            .app_data::<Self>()
            .ok_or_else(|| ApiError::internal("the app has no AppState among its data"))
    }
}

impl Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl fmt::Debug for AppState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppState")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use lessor_adapters::processor::signature::sign;

    use super::*;

    #[test]
    fn a_secret_opens_its_own_mode_alone() {
        let now = Timestamp::UNIX_EPOCH;
        let secret = |text: &str| WebhookSecret::new(text).unwrap();
        let secrets = ProcessorSecrets {
            live: vec![secret("old"), secret("new")],
            sandbox: vec![secret("test")],
        };
        for (signer, mode) in [
            ("old", Ok(Mode::Live)),
            ("new", Ok(Mode::Live)),
            ("test", Ok(Mode::Sandbox)),
            ("other", Err(SignatureError::Mismatch)),
        ] {
            let header = sign(b"{}", &[secret(signer)], now);
            assert_eq!(secrets.mode_of(b"{}", &header, now), mode, "{signer}");
        }
        let header = sign(b"{}", &[secret("test")], now);
        let late = now + TimeDelta::hours(1);
        assert_eq!(
            secrets.mode_of(b"{}", &header, late),
            Err(SignatureError::OutOfTime)
        );
        assert_eq!(
            secrets.mode_of(b"{}", "nonsense", now),
            Err(SignatureError::Malformed)
        );
        let none = ProcessorSecrets::default();
        assert_eq!(
            none.mode_of(b"{}", &header, now),
            Err(SignatureError::Mismatch)
        );
    }
}
