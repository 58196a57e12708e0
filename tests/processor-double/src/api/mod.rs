//! What can be asked for.

pub(crate) mod checkout_sessions;
pub(crate) mod customers;
pub(crate) mod events;
pub(crate) mod identity;
pub(crate) mod invoices;
pub(crate) mod payment_intents;
pub(crate) mod payment_methods;
pub(crate) mod prices;
pub(crate) mod products;
pub(crate) mod records;
pub(crate) mod refunds;
pub(crate) mod setup_intents;
pub(crate) mod subscription_items;
pub(crate) mod subscriptions;

use serde_json::Value;

use crate::error::ApiError;
use crate::spec::{Kind, MOST_PAIRS, Param, may, too_many_pairs};
use crate::store::{World, changed_metadata, text};

/// What an operation works on.
pub(crate) struct Context<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) params: &'a Value,
    pub(crate) ids: &'a [String],
}

impl Context<'_> {
    /// The id in the path.
    pub(crate) fn id(&self) -> &str {
        self.ids.first().map_or("", String::as_str)
    }

    /// A parameter; empty when it is not there.
    pub(crate) fn text(&self, name: &str) -> &str {
        text(self.params, name)
    }
}

/// What an operation answers.
pub(crate) type Outcome = Result<Value, ApiError>;

/// An operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    /// With `*` for ids.
    pub(crate) path: &'static str,
    pub(crate) params: &'static [Param],
    pub(crate) run: fn(&mut Context<'_>) -> Outcome,
}

/// An operation of this method and path.
pub(crate) const fn on(
    method: &'static str,
    path: &'static str,
    params: &'static [Param],
    run: fn(&mut Context<'_>) -> Outcome,
) -> Operation {
    Operation {
        method,
        path,
        params,
        run,
    }
}

/// The parameters of a list, and these.
pub(crate) const LIMIT: Param = may("limit", Kind::Int);
pub(crate) const AFTER: Param = may("starting_after", Kind::Text);
pub(crate) const BEFORE: Param = may("ending_before", Kind::Text);
pub(crate) const CREATED: Param = may("created", Kind::Range);
pub(crate) const QUERY: Param = crate::spec::must("query", Kind::Text);
pub(crate) const PAGE: Param = may("page", Kind::Text);

/// The operation and the ids in the path. A literal segment wins over an id.
pub(crate) fn find(method: &str, path: &str) -> Option<(Operation, Vec<String>)> {
    let all = [
        checkout_sessions::OPERATIONS,
        customers::OPERATIONS,
        events::OPERATIONS,
        identity::OPERATIONS,
        invoices::OPERATIONS,
        payment_intents::OPERATIONS,
        payment_methods::OPERATIONS,
        prices::OPERATIONS,
        products::OPERATIONS,
        records::OPERATIONS,
        refunds::OPERATIONS,
        setup_intents::OPERATIONS,
        subscriptions::OPERATIONS,
    ];
    all.into_iter()
        .flatten()
        .filter(|operation| operation.method == method)
        .filter_map(|operation| Some((*operation, ids(operation.path, path)?)))
        .min_by_key(|(_, ids)| ids.len())
}

/// Carries the operation out, unless it makes the metadata of its object too many.
pub(crate) fn carry_out(operation: &Operation, context: &mut Context<'_>) -> Outcome {
    if let (Some(object), Some(_)) = (
        context.world.any(context.id()),
        context.params.get("metadata"),
    ) {
        let after = changed_metadata(&object["metadata"], context.params);
        if after
            .as_object()
            .is_some_and(|pairs| pairs.len() > MOST_PAIRS)
        {
            return Err(too_many_pairs("metadata"));
        }
    }
    (operation.run)(context)
}

fn ids(pattern: &str, path: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut parts = path.split('/');
    for wanted in pattern.split('/') {
        let part = parts.next()?;
        if wanted == "*" {
            found.push(part.to_owned());
        } else if wanted != part {
            return None;
        }
    }
    parts.next().is_none().then_some(found)
}

/// Whether the object has the value that a filter asks for, if it asks.
pub(crate) fn fits(object: &Value, params: &Value, name: &str) -> bool {
    params
        .get(name)
        .is_none_or(|wanted| object[name] == *wanted)
}
