//! How often a unit of work waits for the database, counted on the line.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lessor_adapters::postgres::{LastCommit, PgDatabase, PgSettings};
use lessor_domain::access::Mode;
use lessor_domain::checkout::Effect;
use lessor_domain::ports::{Database, IdGenerator as _, JobSubject, NewJob, Reach};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::time::timeout;

use crate::support::Shop;

/// Whoever has said nothing for so long waits for an answer.
const QUIET: Duration = Duration::from_millis(20);
/// A machine that is busy makes a client that has more to say look as if it waited: the fewest of so many
/// tries are what it takes.
const TRIES: usize = 7;

/// A line that hands on answers only to a client that waits for them, and counts how often it did.
struct Line {
    url: String,
    waits: Arc<AtomicUsize>,
}

impl Line {
    async fn to(database: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (login, place) = database.rsplit_once('@').unwrap();
        let (host, name) = place.rsplit_once('/').unwrap();
        let host = host.replace("%2F", "/").replace("%2f", "/");
        let waits = Arc::<AtomicUsize>::default();
        let line = Self {
            url: format!("{login}@{address}/{name}"),
            waits: Arc::clone(&waits),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (host, waits) = (host.clone(), Arc::clone(&waits));
                tokio::spawn(async move {
                    // A line that breaks is noticed at its ends.
                    drop(join(client, &host, &waits).await);
                });
            }
        });
        line
    }

    fn waits(&self) -> usize {
        self.waits.load(Ordering::SeqCst)
    }
}

async fn join(client: TcpStream, host: &str, waits: &AtomicUsize) -> io::Result<()> {
    client.set_nodelay(true)?;
    if host.starts_with('/') {
        let server = UnixStream::connect(format!("{host}/.s.PGSQL.5432")).await?;
        pass(client, server, waits).await
    } else {
        let server = TcpStream::connect(host).await?;
        server.set_nodelay(true)?;
        pass(client, server, waits).await
    }
}

async fn pass(
    client: TcpStream,
    server: impl AsyncRead + AsyncWrite,
    waits: &AtomicUsize,
) -> io::Result<()> {
    let (mut asked, mut told) = client.into_split();
    let (mut answers, mut questions) = tokio::io::split(server);
    let (mut question, mut answer) = ([0; 16_384], [0; 16_384]);
    let mut held: Vec<u8> = Vec::new();
    let mut has_asked = false;
    loop {
        tokio::select! {
            read = asked.read(&mut question) => {
                let length = read?;
                if length == 0 {
                    return Ok(());
                }
                questions.write_all(question.get(..length).unwrap_or_default()).await?;
                questions.flush().await?;
                has_asked = true;
            }
            read = answers.read(&mut answer) => {
                let length = read?;
                if length == 0 {
                    return Ok(());
                }
                held.extend_from_slice(answer.get(..length).unwrap_or_default());
            }
            () = quiet(), if !held.is_empty() => {
                if has_asked {
                    waits.fetch_add(1, Ordering::SeqCst);
                    has_asked = false;
                }
                told.write_all(&held).await?;
                held.clear();
            }
        }
    }
}

async fn quiet() {
    // Whatever comes meanwhile begins the time anew.
    drop(timeout(QUIET, std::future::pending::<()>()).await);
}

/// The fewest waits of the work, once its statements are prepared.
async fn fewest(line: &Line, work: impl AsyncFn()) -> usize {
    work().await;
    let mut fewest = usize::MAX;
    for _ in 0..TRIES {
        let before = line.waits();
        work().await;
        fewest = fewest.min(line.waits().saturating_sub(before));
    }
    fewest
}

#[tokio::test]
async fn whom_work_reaches_is_said_without_waiting() {
    let shop = Shop::open().await;
    let product = shop.product().await;
    let line = Line::to(shop.test.url()).await;
    let mut settings = PgSettings::new(&line.url);
    settings.max_connections = 1;
    let database = PgDatabase::new(&settings).unwrap();
    let organization = shop.organization.id;

    let read = fewest(&line, async || {
        let mut view = database.read(organization.into()).await.unwrap();
        let found = view.products().get(organization, product.id).await.unwrap();
        assert!(found.is_some());
    });
    assert_eq!(read.await, 1, "a read is one question");

    let alone = PgDatabase::new(&PgSettings {
        reads_alone: true,
        ..settings.clone()
    })
    .unwrap();
    for _ in 0..2 {
        // From the second on the session shows the organization's rows by itself.
        drop(alone.read(organization.into()).await.unwrap());
    }
    let read = fewest(&line, async || {
        let mut view = alone.read(organization.into()).await.unwrap();
        let found = view.products().get(organization, product.id).await.unwrap();
        assert!(found.is_some());
    });
    assert_eq!(
        read.await,
        1,
        "a read without a transaction is one question"
    );

    let nobodys = fewest(&line, async || {
        let mut view = database.read(Reach::Server).await.unwrap();
        let found = view.organizations().get(organization).await.unwrap();
        assert!(found.is_some());
    });
    assert_eq!(
        nobodys.await,
        1,
        "a read of what is nobody's is one question"
    );

    let written = fewest(&line, async || {
        let mut work = database.begin(organization.into()).await.unwrap();
        let found = work.products().get(organization, product.id).await.unwrap();
        assert!(found.is_some());
        work.commit().await.unwrap();
    });
    assert_eq!(
        written.await,
        3,
        "work is its begin, its question and its commit"
    );

    let updated = fewest(&line, async || {
        let mut work = database.begin(organization.into()).await.unwrap();
        let found = work.products().get(organization, product.id).await.unwrap();
        let mut found = found.unwrap();
        found.updated_at = shop.make.tick();
        work.products().update(&mut found).await.unwrap();
        work.commit().await.unwrap();
    });
    assert_eq!(
        updated.await,
        4,
        "an update is prepared once for each connection"
    );

    let pushed = fewest(&line, async || {
        let now = shop.make.tick();
        let job = NewJob {
            id: shop.make.ids().next(),
            effect: Effect::PushProduct,
            subject: JobSubject::Product(product.id),
            organization_id: organization,
            mode: Mode::Live,
            created_at: now,
            available_at: now,
            is_held: false,
            units: None,
        };
        let mut work = database.begin(organization.into()).await.unwrap();
        work.jobs().push(&[job]).await.unwrap();
        work.commit().await.unwrap();
    });
    assert_eq!(
        pushed.await,
        3,
        "so is a job's insert, for each number of them"
    );

    let noting = database.noting(LastCommit::default());
    let noted = fewest(&line, async || {
        let mut work = noting.begin(organization.into()).await.unwrap();
        let found = work.products().get(organization, product.id).await.unwrap();
        assert!(found.is_some());
        work.commit().await.unwrap();
    });
    assert_eq!(
        noted.await,
        3,
        "how far the log has come is told with the commit"
    );
}
