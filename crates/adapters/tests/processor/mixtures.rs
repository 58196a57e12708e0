//! Failures in any mixture, workers at the same time, and time that passes between
//! tries: in the end everything is done, and done once.

use std::sync::Arc;

use chrono::TimeDelta;
use lessor_domain::ports::Verdict;
use lessor_processor_double::{Fault, Rule, When};
use serde_json::json;

use crate::support::{Op, Rig, each};

/// Numbers that a seed decides.
struct Chance(u64);

impl Chance {
    const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from((self.0 >> 11) % u64::from(bound)).unwrap()
    }

    fn fault(&mut self) -> Fault {
        match self.below(9) {
            0 => Fault::FAILED,
            1 => Fault::FAILED_AFTER,
            2 => Fault::Reset { when: When::Before },
            3 => Fault::Reset { when: When::After },
            4 => Fault::Cut,
            5 => Fault::status(503, When::Before),
            6 => Fault::status(502, When::After),
            7 => Fault::RateLimited { retry_after: None },
            // Refused for a reason of the caller's own: a key that was withdrawn.
            _ => Fault::Answer {
                status: 401,
                headers: Vec::new(),
                body: json!({ "error": { "type": "invalid_request_error" } }).to_string(),
            },
        }
    }

    fn pause(&mut self) -> TimeDelta {
        let minutes = [0, 0, 1, 10, 60, 8 * 60, 23 * 60, 25 * 60];
        TimeDelta::minutes(minutes[usize::try_from(self.below(8)).unwrap()])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_fails_in_whatever_order_it_is_done_once() {
    let cases = Op::ALL
        .iter()
        .flat_map(|op| (0..16).map(move |seed| (*op, seed)))
        .collect();
    each(cases, |(op, seed)| async move {
        let mut chance = Chance::new(seed * 31 + op as u64);
        let rig = Rig::new();
        // Authorizations are not to lapse meanwhile.
        rig.double.set(lessor_processor_double::Settings {
            authorization_seconds: Some(90 * 86_400),
            ..Default::default()
        });
        let rig = Arc::new(op.prepare(rig).await);
        for _ in 0..4 + chance.below(12) {
            let rule = Rule::once("*", "/v1/**", chance.fault()).after(chance.below(4));
            rig.double.fault(rule);
        }
        let first = rig.attempt("work");
        let workers = 1 + chance.below(3);
        let mut finished = false;
        for _ in 0..60 {
            let call = rig.later(&first);
            let tries: Vec<_> = (0..workers)
                .map(|_| {
                    let (rig, call) = (Arc::clone(&rig), call.clone());
                    tokio::spawn(async move { op.run(&rig, &call).await })
                })
                .collect();
            for one in tries {
                match one.await.unwrap() {
                    Ok(Verdict::Done(_)) => finished = true,
                    Ok(Verdict::Refused(refusal)) => panic!("refused: {refusal:?}"),
                    Err(_) => {}
                }
            }
            if finished {
                break;
            }
            rig.double.advance(chance.pause());
        }
        assert!(finished, "{:#?}", rig.double.journal().last());
        // A worker that comes late finds it done.
        rig.double.clear_faults();
        rig.double.advance(TimeDelta::hours(25));
        let late = op.run(&rig, &rig.later(&first)).await;
        assert!(matches!(late, Ok(Verdict::Done(_))), "{late:?}");
        assert_eq!(op.effects(&rig), op.once());
    })
    .await;
}
