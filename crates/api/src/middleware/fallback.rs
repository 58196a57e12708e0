//! Requests that no route takes: 404, 405 with `Allow`, and queries of routes that have none.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::OnceLock;

use actix_web::dev::{ResourceDef, ServiceRequest};
use actix_web::http::Method;
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web};

use serde::Deserialize;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::{Paths, RefOr, SecurityRequirement};

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

/// A path, which may hold `{parameters}`, and the methods that it takes.
struct Path {
    text: String,
    /// It is compiled when an address is first compared with it: most never are.
    pattern: OnceLock<ResourceDef>,
    parameters: usize,
    methods: Vec<Method>,
    /// Where others are that some addresses match as well: `bulk` beside `{id}`.
    siblings: Vec<usize>,
}

impl Path {
    fn is_match(&self, address: &str) -> bool {
        self.pattern
            .get_or_init(|| ResourceDef::new(self.text.as_str()))
            .is_match(address)
    }
}

/// Whether an address may match both patterns.
fn are_siblings(one: &str, other: &str) -> bool {
    let is_open = |part: &str| part.contains('{');
    let mut parts = (one.split('/'), other.split('/'));
    loop {
        match (parts.0.next(), parts.1.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if one == other || is_open(one) || is_open(other) => {}
            _ => return false,
        }
    }
}

/// The pattern that a request's path matches, in its extensions, so that it is looked for once.
pub(crate) struct Matched(Option<Rc<str>>);

impl Matched {
    /// Looks for it and keeps it.
    pub(crate) fn of(request: &ServiceRequest) -> Option<Rc<str>> {
        let pattern: Option<Rc<str>> = request.match_pattern().map(Rc::from);
        request.extensions_mut().insert(Self(pattern.clone()));
        pattern
    }

    /// What was kept; else, outside of the app, it is looked for.
    fn kept(request: &HttpRequest) -> Option<Rc<str>> {
        if let Some(Self(pattern)) = request.extensions().get::<Self>() {
            return pattern.clone();
        }
        request.match_pattern().map(Rc::from)
    }
}

/// Which methods each path takes, and which of them have query parameters. Built from what
/// the routes say of themselves, so that it can only say what is documented.
#[derive(Default)]
pub struct RouteTable {
    paths: Vec<Path>,
    /// Where in `paths` each pattern is.
    places: HashMap<String, usize>,
    /// Whether an operation, by its pattern, has query parameters. Its handler reads them then.
    queried: HashMap<String, Vec<(Method, bool)>>,
    /// The operations, by their patterns, that a publishable key may ask for.
    public: HashMap<String, Vec<Method>>,
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
    /// The operations of a description.
    #[must_use]
    pub fn from_paths(paths: &Paths) -> Self {
        let mut table = Self::default();
        let paths = paths.paths.iter();
        for (path, item) in paths.filter(|(path, _)| !is_for_browsers(path)) {
            let mut taken = Vec::new();
            for (method, operation) in operations(item) {
                let parameters = operation.parameters.iter().flatten();
                let has_query = parameters.into_iter().any(is_of_query);
                if takes_publishable_key(operation) {
                    let public = table.public.entry(path.clone()).or_default();
                    public.push(method.clone());
                }
                let queried = table.queried.entry(path.clone()).or_default();
                queried.push((method.clone(), has_query));
                taken.push(method);
            }
            table = table.with(path, taken);
        }
        table
    }

    /// The table with one more path, which may hold `{parameters}`.
    #[must_use]
    pub fn with(mut self, path: &str, methods: impl IntoIterator<Item = Method>) -> Self {
        let place = self.paths.len();
        let mut siblings = Vec::new();
        for (other, known) in self.paths.iter_mut().enumerate() {
            if are_siblings(&known.text, path) {
                known.siblings.push(place);
                siblings.push(other);
            }
        }
        self.places.insert(path.to_owned(), place);
        self.paths.push(Path {
            text: path.to_owned(),
            pattern: OnceLock::new(),
            parameters: path.matches('{').count(),
            methods: methods.into_iter().collect(),
            siblings,
        });
        self
    }

    /// Refuses the query of an operation that has no query parameters: nothing is silently dropped.
    ///
    /// # Errors
    /// 400 about the first parameter.
    pub(crate) fn check_query(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let query = request.query_string();
        if query.is_empty() {
            return Ok(());
        }
        let pattern = Matched::kept(request);
        let operations = pattern.and_then(|pattern| self.queried.get(&*pattern));
        let has_none = (request.method().clone(), false);
        if operations.is_some_and(|operations| operations.contains(&has_none)) {
            return from_query::<NoParameters>(query).map(|_| ());
        }
        Ok(())
    }

    /// Whether a publishable key may ask for this: the document says so of the operation.
    pub(crate) fn is_public(&self, request: &HttpRequest) -> bool {
        let pattern = Matched::kept(request);
        let methods = pattern.and_then(|pattern| self.public.get(&*pattern));
        methods.is_some_and(|methods| methods.contains(request.method()))
    }

    /// Refuses a method that only a sibling of the path takes: `bulk` is no id.
    ///
    /// # Errors
    /// 405.
    pub(crate) fn check_method(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let path = request.path();
        let place = Matched::kept(request).and_then(|pattern| self.places.get(&*pattern).copied());
        let allowed = match place.and_then(|place| self.paths.get(place)) {
            Some(known) => {
                let siblings = known.siblings.iter();
                let siblings = siblings.filter_map(|place| self.paths.get(*place));
                let matching = siblings.filter(|sibling| sibling.is_match(path));
                allowed(std::iter::once(known).chain(matching))
            }
            None => self.allowed(path),
        };
        if allowed.is_empty() || allowed.contains(request.method()) {
            Ok(())
        } else {
            Err(ApiError::method_not_allowed(&allowed))
        }
    }

    /// The methods of the patterns that `path` matches. Empty: there is no such path.
    fn allowed(&self, path: &str) -> Vec<Method> {
        let known = self.paths.iter();
        allowed(known.filter(|known| known.is_match(path)))
    }
}

/// The methods of what an address matches, HEAD wherever there is GET. Where that is several, those
/// with the fewest parameters are meant.
fn allowed<'a>(matching: impl Iterator<Item = &'a Path>) -> Vec<Method> {
    let matching: Vec<&Path> = matching.collect();
    let fewest = matching.iter().map(|path| path.parameters).min();
    let meant = matching
        .into_iter()
        .filter(|path| Some(path.parameters) == fewest);
    let mut allowed: Vec<Method> = Vec::new();
    for method in meant.flat_map(|path| &path.methods) {
        if !allowed.contains(method) {
            allowed.push(method.clone());
            if *method == Method::GET {
                allowed.push(Method::HEAD);
            }
        }
    }
    allowed
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
        let table = RouteTable::from_paths(&paths.build());
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

    #[test]
    fn siblings_are_what_one_address_may_match() {
        let table = RouteTable::default()
            .with("/v1/things/{id}", [Method::GET])
            .with("/v1/things/bulk", [Method::PUT])
            .with("/v1/things", [Method::POST])
            .with("/v1/things/{id}/parts", [Method::GET])
            .with("/v1/others/{id}", [Method::GET]);
        let siblings: Vec<&[usize]> = table
            .paths
            .iter()
            .map(|path| path.siblings.as_slice())
            .collect();
        assert_eq!(siblings, [&[1][..], &[0], &[], &[], &[]]);
    }
}
