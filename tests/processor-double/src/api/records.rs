//! What is only read: charges, disputes.

use super::{AFTER, BEFORE, CREATED, LIMIT, Operation, fits, on};
use crate::spec::{Kind, may};

pub(crate) const OPERATIONS: &[Operation] = &[
    on(
        "GET",
        "/v1/charges",
        &[
            may("customer", Kind::Text),
            may("payment_intent", Kind::Text),
            CREATED,
            LIMIT,
            AFTER,
            BEFORE,
        ],
        |context| {
            let params = context.params;
            context
                .world
                .list("charge", "/v1/charges", params, |charge| {
                    fits(charge, params, "customer") && fits(charge, params, "payment_intent")
                })
        },
    ),
    on("GET", "/v1/charges/*", &[], |context| {
        context.world.at_path("charge", context.id())
    }),
    on(
        "GET",
        "/v1/disputes",
        &[
            may("charge", Kind::Text),
            may("payment_intent", Kind::Text),
            CREATED,
            LIMIT,
            AFTER,
            BEFORE,
        ],
        |context| {
            let params = context.params;
            context
                .world
                .list("dispute", "/v1/disputes", params, |dispute| {
                    fits(dispute, params, "charge") && fits(dispute, params, "payment_intent")
                })
        },
    ),
    on("GET", "/v1/disputes/*", &[], |context| {
        context.world.at_path("dispute", context.id())
    }),
];
