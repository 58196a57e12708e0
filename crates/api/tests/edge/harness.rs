//! A real server on a port of its own, and clients that misbehave.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderMap;
use actix_web::middleware::{Next, from_fn};
use actix_web::web::Json;
use actix_web::{HttpResponse, get, post, put, web};
use lessor::http::budget::MemoryBudget;
use lessor::http::draining::Draining;
use lessor::http::error::{ApiError, DOCS_PATH};
use lessor::http::mutation::Mutations;
use lessor::http::public_url::PublicUrl;
use lessor::http::routing::Routes;
use lessor::http::server::{self, ServerSettings};
use lessor::middleware::{Cors, Deadline, RequestId};
use lessor::request::{
    Body, BodyLimits, FormBody, List, OptionalBody, Plain as _, QueryParams, Segment, Signature,
    SignedBody, Table, Whole, given,
};
use lessor::routes::health::Readiness;
use lessor::run::app::{self, AppParts, Said};
use lessor::telemetry::Metrics;
use lessor::wire::{Amount, Description, Limit, Line, Name, Offset, Quantity, Sku, Url};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use utoipa::ToSchema;

/// An upper bound for what a test waits for; nothing waits this long unless it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The length of a large answer, in bytes: more than the system keeps of it for a client that does not read.
pub(crate) const LARGE: usize = 32 * 1024 * 1024;

type Tags = List<Sku, 3>;
type SomeTags = List<Sku, 3, 1>;
type Serials = Table<Line, Line, 5>;

/// A thing to make.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateThing {
    /// What it is called.
    name: Name,
    price: Amount,
    description: Option<Description>,
    site: Option<Url>,
    quantity: Option<Quantity>,
    #[serde(default)]
    tags: Tags,
    serials: Option<Serials>,
}

/// A change of a thing.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UpdateThing {
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    name: Option<Name>,
    #[serde(default, with = "serde_with::rust::double_option")]
    description: Option<Option<Description>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CancelThing {
    reason: Option<Line>,
}

/// A thing.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Thing {
    name: String,
    detail: String,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListThings {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    #[serde(default)]
    #[param(inline)]
    offset: Offset,
    #[param(inline)]
    tags: Option<SomeTags>,
}

#[utoipa::path(request_body = CreateThing, responses((status = 200, body = Thing)))]
#[post("/things")]
async fn create(body: Body<CreateThing>) -> Json<Thing> {
    let CreateThing {
        name,
        price,
        description,
        site,
        quantity,
        tags,
        serials,
    } = body.value;
    let detail = format!(
        "{} {:?} {:?} {:?} {} {}",
        price.plain(),
        description.plain().map(String::from),
        site.plain().map(String::from),
        quantity.plain().map(Whole::get),
        tags.as_slice().len(),
        serials.map_or(0, |serials| serials.into_map().len()),
    );
    Json(Thing {
        name: name.plain().into(),
        detail,
    })
}

#[utoipa::path(params(ListThings), responses((status = 200, body = [Thing])))]
#[get("/things")]
async fn list(QueryParams(query): QueryParams<ListThings>) -> Json<Vec<Thing>> {
    let ListThings {
        limit,
        offset,
        tags,
    } = query;
    Json(vec![Thing {
        name: "list".to_owned(),
        detail: format!(
            "{} {} {}",
            limit.plain().get(),
            offset.plain().get(),
            tags.unwrap_or_default_len()
        ),
    }])
}

trait Len {
    fn unwrap_or_default_len(self) -> usize;
}

impl Len for Option<SomeTags> {
    fn unwrap_or_default_len(self) -> usize {
        self.map_or(0, |tags| tags.into_vec().len())
    }
}

#[utoipa::path(params(("id" = String, Path)), responses((status = 200, body = Thing)))]
#[get("/things/{id}")]
async fn read(id: Segment) -> Json<Thing> {
    Json(Thing {
        name: id.0,
        detail: String::new(),
    })
}

#[utoipa::path(params(("id" = String, Path)), request_body = UpdateThing, responses((status = 200, body = Thing)))]
#[put("/things/{id}")]
async fn update(id: Segment, body: Body<UpdateThing>) -> Json<Thing> {
    Json(Thing {
        name: id.0,
        detail: format!(
            "{:?} {:?}",
            body.value.name.plain().map(String::from),
            body.value
                .description
                .plain()
                .map(|text| text.map(String::from))
        ),
    })
}

#[utoipa::path(
    params(("id" = String, Path)),
    request_body(content = CancelThing),
    responses((status = 200, body = Thing))
)]
#[post("/things/{id}/cancel")]
async fn cancel(id: Segment, body: OptionalBody<CancelThing>) -> Json<Thing> {
    Json(Thing {
        name: id.0,
        detail: format!(
            "{:?} {}",
            body.value.reason.plain().map(String::from),
            body.raw.len()
        ),
    })
}

#[utoipa::path(responses((status = 200)))]
#[get("/panic")]
async fn panics() -> HttpResponse {
    panic!("secret of the handler")
}

#[utoipa::path(responses((status = 200)))]
#[post("/panic-in-mutation")]
async fn panics_in_mutation(mutations: Mutations) -> Result<HttpResponse, ApiError> {
    mutations
        .run(async {
            if PATIENCE.is_zero() {
                Ok::<(), ApiError>(())
            } else {
                panic!("secret of the mutation")
            }
        })
        .await?;
    Ok(HttpResponse::Ok().finish())
}

#[utoipa::path(responses((status = 200)))]
#[get("/fails")]
async fn fails(id: RequestId) -> Result<HttpResponse, ApiError> {
    Err(ApiError::internal(format!(
        "secret cause of {}",
        id.as_str()
    )))
}

/// What of actix's own makes an error without our help.
#[utoipa::path(responses((status = 200)))]
#[get("/foreign")]
async fn foreign() -> Result<HttpResponse, actix_web::Error> {
    Err(actix_web::error::ErrorImATeapot(
        "plain text of another library",
    ))
}

#[utoipa::path(responses((status = 200, body = String)))]
#[get("/large")]
async fn large() -> HttpResponse {
    HttpResponse::Ok().body(vec![b'x'; LARGE])
}

/// A signature of which only the form counts.
struct Signed;

impl Signature for Signed {
    fn of(headers: &HeaderMap) -> Result<Self, ApiError> {
        match headers.get("x-signature") {
            Some(value) if value == "v1" => Ok(Self),
            _ => Err(ApiError::unsigned()),
        }
    }
}

#[utoipa::path(responses((status = 200, body = String)))]
#[post("/messages")]
async fn take_message(body: SignedBody<Signed>) -> HttpResponse {
    HttpResponse::Ok().body(body.raw.len().to_string())
}

#[utoipa::path(responses((status = 200, body = String)))]
#[post("/forms")]
async fn take_form(FormBody(fields): FormBody) -> HttpResponse {
    HttpResponse::Ok().body(fields.len().to_string())
}

/// A mutation that a test holds up.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) entered: Arc<Semaphore>,
    pub(crate) release: Arc<Semaphore>,
    pub(crate) done: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self {
            entered: closed(),
            release: closed(),
            done: closed(),
        }
    }
}

/// Waits for one permit and uses it up.
pub(crate) async fn pass(gate: &Semaphore) {
    let permit = tokio::time::timeout(PATIENCE, gate.acquire())
        .await
        .expect("in time")
        .unwrap();
    permit.forget();
}

#[utoipa::path(responses((status = 200, body = String)))]
#[post("/mutate")]
async fn mutate(gate: web::Data<Gate>, mutations: Mutations) -> Result<HttpResponse, ApiError> {
    let gate = gate.get_ref().clone();
    mutations
        .run(async move {
            gate.entered.add_permits(1);
            gate.release
                .acquire()
                .await
                .map_err(ApiError::internal)?
                .forget();
            gate.done.add_permits(1);
            Ok::<(), ApiError>(())
        })
        .await?;
    Ok(HttpResponse::Ok().body("done"))
}

async fn require_key(
    request: ServiceRequest,
    next: Next<actix_web::body::BoxBody>,
) -> Result<ServiceResponse<actix_web::body::BoxBody>, actix_web::Error> {
    if request.headers().contains_key("authorization") {
        next.call(request).await
    } else {
        Err(ApiError::unauthorized().into())
    }
}

pub(crate) fn routes(routes: &mut Routes<'_>) {
    let with_key = |routes: &mut Routes<'_>| {
        routes
            .service(create)
            .service(list)
            .service(read)
            .service(update)
            .service(cancel)
            .service(panics)
            .service(panics_in_mutation)
            .service(fails)
            .service(foreign)
            .service(large)
            .service(take_message)
            .service(take_form)
            .service(mutate);
    };
    routes.scope("/v1", with_key, |scope| scope.wrap(from_fn(require_key)));
}

pub(crate) struct Setup {
    pub(crate) limits: BodyLimits,
    pub(crate) memory: MemoryBudget,
    pub(crate) cors: Cors,
    pub(crate) deadline: Deadline,
    pub(crate) settings: ServerSettings,
    pub(crate) ready: bool,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) draining: Draining,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            limits: BodyLimits::default(),
            memory: MemoryBudget::default(),
            cors: Cors::default(),
            deadline: Deadline::default(),
            settings: ServerSettings {
                workers: Some(1),
                ..ServerSettings::default()
            },
            ready: true,
            metrics: None,
            draining: Draining::default(),
        }
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) gate: Gate,
    pub(crate) mutations: Mutations,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let gate = Gate::default();
        let mutations = Mutations::new(tokio::runtime::Handle::current());
        let ready = setup.ready;
        let parts = AppParts {
            public_url: PublicUrl::new("https://lease.example/"),
            body_limits: setup.limits,
            memory: setup.memory,
            cors: setup.cors,
            deadline: setup.deadline,
            mutations: mutations.clone(),
            readiness: Readiness::new(move || async move {
                if ready {
                    Ok(())
                } else {
                    Err("secret host refuses".into())
                }
            }),
            metrics: setup.metrics,
            draining: setup.draining,
            said: Said::default(),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let data = gate.clone();
        let serving = tokio::spawn(server::serve(
            listener,
            ServerSettings {
                public_url: PublicUrl::new("https://lease.example/"),
                ..setup.settings
            },
            mutations.clone(),
            async move { stopped.await.unwrap_or_default() },
            move || app::build(&parts, routes).app_data(web::Data::new(data.clone())),
        ));
        Self {
            address,
            gate,
            mutations,
            stop: Some(stop),
            serving,
        }
    }

    /// Tells the server to stop.
    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Waits until the server has stopped.
    pub(crate) async fn stopped(self) {
        let served = tokio::time::timeout(PATIENCE, self.serving).await;
        served.expect("stops in time").unwrap().unwrap();
    }

    /// Sends bytes as they are and reads until the server closes. A `connection: close` in the
    /// request makes it do so.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        read_answer(&mut stream).await
    }

    /// A request with a key. `headers` are whole lines.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &[u8],
    ) -> Answer {
        self.raw(&request(method, path, headers, body)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.send(
            "POST",
            path,
            &["content-type: application/json"],
            body.as_bytes(),
        )
        .await
    }
}

pub(crate) fn request(method: &str, path: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k\r\nconnection: close\r\n"
    )
    .into_bytes();
    for header in headers {
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    let has_length = headers
        .iter()
        .any(|header| header.starts_with("content-length") || header.starts_with("transfer"));
    if !body.is_empty() && !has_length {
        bytes.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) async fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes))
        .await
        .expect("an answer in time")
        .unwrap();
    Answer::parse(&bytes)
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let headers = lines
            .map(|line| {
                let (name, value) = line.split_once(':').unwrap();
                (name.to_ascii_lowercase(), value.trim().to_owned())
            })
            .collect();
        Self {
            status,
            headers,
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Checks what holds for every answer.
    #[track_caller]
    pub(crate) fn assert_dressed(&self) {
        let id = self
            .header("request-id")
            .unwrap_or_else(|| panic!("no request id: {self:?}"));
        assert!(id.starts_with("req_") && id.len() == 36, "{id}");
        assert!(self.header("cache-control").is_some(), "{self:?}");
    }

    /// Checks that this is an error in our shape.
    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16, code: &str, param: Option<&str>) {
        assert_eq!(self.status, status, "{self:?}");
        self.assert_dressed();
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.json();
        let error = body["error"]
            .as_object()
            .unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!(body.as_object().unwrap().len(), 1);
        let kind = if status >= 500 {
            "api_error"
        } else {
            "invalid_request_error"
        };
        assert_eq!(error["type"], kind);
        assert_eq!(error["code"], code, "{self:?}");
        assert_eq!(
            error.get("param").and_then(Value::as_str),
            param,
            "{self:?}"
        );
        assert_eq!(
            error["doc_url"],
            format!("https://lease.example{DOCS_PATH}#{code}")
        );
        let message = error["message"].as_str().unwrap();
        assert!(
            !message.is_empty() && !message.contains("secret host"),
            "{message}"
        );
        if status >= 500 {
            assert!(
                message.contains(self.header("request-id").unwrap()),
                "{message}"
            );
        }
        assert!(!error.keys().any(|key| !["type", "code", "message", "param", "doc_url"].contains(&key.as_str())));
    }
}
