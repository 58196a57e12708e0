//! Servers are restarted one after the other behind a proxy that sends requests to those that are ready.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lessor_adapters::testing::TestDatabase;
use lessor_tests::server::PATIENCE;
use lessor_tests::{Running, refuse};
use rustix::process::Signal;
use tokio::sync::watch;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{Instant, sleep, sleep_until};

use crate::Siege;
use crate::load::{Ask, Tally, shown};
use crate::report::Row;
use crate::scene::{Data, Scene};
use crate::shop::Shop;

const SERVERS: usize = 3;
/// Requests a second.
const RATE: f64 = 100.0;
/// How often the proxy asks who is ready, and for how long a server that stops waits for it to have asked.
const ASKS: Duration = Duration::from_millis(200);
const DRAIN: [&str; 2] = ["--drain-delay", "1s"];
/// Calm before, between and after.
const CALM: Duration = Duration::from_secs(2);

pub(crate) async fn measure(siege: Siege) -> Vec<Row> {
    let data = Data::Database(TestDatabase::create().await);
    let scene = Scene::on(siege.binary, data, &DRAIN);
    let shop = scene.shop().await;
    let mut servers: Vec<Running> = (0..SERVERS)
        .map(|_| scene.data.serve(siege.binary, &DRAIN))
        .collect();
    let proxy = Proxy::before(servers.iter().map(|server| shop.at(&server.url)));
    proxy.until_ready(SERVERS).await;
    let (over, ended) = watch::channel(false);
    let asking = tokio::spawn(ask(proxy.clone(), ended));
    for (place, server) in servers.iter_mut().enumerate() {
        sleep(CALM).await;
        server.signal(Signal::TERM);
        proxy.until_ready(SERVERS - 1).await;
        until_ended(server).await;
        *server = scene.data.serve(siege.binary, &DRAIN);
        proxy.put(place, shop.at(&server.url));
        proxy.until_ready(SERVERS).await;
    }
    sleep(CALM).await;
    over.send_replace(true);
    let tally = asking
        .await
        .unwrap_or_else(|error| refuse(&error.to_string()));
    let (lost, why) = tally.lost();
    vec![Row::new(
        &format!("rolling restart of {SERVERS} servers at {RATE:.0}/s"),
        format!(
            "{lost} of {} failed{why}; p99 {}, slowest {}",
            tally.done() + lost,
            shown(tally.answered_within(0.99)),
            shown(tally.answered_within(1.0))
        ),
        "0 failed".to_owned(),
        lost == 0,
    )]
}

/// Waits for the end of a server that was told to stop.
async fn until_ended(server: &mut Running) {
    let status = block_in_place(|| server.wait());
    assert_eq!(status, Some(0), "it stops in order");
}

/// Asks at the rate until it is over.
async fn ask(proxy: Proxy, ended: watch::Receiver<bool>) -> Tally {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for number in 0_u32.. {
        let due = Duration::from_secs_f64(f64::from(number) / RATE);
        sleep_until(begun + due).await;
        if *ended.borrow() {
            break;
        }
        let shop = proxy.next(number);
        running.spawn(async move {
            let answer = Ask::Both.once(&shop, number).await;
            (answer, begun.elapsed().saturating_sub(due))
        });
    }
    let mut tally = Tally::new();
    while let Some(ended) = running.join_next().await {
        let (answer, after) = ended.unwrap_or_else(|error| refuse(&error.to_string()));
        tally.add(answer, after);
    }
    tally
}

/// Sends each request to the next server that said it was ready when it was asked last. Nothing is sent twice.
#[derive(Clone)]
struct Proxy(Arc<Mutex<Vec<Place>>>);

struct Place {
    shop: Shop,
    is_ready: bool,
}

impl Proxy {
    fn before(shops: impl Iterator<Item = Shop>) -> Self {
        let places = shops.map(|shop| Place {
            shop,
            is_ready: false,
        });
        let proxy = Self(Arc::new(Mutex::new(places.collect())));
        for place in 0..proxy.places().len() {
            tokio::spawn(proxy.clone().watch(place));
        }
        proxy
    }

    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a server again and again.
    async fn watch(self, place: usize) {
        loop {
            let known = self.places().get(place).map(|it| it.shop.clone());
            let Some(shop) = known else { return };
            let is_ready = shop.is_ready().await;
            if let Some(place) = self.places().get_mut(place) {
                place.is_ready = is_ready;
            }
            sleep(ASKS).await;
        }
    }

    /// Puts another server in the place of one that is gone.
    fn put(&self, place: usize, shop: Shop) {
        if let Some(place) = self.places().get_mut(place) {
            *place = Place {
                shop,
                is_ready: false,
            };
        }
    }

    /// The shop at the server whose turn it is.
    ///
    /// # Panics
    /// When none is ready.
    fn next(&self, number: u32) -> Shop {
        let places = self.places();
        let ready: Vec<&Place> = places.iter().filter(|place| place.is_ready).collect();
        let turn = number as usize % ready.len().max(1);
        match ready.get(turn) {
            Some(place) => place.shop.clone(),
            None => refuse("no server is ready"),
        }
    }

    /// Waits until so many are.
    async fn until_ready(&self, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.places().iter().filter(|place| place.is_ready).count() != count {
            assert!(Instant::now() < deadline, "not {count} are ready");
            sleep(ASKS / 10).await;
        }
    }
}
