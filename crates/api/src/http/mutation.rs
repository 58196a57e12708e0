//! Work that outlives its client.
//!
//! When a client resets its connection, actix drops the handler at its current await. Whatever
//! changes something therefore runs in a task of its own: the handler waits for it, and when the
//! handler is gone the task still ends. So does what is counted for everybody who asks. A shutdown waits for these tasks.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::time::Duration;

use actix_web::{FromRequest, HttpRequest, dev};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::http::error::ApiError;

/// Runs mutations. App data, and an extractor:
///
/// ```
/// # use lessor::http::{error::ApiError, mutation::Mutations};
/// # use actix_web::HttpResponse;
/// # async fn store() -> Result<u32, ApiError> { Ok(1) }
/// async fn handler(mutations: Mutations) -> Result<HttpResponse, ApiError> {
///     let stored = mutations.run(async move { store().await }).await?;
///     Ok(HttpResponse::Ok().json(stored))
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Mutations {
    tracker: TaskTracker,
    /// Not that of an actix worker, which ends with its last connection.
    runtime: Handle,
}

impl Mutations {
    /// Tasks on this runtime.
    #[must_use]
    pub fn new(runtime: Handle) -> Self {
        Self {
            tracker: TaskTracker::new(),
            runtime,
        }
    }

    /// Runs `work` to its end, whether or not anybody still waits for it.
    ///
    /// # Errors
    /// What `work` says; 500 when it panics.
    pub async fn run<T, E, F>(&self, work: F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<ApiError> + Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        let task = self.spawn(Box::pin(async move {
            // Where nobody waits any more, nobody is told.
            let _ = tell.send(work.await.map_err(Into::into));
        }));
        let ended = task.await;
        match told.await {
            Ok(result) => result,
            Err(_) => Err(match ended.map_err(JoinError::try_into_panic) {
                Err(Ok(panic)) => ApiError::panicked(&*panic),
                Ok(()) | Err(Err(_)) => {
                    ApiError::unavailable(Duration::from_secs(1), "the service is stopping")
                }
            }),
        }
    }

    /// One kind of task for all work: the runtime's machinery is compiled once, not for each use case.
    fn spawn(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) -> JoinHandle<()> {
        self.tracker.spawn_on(work.in_current_span(), &self.runtime)
    }

    /// Runs `work` to its end without anybody waiting for it but a shutdown.
    pub fn detach<F>(&self, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn(Box::pin(work));
    }

    /// How many tasks are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.tracker.len()
    }

    /// Waits until no task is under way. More may begin until the server has stopped.
    pub async fn finish(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

impl FromRequest for Mutations {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let mutations = request.app_data::<Self>().cloned();
        ready(
            mutations.ok_or_else(|| ApiError::internal("the app has no Mutations among its data")),
        )
    }
}
