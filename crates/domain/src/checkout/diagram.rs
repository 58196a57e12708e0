//! The table of the lifecycle, drawn.

use std::fmt::Write as _;

use super::event::EventKind;
use super::state::{Lifecycle, Phase};
use super::table::{Arrow, arrows, arrows_from};

fn states_of(phase: Phase) -> impl Iterator<Item = Lifecycle> {
    Lifecycle::ALL
        .iter()
        .copied()
        .filter(move |state| state.phase() == phase)
}

/// Arrows that nearly every state has would hide all others.
fn is_drawn(arrow: &Arrow) -> bool {
    arrow.from != arrow.to && !matches!(arrow.event, EventKind::Cancelled | EventKind::Expired)
}

/// The lifecycle as a Mermaid state diagram: one composite state for each phase.
/// Cancel and expiry, which nearly every state has, are left out.
#[must_use]
pub fn mermaid() -> String {
    let mut text = String::from(
        "stateDiagram-v2\n    [*] --> created\n    [*] --> waitlistedAfterProfile\n    [*] --> waitlistedLocation\n",
    );
    for phase in Phase::ALL {
        let _ = writeln!(text, "    state \"{}\" as phase_{phase} {{", phase.label());
        for state in states_of(*phase) {
            let _ = writeln!(text, "        {state}");
        }
        text.push_str("    }\n");
    }
    for Arrow { from, event, to } in arrows().filter(is_drawn) {
        let _ = writeln!(text, "    {from} --> {to}: {event}");
    }
    for state in Lifecycle::ALL.iter().filter(|state| state.is_ended()) {
        let _ = writeln!(text, "    {state} --> [*]");
    }
    text
}

/// The lifecycle as a Graphviz graph: one cluster for each phase.
#[must_use]
pub fn dot() -> String {
    let mut text = String::from(
        "digraph lifecycle {\n    rankdir=LR;\n    node [shape=box, style=rounded];\n",
    );
    for phase in Phase::ALL {
        let _ = writeln!(
            text,
            "    subgraph cluster_{phase} {{\n        label=\"{}\";",
            phase.label()
        );
        for state in states_of(*phase) {
            let _ = writeln!(text, "        {state};");
        }
        text.push_str("    }\n");
    }
    for Arrow { from, event, to } in arrows().filter(is_drawn) {
        let _ = writeln!(text, "    {from} -> {to} [label=\"{event}\"];");
    }
    text.push_str("}\n");
    text
}

/// The whole table in Markdown, a row for each arrow.
#[must_use]
pub fn markdown_table() -> String {
    let mut text = String::from("| State | Event | Next state | Who |\n|---|---|---|---|\n");
    for state in Lifecycle::ALL {
        for Arrow { from, event, to } in arrows_from(*state) {
            let next = if from == to {
                "(stays)".to_owned()
            } else {
                format!("`{to}`")
            };
            let actors = event
                .actors()
                .iter()
                .map(|actor| actor.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            let _ = writeln!(text, "| `{from}` | {event} | {next} | {actors} |");
        }
    }
    text
}
