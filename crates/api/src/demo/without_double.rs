//! `lessor demo --live-double` of a program that was built without the double: it says how to get one.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::bail;
use lessor_domain::audit::Origin;
use lessor_domain::ports::Database;
use lessor_domain::workers::Engine;

use super::{Listener, LiveReport};

/// The processor's double; there is none.
pub struct Stage(Infallible);

impl Stage {
    /// Starts the double.
    ///
    /// # Errors
    /// There is none.
    pub fn set() -> anyhow::Result<Self> {
        bail!(
            "this lessor was built without the processor's double: \
             cargo run --release --features live-double -- demo --live-double"
        )
    }

    /// Where the double is.
    #[must_use]
    pub fn url(&self) -> String {
        match self.0 {}
    }

    /// Plays a live lease.
    ///
    /// # Errors
    /// Never.
    pub async fn play(
        &self,
        _url: &str,
        _engine: &Engine,
        _origin: &Origin,
        _listener: &dyn Listener,
        _walks: bool,
    ) -> anyhow::Result<LiveReport> {
        match self.0 {}
    }

    /// Takes the account at the double away.
    ///
    /// # Errors
    /// Never.
    pub async fn strike(
        &self,
        _database: Arc<dyn Database>,
        _origin: &Origin,
    ) -> anyhow::Result<()> {
        match self.0 {}
    }
}
