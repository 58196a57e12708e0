//! The limits: the least that could answer the same bytes. A process of its own, so that what it takes of the
//! processor can be told from what whoever measures takes.

mod records;
mod replay;
mod select;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use actix_web::web::{self, Bytes, Data};
use actix_web::{App, HttpResponse, HttpServer, error};
use anyhow::Context as _;

use self::replay::Replay;
use self::select::{Prices, Select};
use crate::spec::{Route, Spec, Work};

/// Connections to the database of each thread, for each of the two kinds of limits: as many as the server has for
/// reads.
const CONNECTIONS: usize = 5;
/// Threads, as the server has on the same machine.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

struct Limit {
    content_type: String,
    body: Bytes,
    work: Ready,
}

enum Ready {
    Nothing,
    Select(Select),
    Price(Select, Prices),
    Replay(Replay),
}

struct Pools {
    rows: select::Pool,
    statements: replay::Pool,
}

impl Limit {
    fn new(route: Route) -> anyhow::Result<Self> {
        let work = match route.work {
            Work::Nothing => Ready::Nothing,
            Work::Select { sql, binds } => Ready::Select(Select::new(&sql, binds)),
            Work::Price { sql, binds, cards } => {
                Ready::Price(Select::new(&sql, vec![binds]), Prices::new(&cards)?)
            }
            Work::Replay(script) => Ready::Replay(Replay::new(script)),
        };
        Ok(Self {
            content_type: route.content_type,
            body: route.body.into(),
            work,
        })
    }

    async fn work(&self, number: usize, pools: &Pools) -> anyhow::Result<()> {
        match &self.work {
            Ready::Nothing => Ok(()),
            Ready::Select(select) => select.run(number, &pools.rows).await.map(drop),
            Ready::Price(select, prices) => prices.of(&select.run(number, &pools.rows).await?),
            Ready::Replay(replay) => replay.run(number, &pools.statements).await,
        }
    }
}

async fn answer(
    path: web::Path<(usize, usize)>,
    limits: Data<Vec<Limit>>,
    pools: Data<Pools>,
) -> actix_web::Result<HttpResponse> {
    let (route, number) = path.into_inner();
    let limit = limits
        .get(route)
        .ok_or_else(|| error::ErrorNotFound("no such limit"))?;
    let worked = limit.work(number, &pools).await;
    worked.map_err(|why| error::ErrorInternalServerError(format!("{why:#}")))?;
    Ok(HttpResponse::Ok()
        .content_type(limit.content_type.as_str())
        .body(limit.body.clone()))
}

/// Serves the limits that the file tells of, until standard input ends.
///
/// # Errors
/// The file does not tell of limits, or no port is free.
pub(crate) fn serve(spec: &Path) -> anyhow::Result<()> {
    let spec: Spec = serde_json::from_reader(File::open(spec)?)?;
    let limits: Vec<Limit> = spec
        .routes
        .into_iter()
        .map(Limit::new)
        .collect::<anyhow::Result<_>>()?;
    let limits = Data::new(limits);
    let opening = spec.opening;
    let database = spec.database;
    actix_web::rt::System::new().block_on(async move {
        // Pools are each thread's own: that serves half as many again as one for all.
        let server = HttpServer::new(move || {
            let (limits, database, opening) = (limits.clone(), database.clone(), opening.clone());
            App::new()
                .app_data(limits)
                .data_factory(move || {
                    let (database, opening) = (database.clone(), opening.clone());
                    async move {
                        anyhow::Ok(Pools {
                            rows: select::pool(&database, CONNECTIONS)?,
                            statements: replay::pool(&database, &opening, CONNECTIONS)?,
                        })
                    }
                })
                .route("/{route}/{number}", web::get().to(answer))
        });
        let server = server.workers(threads()).bind("127.0.0.1:0")?;
        let address = *server.addrs().first().context("no address")?;
        let mut said = std::io::stdout();
        writeln!(said, "{address}")?;
        said.flush()?;
        let server = server.run();
        let handle = server.handle();
        std::thread::spawn(move || {
            // Whoever measures has ended.
            drop(std::io::stdin().read_to_end(&mut Vec::new()));
            drop(handle.stop(false));
            std::process::exit(0);
        });
        server.await?;
        anyhow::Ok(())
    })
}
