//! The same work by several at once.

use std::sync::Arc;

use lessor_processor_double::{Fault, Rule};

use crate::support::{Op, Rig, done, each};

/// Many workers do the same: it is done once, and all of them know it.
#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_do_it_once() {
    each(Op::ALL.to_vec(), |op| async move {
        let rig = Arc::new(op.prepare(Rig::new()).await);
        let call = rig.attempt("work");
        let tasks = (0..12).map(|_| {
            let (rig, call) = (Arc::clone(&rig), call.clone());
            tokio::spawn(async move { op.run(&rig, &call).await })
        });
        let mut answers = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            answers.push(done(task.await.unwrap()));
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:#?}");
        assert_eq!(op.effects(&rig), op.once());
    })
    .await;
}

/// One is under way, the other is told so, waits, and gets the same answer.
#[tokio::test]
async fn a_key_in_use_is_waited_for() {
    let op = Op::Authorize;
    let rig = Arc::new(op.prepare(Rig::new()).await);
    rig.double
        .fault(Rule::once("POST", "/v1/payment_intents", Fault::Hold));
    let double = Arc::clone(&rig.double);
    rig.pacing.meanwhile(move || double.release());
    let call = rig.attempt("work");
    let first = {
        let (rig, call) = (Arc::clone(&rig), call.clone());
        tokio::spawn(async move { op.run(&rig, &call).await })
    };
    while rig.double.journal().is_empty() {
        tokio::task::yield_now().await;
    }
    let second = done(op.run(&rig, &call).await);
    assert_eq!(done(first.await.unwrap()), second);
    assert_eq!(op.effects(&rig), op.once());
    let told: Vec<_> = rig
        .double
        .journal()
        .iter()
        .filter_map(|entry| entry.status)
        .collect();
    assert!(told.contains(&409), "{told:?}");
}
