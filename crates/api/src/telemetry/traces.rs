//! Traces, for a collector that speaks OTLP over HTTP.
//!
//! Spans are what the log knows of: requests, what the payment processor is asked, jobs. They are sent in
//! batches by a thread of their own, which nobody waits for; what the collector does not take is lost.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::http::Method;
use async_trait::async_trait;
use opentelemetry::trace::{
    SpanContext, SpanId, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::{Builder, Runtime};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::http::request_id::Trace;

/// What the spans are said to be of.
const NAME: &str = "lessor";
/// How long a collector may take for a batch.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the end of the process waits for what was not sent yet.
const LAST: Duration = Duration::from_secs(2);

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// There is no thread for it.
    #[error("what sends traces cannot be started")]
    Runtime(#[from] std::io::Error),
    /// There is no client for it.
    #[error("there is no HTTP client for traces")]
    Client(#[from] reqwest::Error),
    /// The address cannot be one.
    #[error("the collector of traces cannot be used")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
}

/// Sends spans until it is dropped, the last ones then.
pub struct Traces(Option<SdkTracerProvider>);

impl Traces {
    /// Nobody collects any.
    pub(super) const NONE: Self = Self(None);

    /// To the collector at this address, by `v1/traces` under it.
    pub(super) fn to(collector: &str) -> Result<Self, TracesError> {
        let client = Client {
            runtime: Builder::new_current_thread().enable_all().build()?,
            http: reqwest::Client::builder().timeout(PATIENCE).build()?,
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/traces", collector.trim_end_matches('/')))
            .with_timeout(PATIENCE)
            .build()?;
        let resource = Resource::builder()
            .with_service_name(NAME)
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        Ok(Self(Some(provider)))
    }

    /// What makes spans; none where nobody collects any.
    pub(super) fn tracer(&self) -> Option<SdkTracer> {
        self.0.as_ref().map(|provider| provider.tracer(NAME))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Some(provider) = self.0.take() {
            // Nobody is left who could be told.
            drop(provider.shutdown_with_timeout(LAST));
        }
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Traces").field(&self.0.is_some()).finish()
    }
}

/// The HTTP client of the others, for the thread that sends: it has no runtime but this.
#[derive(Debug)]
struct Client {
    runtime: Runtime,
    http: reqwest::Client,
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        // The thread has nothing else to do.
        let (status, body) = self.runtime.block_on(async {
            let response = self.http.execute(request).await?;
            let status = response.status();
            Ok::<_, reqwest::Error>((status, response.bytes().await?))
        })?;
        Ok(Response::builder().status(status).body(body)?)
    }
}

/// Whether spans are collected.
static IS_COLLECTED: AtomicBool = AtomicBool::new(false);

/// Says that spans are collected from now on.
pub(super) fn collect() {
    IS_COLLECTED.store(true, Ordering::Relaxed);
}

/// Begins the span of a request as a part of the caller's trace, where spans are collected: before anything
/// happens in it. Answers the id of the trace that it is a part of.
pub(crate) fn begin_request(
    span: &Span,
    method: &Method,
    route: &str,
    caller: Option<&Trace>,
) -> Option<String> {
    if !IS_COLLECTED.load(Ordering::Relaxed) {
        return None;
    }
    span.record("otel.kind", "server");
    if let Some(caller) = caller.and_then(remote) {
        let caller = Context::new().with_remote_span_context(caller);
        span.set_parent(caller).ok()?;
    }
    let context = span.context();
    let begun = context.span();
    begun.update_name(format!("{method} {route}"));
    let begun = begun.span_context();
    begun.is_valid().then(|| begun.trace_id().to_string())
}

/// Says, in the span of a request, how it was answered.
pub(crate) fn end_request(status: u16) {
    if !IS_COLLECTED.load(Ordering::Relaxed) {
        return;
    }
    let span = Span::current();
    span.set_attribute("http.response.status_code", i64::from(status));
    if status >= 500 {
        span.set_status(Status::error(""));
    }
}

fn remote(trace: &Trace) -> Option<SpanContext> {
    let id = TraceId::from_hex(&trace.id).ok()?;
    let parent = SpanId::from_hex(&trace.parent).ok()?;
    let flags = TraceFlags::default().with_sampled(trace.is_sampled);
    let state = TraceState::default();
    Some(SpanContext::new(id, parent, flags, true, state))
}

/// The span as a `traceparent`, for whoever is asked in it; none where spans are not collected.
pub(crate) fn traceparent(span: &Span) -> Option<String> {
    if !IS_COLLECTED.load(Ordering::Relaxed) {
        return None;
    }
    let context = span.context();
    let span = context.span();
    let span = span.span_context();
    let flags = span.trace_flags().to_u8();
    span.is_valid()
        .then(|| format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id()))
}
