//! Which route a request is for, and what no route takes: 404, 405 with `Allow`, and queries of routes that have none.

use std::sync::Arc;

use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web};

use matchit::Router;
use serde::Deserialize;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{Paths, RefOr, SecurityRequirement};

use crate::http::error::ApiError;
use crate::http::openapi::{PUBLISHABLE_KEY, is_for_browsers};
use crate::http::routing::operations;
use crate::request::from_query;

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

/// A path, which may hold `{parameters}`.
#[derive(Debug)]
struct Path {
    text: Arc<str>,
    /// Those that callers are told of.
    operations: Vec<Taken>,
}

/// A method that a path takes.
#[derive(Clone, Debug)]
struct Taken {
    method: Method,
    /// Whether it has query parameters. Its handler reads them then.
    has_query: bool,
    /// Whether a publishable key may ask for it.
    is_public: bool,
}

impl Taken {
    fn new((method, operation): (Method, &Operation)) -> Self {
        let mut parameters = operation.parameters.iter().flatten();
        Self {
            method,
            has_query: parameters.any(is_of_query),
            is_public: takes_publishable_key(operation),
        }
    }
}

/// Which methods each path takes, and what of them. Built from what the routes say of themselves, so that it
/// can only say what is documented. Where an address is of two paths, the one that names it is meant: `bulk` is no
/// `{id}`.
#[derive(Default)]
pub struct RouteTable {
    /// By addresses.
    router: Router<Arc<Path>>,
    paths: Vec<Arc<Path>>,
}

impl RouteTable {
    /// The operations of a description.
    #[must_use]
    pub fn from_paths(paths: &Paths) -> Self {
        let mut table = Self::default();
        for (path, item) in &paths.paths {
            // Who browses is not told of methods.
            let told = operations(item).filter(|_| !is_for_browsers(path));
            table.add(Path {
                text: Arc::from(path.as_str()),
                operations: told.map(Taken::new).collect(),
            });
        }
        table
    }

    /// The same in memory of its own: each request counts who has its path, and threads that count in one place wait for each
    /// other.
    #[must_use]
    pub(crate) fn apart(&self) -> Self {
        let mut table = Self::default();
        for path in &self.paths {
            table.add(Path {
                text: Arc::from(&*path.text),
                operations: path.operations.clone(),
            });
        }
        table
    }

    /// The table with one more path, whose methods refuse no query.
    #[must_use]
    pub fn with(mut self, path: &str, methods: impl IntoIterator<Item = Method>) -> Self {
        let taken = methods.into_iter().map(|method| Taken {
            method,
            has_query: true,
            is_public: false,
        });
        self.add(Path {
            text: Arc::from(path),
            operations: taken.collect(),
        });
        self
    }

    fn add(&mut self, path: Path) {
        let path = Arc::new(path);
        if let Err(error) = self.router.insert(&*path.text, Arc::clone(&path)) {
            // Of what is missing here a method that no route takes is 404, no more.
            tracing::error!(%error, path = &*path.text, "a route cannot be told from others");
            return;
        }
        self.paths.push(path);
    }

    fn find(&self, address: &str) -> Option<&Arc<Path>> {
        self.router.at(address).ok().map(|found| found.value)
    }
}

/// The path that a request is for, if there is one. In its extensions, so that it is looked for once.
#[derive(Clone, Debug)]
pub(crate) struct Matched(Option<Arc<Path>>);

impl Matched {
    /// Looks for it and keeps it.
    pub(crate) fn of(request: &ServiceRequest) -> Self {
        let matched = Self::find(request.request());
        request.extensions_mut().insert(matched.clone());
        matched
    }

    /// What was kept; else it is looked for.
    pub(crate) fn kept(request: &HttpRequest) -> Self {
        let kept = request.extensions().get::<Self>().cloned();
        kept.unwrap_or_else(|| Self::find(request))
    }

    fn find(request: &HttpRequest) -> Self {
        let table = request.app_data::<web::Data<RouteTable>>();
        Self(table.and_then(|table| table.find(request.path()).cloned()))
    }

    /// The path as it is documented.
    pub(crate) fn route(&self) -> Arc<str> {
        match &self.0 {
            Some(path) => Arc::clone(&path.text),
            None => Arc::from("unmatched"),
        }
    }

    fn operations(&self) -> impl Iterator<Item = &Taken> {
        self.0.iter().flat_map(|path| &path.operations)
    }

    fn operation(&self, method: &Method) -> Option<&Taken> {
        self.operations().find(|taken| taken.method == *method)
    }

    /// The methods that it takes, HEAD wherever there is GET. Empty: there is no such path.
    fn allowed(&self) -> Vec<Method> {
        let mut allowed = Vec::new();
        for Taken { method, .. } in self.operations() {
            allowed.push(method.clone());
            if *method == Method::GET {
                allowed.push(Method::HEAD);
            }
        }
        allowed
    }

    /// Refuses the query of an operation that has no query parameters: nothing is silently dropped.
    ///
    /// # Errors
    /// 400 about the first parameter.
    pub(crate) fn check_query(&self, request: &HttpRequest) -> Result<(), ApiError> {
        /// The query of an operation without query parameters.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct NoParameters {}

        let query = request.query_string();
        match self.operation(request.method()) {
            Some(taken) if !taken.has_query && !query.is_empty() => {
                from_query::<NoParameters>(query).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Whether a publishable key may ask for this: the document says so of the operation.
    pub(crate) fn is_public(&self, method: &Method) -> bool {
        self.operation(method).is_some_and(|taken| taken.is_public)
    }

    /// Refuses a method that the path does not take, though another may that matches as well.
    ///
    /// # Errors
    /// 405.
    pub(crate) fn check_method(&self, method: &Method) -> Result<(), ApiError> {
        if self.operation(method).is_some() {
            return Ok(());
        }
        let allowed = self.allowed();
        if allowed.is_empty() || allowed.contains(method) {
            Ok(())
        } else {
            Err(ApiError::method_not_allowed(&allowed))
        }
    }
}

/// The app's default service.
///
/// # Errors
/// Always: 405 for a path that takes other methods, else 404.
pub async fn fallback(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let allowed = Matched::kept(&request).allowed();
    if allowed.is_empty() {
        Err(ApiError::not_found("path"))
    } else {
        Err(ApiError::method_not_allowed(&allowed))
    }
}

#[cfg(test)]
mod tests {
    use utoipa::openapi::path::{HttpMethod, PathItem};

    use super::*;

    #[test]
    fn the_path_that_names_an_address_is_meant() {
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
            let mut allowed = Matched(table.find(path).cloned()).allowed();
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
