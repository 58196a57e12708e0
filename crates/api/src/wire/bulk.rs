//! Bulk updates: each item on its own, in order.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use lessor_domain::ids::{IdError, PublicId};
use lessor_domain::services::UseCase;
use serde::de::{
    DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor,
    value::MapAccessDeserializer,
};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{List, RawObject, schemas};

/// The longest text that can be an id, in characters.
const ID_MAX: usize = 64;

/// An item of a bulk update: an `id`, and beside it the members of the single update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkItem<T> {
    /// What is to be updated.
    pub id: String,
    /// The update.
    pub update: T,
}

impl<T> BulkItem<T> {
    /// The id of what is to be updated.
    ///
    /// # Errors
    /// 404 of `what` for what is no id, as for an id that nothing has; 400 for no text at all, or one that is too long.
    pub fn id<P: FromStr<Err = IdError>>(&self, what: &'static str) -> Result<P, ApiError> {
        if self.id.trim().is_empty() {
            return Err(ApiError::invalid("id", "id: must not be empty"));
        }
        if self.id.chars().count() > ID_MAX {
            let message = format!("id: must be at most {ID_MAX} characters long");
            return Err(ApiError::invalid("id", message));
        }
        self.id.parse().map_err(|_| ApiError::not_found(what))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BulkItem<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ItemVisitor(PhantomData))
    }
}

struct ItemVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ItemVisitor<T> {
    type Value = BulkItem<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut id = None;
        let update = T::deserialize(MapAccessDeserializer::new(WithoutId { map, id: &mut id }))?;
        let id = id.ok_or_else(|| serde::de::Error::missing_field("id"))?;
        Ok(BulkItem { id, update })
    }
}

/// The members of an object but for `id`.
struct WithoutId<'a, A> {
    map: A,
    id: &'a mut Option<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithoutId<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        while let Some(name) = self.map.next_key::<String>()? {
            if name != "id" {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
            *self.id = Some(self.map.next_value()?);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// An update that a bulk request can hold: what it is told by.
pub trait BulkUpdate {
    /// The public id of what is updated.
    type Id: PublicId;
}

impl<T: ToSchema + BulkUpdate> PartialSchema for BulkItem<T> {
    fn schema() -> RefOr<Schema> {
        let mut schema = T::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            let id = schemas::id::<T::Id>()
                .extensions(None)
                .description(Some("The public id of what is to be updated."));
            object.title = Some(Self::name().into_owned());
            object.properties.insert("id".to_owned(), id.into());
            object.required.push("id".to_owned());
        }
        schema
    }
}

impl<T: ToSchema + BulkUpdate> ToSchema for BulkItem<T> {
    fn name() -> Cow<'static, str> {
        format!("Bulk{}Item", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}

/// An update of a bulk request that was not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkError {
    /// The `id` as it was sent; empty when there was none.
    pub id: String,
    /// What is wrong, for a person.
    pub error: String,
    /// The machine-readable code, as in error answers.
    pub code: String,
    /// The parameter at fault: its path in the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The place of the update in the request, from 0.
    pub index: usize,
}

/// Runs the command of each item, one after the other, in a unit of work of its own. What fails fails
/// alone. Each counts as a request.
///
/// # Errors
/// The service is stopping.
pub async fn bulk<T, U, R, const MAX: usize, const MIN: usize>(
    call: &Call,
    items: List<RawObject, MAX, MIN>,
    command: impl Fn(BulkItem<T>) -> Result<U, ApiError> + Send + 'static,
    show: impl Fn(U::Output) -> R + Send + 'static,
) -> Result<(Vec<R>, Vec<BulkError>), ApiError>
where
    T: DeserializeOwned + Send,
    U: UseCase,
    R: Send + 'static,
{
    call.count_items(items.as_slice().len());
    call.run(|runner| async move {
        let mut results = Vec::new();
        let mut errors = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let updated = match item.parse().and_then(&command) {
                Ok(command) => runner.once(command).await.map_err(ApiError::from),
                Err(error) => Err(error),
            };
            match updated {
                Ok(updated) => results.push(show(updated)),
                Err(error) => errors.push(BulkError {
                    id: item.text("id").unwrap_or_default(),
                    error: error.message().to_owned(),
                    code: error.code().as_str().to_owned(),
                    param: error.param().map(str::to_owned),
                    index,
                }),
            }
        }
        Ok((results, errors))
    })
    .await
}
