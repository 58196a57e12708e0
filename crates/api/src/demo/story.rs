//! What the demo tells.

use serde::Serialize;

/// One step of the journey.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What it does.
    pub title: String,
    /// The requests that it made.
    pub calls: Vec<Call>,
    /// What came of it, line by line.
    pub shows: Vec<String>,
}

/// One request.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub path: String,
    /// The status of its answer.
    pub status: u16,
}

/// Who is told of the steps as they are made.
pub trait Listener: Send + Sync {
    /// The step is made; it is the `number`th, from 1.
    fn made(&self, number: usize, step: &Step);
}
