//! Keys that the processor may have forgotten.

use chrono::TimeDelta;

use crate::support::{Op, Rig, done, each};

/// Done, its answer lost, its key forgotten: it is found and not made again.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_a_day_ago_is_found() {
    each(Op::ALL.to_vec(), |op| async move {
        let rig = op.prepare(Rig::new()).await;
        let call = rig.attempt("work");
        done(op.run(&rig, &call).await);
        rig.double.advance(TimeDelta::hours(25));
        rig.double.clear_journal();
        done(op.run(&rig, &rig.later(&call)).await);
        assert_eq!(op.effects(&rig), op.once());
        let made: Vec<_> = rig
            .double
            .journal()
            .into_iter()
            .filter(|entry| entry.status == Some(200) && !entry.path.contains("/search"))
            .filter(|entry| entry.method == "POST")
            .filter(|entry| !entry.operation.as_deref().unwrap_or_default().contains('*'))
            .collect();
        assert!(made.is_empty(), "{made:#?}");
    })
    .await;
}

/// Never done: it is looked up, not found, and made.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_done_is_done_a_day_later() {
    each(Op::ALL.to_vec(), |op| async move {
        let rig = op.prepare(Rig::new()).await;
        let mut call = rig.attempt("work");
        rig.double.advance(TimeDelta::hours(25));
        call = rig.later(&call);
        done(op.run(&rig, &call).await);
        assert_eq!(op.effects(&rig), op.once());
    })
    .await;
}

/// The processor's search does not show what is new: nothing relies on it.
#[tokio::test(flavor = "multi_thread")]
async fn search_may_lag() {
    each(Op::ALL.to_vec(), |op| async move {
        let rig = op.prepare(Rig::new()).await;
        rig.double.set(lessor_processor_double::Settings {
            search_lag_seconds: Some(60),
            ..Default::default()
        });
        let mut call = rig.attempt("work");
        call.first_tried_at -= TimeDelta::hours(25);
        done(op.run(&rig, &call).await);
        rig.double.forget_keys();
        done(op.run(&rig, &call).await);
        assert_eq!(op.effects(&rig), op.once());
    })
    .await;
}
