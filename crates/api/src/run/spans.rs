//! Telling of what the payment processor is asked as a part of the trace in which it is.

use std::sync::Arc;

use async_trait::async_trait;
use lessor_adapters::processor::{RawResponse, Sent, Transport};
use lessor_domain::cause::Cause;
use tracing::Instrument as _;

use super::counting::operation;
use crate::telemetry::traces;

/// A way to the processor that has a span for each request, and tells the processor of it.
pub(super) struct Spans(pub(super) Arc<dyn Transport>);

#[async_trait]
impl Transport for Spans {
    async fn send(&self, mut request: Sent) -> Result<RawResponse, Cause> {
        let operation = operation(request.method, &request.target);
        let span = tracing::info_span!("processor", operation, otel.kind = "client");
        request.traceparent = traces::traceparent(&span);
        self.0.send(request).instrument(span).await
    }
}
