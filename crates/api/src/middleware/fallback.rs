//! Requests that no route takes: 404, 405 with `Allow`, and queries of routes that have none.

use std::collections::{HashMap, HashSet};

use actix_web::dev::ResourceDef;
use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, web};

use serde::Deserialize;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::{OpenApi, RefOr, SecurityRequirement};

use crate::http::error::ApiError;
use crate::http::openapi::{PUBLISHABLE_KEY, is_for_browsers};
use crate::request::from_query;

/// The operations of a path, by their methods.
fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    [
        (Method::DELETE, &item.delete),
        (Method::GET, &item.get),
        (Method::PATCH, &item.patch),
        (Method::POST, &item.post),
        (Method::PUT, &item.put),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

/// Which methods each path takes, and which of them have query parameters. Built from the OpenAPI
/// document, so that it can only say what is documented.
#[derive(Default)]
pub struct RouteTable {
    /// With how many parameters each pattern has.
    methods: Vec<(ResourceDef, usize, Vec<Method>)>,
    /// Whether an operation, by its pattern, has query parameters. Its handler reads them then.
    queried: HashMap<(Method, String), bool>,
    /// The operations, by their patterns, that a publishable key may ask for.
    public: HashSet<(Method, String)>,
}

/// Whether one of the ways to be let in is a publishable key.
fn takes_publishable_key(operation: &Operation) -> bool {
    let way = SecurityRequirement::new(PUBLISHABLE_KEY, Vec::<String>::new());
    operation
        .security
        .as_ref()
        .is_some_and(|ways| ways.contains(&way))
}

/// Whether a parameter is, or may be, one of the query.
fn is_of_query(parameter: &RefOr<Parameter>) -> bool {
    match parameter {
        RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Query,
        RefOr::Ref(_) => true,
    }
}

/// The query of an operation without query parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {}

impl RouteTable {
    /// The operations of a document.
    #[must_use]
    pub fn from_document(document: &OpenApi) -> Self {
        let mut table = Self::default();
        let paths = document.paths.paths.iter();
        for (path, item) in paths.filter(|(path, _)| !is_for_browsers(path)) {
            let mut taken = Vec::new();
            for (method, operation) in operations(item) {
                let parameters = operation.parameters.iter().flatten();
                let has_query = parameters.into_iter().any(is_of_query);
                let named = (method.clone(), path.clone());
                if takes_publishable_key(operation) {
                    table.public.insert(named.clone());
                }
                table.queried.insert(named, has_query);
                taken.push(method);
            }
            table = table.with(path, taken);
        }
        table
    }

    /// The table with one more path, which may hold `{parameters}`.
    #[must_use]
    pub fn with(mut self, path: &str, methods: impl IntoIterator<Item = Method>) -> Self {
        let parameters = path.matches('{').count();
        self.methods.push((
            ResourceDef::new(path),
            parameters,
            methods.into_iter().collect(),
        ));
        self
    }

    /// Refuses the query of an operation that has no query parameters: nothing is silently dropped.
    ///
    /// # Errors
    /// 400 about the first parameter.
    pub(crate) fn check_query(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let query = request.query_string();
        let operation = request
            .match_pattern()
            .map(|pattern| (request.method().clone(), pattern));
        match operation {
            Some(operation)
                if !query.is_empty() && self.queried.get(&operation) == Some(&false) =>
            {
                from_query::<NoParameters>(query).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Whether a publishable key may ask for this: the document says so of the operation.
    pub(crate) fn is_public(&self, request: &HttpRequest) -> bool {
        let pattern = request.match_pattern();
        pattern.is_some_and(|pattern| self.public.contains(&(request.method().clone(), pattern)))
    }

    /// Refuses a method that only a sibling of the path takes: `bulk` is no id.
    ///
    /// # Errors
    /// 405.
    pub(crate) fn check_method(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let allowed = self.allowed(request.path());
        if allowed.is_empty() || allowed.contains(request.method()) {
            Ok(())
        } else {
            Err(ApiError::method_not_allowed(&allowed))
        }
    }

    /// The methods of the pattern that `path` matches, HEAD wherever there is GET. Where several do,
    /// those with the fewest parameters are meant. Empty: there is no such path.
    fn allowed(&self, path: &str) -> Vec<Method> {
        let mut allowed: Vec<Method> = Vec::new();
        let matching: Vec<_> = self
            .methods
            .iter()
            .filter(|(pattern, _, _)| pattern.is_match(path))
            .collect();
        let fewest = matching.iter().map(|(_, parameters, _)| *parameters).min();
        let meant = matching
            .into_iter()
            .filter(|(_, parameters, _)| Some(*parameters) == fewest);
        for method in meant.flat_map(|(_, _, methods)| methods) {
            if !allowed.contains(method) {
                allowed.push(method.clone());
                if *method == Method::GET {
                    allowed.push(Method::HEAD);
                }
            }
        }
        allowed
    }
}

/// The app's default service.
///
/// # Errors
/// Always: 405 for a path that takes other methods, else 404.
pub async fn fallback(
    request: HttpRequest,
    routes: web::Data<RouteTable>,
) -> Result<HttpResponse, ApiError> {
    let allowed = routes.allowed(request.path());
    if allowed.is_empty() {
        Err(ApiError::not_found("path"))
    } else {
        Err(ApiError::method_not_allowed(&allowed))
    }
}

#[cfg(test)]
mod tests {
    use utoipa::openapi::path::HttpMethod;
    use utoipa::openapi::{Info, Paths};

    use super::*;

    #[test]
    fn the_pattern_with_the_fewest_parameters_is_meant() {
        let operations = |methods: &[HttpMethod]| {
            PathItem::from_http_methods(methods.to_vec(), Operation::new())
        };
        let one = [HttpMethod::Get, HttpMethod::Delete];
        let paths = Paths::builder()
            .path("/v1/things/bulk", operations(&[HttpMethod::Put]))
            .path("/v1/things/{id}", operations(&one))
            .path("/v1/things", operations(&[HttpMethod::Post]));
        let table = RouteTable::from_document(&OpenApi::new(Info::new("", ""), paths));
        let allowed = |path: &str| {
            let mut allowed = table.allowed(path);
            allowed.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
            allowed
        };
        assert_eq!(allowed("/v1/things"), [Method::POST]);
        assert_eq!(
            allowed("/v1/things/x"),
            [Method::DELETE, Method::GET, Method::HEAD]
        );
        assert_eq!(allowed("/v1/things/bulk"), [Method::PUT]);
        for path in ["/v1", "/v1/things/", "/v1/things/x/y", "/", "*", ""] {
            assert!(allowed(path).is_empty(), "{path}");
        }
    }
}
