//! Every pair of a state and an event, against a table written by hand.

use std::collections::HashMap;

use lessor_domain::checkout::{EventKind, Lifecycle, Move, transition};

/// The table of `lifecycle.txt`; pairs that it does not name are refused.
fn written_by_hand() -> HashMap<(EventKind, Lifecycle), Move> {
    let text = include_str!("../data/lifecycle.txt");
    let mut order: Vec<Lifecycle> = Vec::new();
    let mut groups: HashMap<&str, Vec<Lifecycle>> = HashMap::new();
    let mut table = HashMap::new();
    let mut event = None;
    let state = |name: &str| name.parse::<Lifecycle>().unwrap();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, states)) = line.split_once(':') {
            let states = states.split_whitespace().map(state);
            match name {
                "order" => order.extend(states),
                group => drop(groups.insert(group, states.collect())),
            }
            continue;
        }
        if !line.contains(' ') {
            event = Some(line.parse::<EventKind>().unwrap());
            continue;
        }
        let resolve = |names: &str| -> Vec<Lifecycle> {
            let place = |name| {
                order
                    .iter()
                    .position(|other| *other == state(name))
                    .unwrap()
            };
            names
                .split_whitespace()
                .flat_map(|name| match (groups.get(name), name.split_once("..")) {
                    (Some(group), _) => group.clone(),
                    (None, Some((from, to))) => order[place(from)..=place(to)].to_vec(),
                    (None, None) => vec![state(name)],
                })
                .collect()
        };
        let (states, outcome) = if let Some(states) = line.strip_prefix("= ") {
            (resolve(states), Move::Stay)
        } else if let Some(states) = line.strip_prefix("? ") {
            (resolve(states), Move::IfSame)
        } else if let Some(states) = line.strip_prefix("~ ") {
            (resolve(states), Move::AlreadyApplied)
        } else {
            let (states, to) = line.split_once(" -> ").unwrap();
            (resolve(states), Move::To(state(to)))
        };
        for state in states {
            let before = table.insert((event.unwrap(), state), outcome);
            assert_eq!(before, None, "the table names {event:?} in {state} twice");
        }
    }
    let named: usize = order.len() + groups.values().map(Vec::len).sum::<usize>();
    assert_eq!(named, Lifecycle::ALL.len(), "the table knows every state");
    table
}

#[test]
fn every_pair_does_what_the_table_says() {
    let table = written_by_hand();
    let mut differences = Vec::new();
    for event in EventKind::ALL {
        assert!(
            table.keys().any(|(named, _)| named == event),
            "the table leaves {event} out"
        );
        for state in Lifecycle::ALL {
            let expected = table
                .get(&(*event, *state))
                .copied()
                .unwrap_or(Move::Refused);
            let found = transition(*state, *event);
            if found != expected {
                differences.push(format!("{event} in {state}: {found:?}, not {expected:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
