//! Where routes are registered: with an app, which answers them, or with a description of them, which answers nothing.
//! The same function registers both, so that what is described is what is answered.
//!
//! An app has no description about it. That of all schemas takes four megabytes, and each of them is described by
//! every route that shows it: who serves makes it when it is asked for, and keeps its text alone.
//!
//! The framework compares a path with the expression of one route after the other. Those of a scope are in groups of one
//! method and one form of path, which is seen without an expression: a request meets that of its own group alone.

use std::collections::BTreeMap;

use actix_web::dev::HttpServiceFactory;
use actix_web::guard::{Guard, GuardContext};
use actix_web::http::Method;
use actix_web::{Scope, web};
use memchr::memchr;
use percent_encoding::percent_decode_str;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Paths, RefOr};
use utoipa_actix_web::OpenApiFactory;

/// What registers routes.
pub type Register = fn(&mut Routes<'_>);

/// Where routes are registered.
pub struct Routes<'r>(To<'r>);

enum To<'r> {
    App(&'r mut web::ServiceConfig),
    Groups(&'r mut Groups),
    Description {
        /// What stands before the paths.
        prefix: String,
        of: &'r mut Description,
    },
}

/// What routes say of themselves.
#[derive(Default)]
pub struct Description {
    /// Their operations.
    pub paths: Paths,
    /// What these show and take, by name; none where nobody asks for that.
    pub schemas: Option<BTreeMap<String, RefOr<Schema>>>,
}

impl Description {
    /// The operations of routes, without what they show.
    #[must_use]
    pub fn operations(register: impl FnOnce(&mut Routes<'_>)) -> Paths {
        let mut description = Self::default();
        register(&mut Routes::described_in(&mut description));
        description.paths
    }

    /// All that routes say of themselves.
    #[must_use]
    pub fn whole(register: impl FnOnce(&mut Routes<'_>)) -> Self {
        let mut description = Self {
            schemas: Some(BTreeMap::new()),
            ..Self::default()
        };
        register(&mut Routes::described_in(&mut description));
        description
    }

    fn add(&mut self, prefix: &str, route: &impl OpenApiFactory) {
        let mut paths = Paths::new();
        let described = route.paths().paths.into_iter();
        paths
            .paths
            .extend(described.map(|(path, item)| (format!("{prefix}{path}"), item)));
        self.paths.merge(paths);
        if let Some(schemas) = &mut self.schemas {
            let mut shown = Vec::new();
            route.schemas(&mut shown);
            schemas.extend(shown);
        }
    }
}

/// The operations of a path, by their methods.
pub(crate) fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
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

/// What the requests of a group of routes have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    /// How their paths begin, as far as they do alike.
    begin: String,
    /// How they end behind that, as far as they do alike.
    end: String,
    /// What stands between the slashes; none where that may be anything.
    parts: Vec<Option<String>>,
    /// Whether that is one part alone, so that nothing else is open between how they begin and how they end.
    is_open_once: bool,
    /// None: they have any, and their paths go on as they like.
    method: Option<Method>,
}

impl Group {
    /// That of a path; without a method it is how others begin.
    fn of(path: &str, method: Option<Method>) -> Self {
        let (begin, _) = path.split_once('{').unwrap_or((path, ""));
        let (_, end) = path.rsplit_once('}').unwrap_or_default();
        let part = |part: &str| (!part.contains('{')).then(|| part.to_owned());
        let parts: Vec<Option<String>> = path.split('/').map(part).collect();
        let open = parts.iter().filter(|part| part.is_none()).count();
        Self {
            begin: begin.to_owned(),
            end: method.as_ref().map_or("", |_| end).to_owned(),
            parts,
            is_open_once: open == 1 && method.is_some(),
            method,
        }
    }

    /// What stands between how its paths begin and how they end; none where a path does not, unless it is written otherwise.
    fn between<'p>(&self, path: &'p str) -> Option<&'p str> {
        let behind = path.strip_prefix(&*self.begin)?;
        // That it ends with nothing is not looked for: see `scopes`.
        if self.end.is_empty() {
            return Some(behind);
        }
        behind.strip_suffix(&*self.end)
    }

    fn has(&self, path: &str) -> bool {
        let mut given = path.split('/');
        let is_so = self.parts.iter().all(|part| {
            let given = given.next();
            given.is_some_and(|given| part.as_deref().is_none_or(|part| means(given, part)))
        });
        is_so && (self.method.is_none() || given.next().is_none())
    }
}

/// Whether a part of a path is this one: what is written otherwise means the same.
fn means(given: &str, part: &str) -> bool {
    given == part || is_escaped(given) && percent_decode_str(given).eq(part.bytes())
}

fn is_escaped(path: &str) -> bool {
    memchr(b'%', path.as_bytes()).is_some()
}

impl Guard for Group {
    fn check(&self, context: &GuardContext<'_>) -> bool {
        let head = context.head();
        let path = head.uri.path();
        let is_of_method = self.method.as_ref().is_none_or(|it| *it == head.method);
        // What has nearly all others seen to be others, before anything is taken apart.
        is_of_method
            && match self.between(path) {
                Some(between) if self.is_open_once => memchr(b'/', between.as_bytes()).is_none(),
                Some(_) => self.has(path),
                None => is_escaped(path) && self.has(path),
            }
    }
}

/// The routes of a scope, in groups; each has the order of its routes.
struct Groups {
    prefix: String,
    groups: Vec<(Group, Vec<Answers>)>,
}

/// What has a route answered by an app.
type Answers = Box<dyn FnOnce(&mut web::ServiceConfig)>;

impl Groups {
    fn of(prefix: &str, register: impl FnOnce(&mut Routes<'_>)) -> Self {
        let mut groups = Self {
            prefix: prefix.to_owned(),
            groups: Vec::new(),
        };
        register(&mut Routes(To::Groups(&mut groups)));
        groups
    }

    fn add_route<S>(&mut self, route: S)
    where
        S: HttpServiceFactory + OpenApiFactory + 'static,
    {
        let described = route.paths().paths.into_iter().next();
        let (path, item) = described.unwrap_or_default();
        let method = operations(&item).next().map(|(method, _)| method);
        self.add(&path, method, route);
    }

    fn add<S>(&mut self, path: &str, method: Option<Method>, service: S)
    where
        S: HttpServiceFactory + 'static,
    {
        let group = Group::of(&format!("{}{path}", self.prefix), method);
        let answers: Answers = Box::new(|app| {
            app.service(service);
        });
        match self.groups.iter_mut().find(|(of, _)| *of == group) {
            Some((_, routes)) => routes.push(answers),
            None => self.groups.push((group, vec![answers])),
        }
    }

    /// A scope for each of them, and one for what none of them has. Beside each other and in no scope of theirs, which would be
    /// one more on each request's way; and one of no path at all is a text of no bytes that is nowhere in memory, to look whether a
    /// path begins with which takes some processors (AVX-512) a tenth of a microsecond.
    fn scopes<S>(mut self, around: impl Fn(Scope) -> S) -> impl Iterator<Item = S> {
        // They are asked one after the other, and most requests read. Who may have any path comes last: nothing is asked behind
        // whoever has a request.
        self.groups.sort_by_key(|(group, _)| {
            let has_any_path = group.begin.trim_end_matches('/') == self.prefix;
            let writes = (group.method.as_ref()).is_some_and(|method| *method != Method::GET);
            (has_any_path, writes)
        });
        let scope = move || web::scope(&self.prefix);
        let rest = around(scope());
        let groups = self.groups.into_iter().map(move |(group, routes)| {
            let routes = |app: &mut web::ServiceConfig| {
                routes.into_iter().for_each(|answers| answers(app));
            };
            around(scope().guard(group).configure(routes))
        });
        groups.chain([rest])
    }
}

impl<'r> Routes<'r> {
    /// Routes that an app answers.
    pub const fn answered_by(app: &'r mut web::ServiceConfig) -> Self {
        Self(To::App(app))
    }

    const fn described_in(of: &'r mut Description) -> Self {
        let prefix = String::new();
        Self(To::Description { prefix, of })
    }

    /// One route.
    pub fn service<S>(&mut self, route: S) -> &mut Self
    where
        S: HttpServiceFactory + OpenApiFactory + 'static,
    {
        match &mut self.0 {
            To::App(app) => {
                app.service(route);
            }
            To::Groups(groups) => groups.add_route(route),
            To::Description { prefix, of } => of.add(prefix, &route),
        }
        self
    }

    /// All routes of a part of the surface.
    pub fn configure(&mut self, register: impl FnOnce(&mut Routes<'_>)) -> &mut Self {
        register(self);
        self
    }

    /// Routes whose paths begin alike, and what is around them alone.
    pub fn scope<S>(
        &mut self,
        prefix: &str,
        register: impl FnOnce(&mut Routes<'_>),
        around: impl Fn(Scope) -> S,
    ) -> &mut Self
    where
        S: HttpServiceFactory + 'static,
    {
        match &mut self.0 {
            To::App(app) => {
                for scope in Groups::of(prefix, register).scopes(around) {
                    app.service(scope);
                }
            }
            To::Groups(groups) => {
                let scope = web::scope(prefix);
                let scope = scope.configure(|app| register(&mut Routes::answered_by(app)));
                groups.add(prefix, None, around(scope));
            }
            To::Description { prefix: before, of } => register(&mut Routes(To::Description {
                prefix: format!("{before}{prefix}"),
                of,
            })),
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::VARY;
    use actix_web::middleware::DefaultHeaders;
    use actix_web::test::{TestRequest, call_service, init_service, read_body};
    use actix_web::{App, HttpResponse, get, post};

    use super::*;

    /// A toy.
    #[utoipa::path(responses((status = 200)))]
    #[get("/toys/{id}")]
    async fn toy() -> HttpResponse {
        HttpResponse::Ok().body("toy")
    }

    /// Some toys.
    #[utoipa::path(responses((status = 200)))]
    #[get("/toys/some")]
    async fn some() -> HttpResponse {
        HttpResponse::Ok().body("some")
    }

    /// A part of a toy.
    #[utoipa::path(responses((status = 200)))]
    #[get("/toys/{id}/wheel")]
    async fn wheel() -> HttpResponse {
        HttpResponse::Ok().body("wheel")
    }

    /// Buys a toy.
    #[utoipa::path(responses((status = 200)))]
    #[post("/toys/{id}")]
    async fn buy() -> HttpResponse {
        HttpResponse::Ok().body("bought")
    }

    /// What is not in a part of its own.
    #[utoipa::path(responses((status = 200)))]
    #[get("/{other}/rest")]
    async fn rest() -> HttpResponse {
        HttpResponse::Ok().body("rest")
    }

    #[utoipa::path(responses((status = 200)))]
    #[get("/about")]
    async fn about() -> HttpResponse {
        HttpResponse::Ok().body("about")
    }

    fn toys(routes: &mut Routes<'_>) {
        routes
            .service(rest)
            .service(some)
            .service(toy)
            .service(wheel)
            .service(buy)
            .scope("/shop", |shop| _ = shop.service(about), |shop| shop);
    }

    fn register(routes: &mut Routes<'_>) {
        let around = DefaultHeaders::new().add((VARY, "toys"));
        routes
            .scope("/v1", toys, |scope| scope.wrap(around.clone()))
            .service(about);
    }

    #[actix_web::test]
    async fn what_is_described_is_what_is_answered() {
        let paths = Description::operations(register);
        let described: Vec<&str> = paths.paths.keys().map(String::as_str).collect();
        assert_eq!(
            described,
            [
                "/about",
                "/v1/shop/about",
                "/v1/toys/some",
                "/v1/toys/{id}",
                "/v1/toys/{id}/wheel",
                "/v1/{other}/rest"
            ]
        );
        let app = App::new().configure(|app| register(&mut Routes::answered_by(app)));
        let app = init_service(app).await;
        for (method, path, answered) in [
            (Method::GET, "/v1/toys/1", Some("toy")),
            (Method::GET, "/v1/toys/some", Some("some")),
            (Method::POST, "/v1/toys/1", Some("bought")),
            (Method::GET, "/v1/toys/1/wheel", Some("wheel")),
            (Method::GET, "/v1/toys/a%2Fb", Some("toy")),
            (Method::GET, "/v1/toys/1/wheel/2", None),
            (Method::GET, "/v1/toys/1/", None),
            (Method::GET, "/v1/shop/about", Some("about")),
            (Method::GET, "/v1/things/rest", Some("rest")),
            // Written otherwise.
            (Method::GET, "/v1/%74oys/%31", Some("toy")),
            (Method::GET, "/%761/toys/1", Some("toy")),
            (Method::GET, "/v1/toys/1/%77heel", Some("wheel")),
            (Method::PUT, "/v1/toys/1", None),
            (Method::GET, "/v1/toysome", None),
            (Method::GET, "/v1/toys", None),
            (Method::GET, "/v1/toys%2F1", None),
            (Method::GET, "/v1", None),
            (Method::GET, "/toys/1", None),
        ] {
            let request = TestRequest::default().method(method.clone()).uri(path);
            let answer = call_service(&app, request.to_request()).await;
            let is_in_scope = answer.headers().contains_key("vary");
            assert_eq!(is_in_scope, path != "/toys/1", "{method} {path}");
            let is_found = answer.status().is_success();
            let body = read_body(answer).await;
            let body = std::str::from_utf8(&body).ok().filter(|_| is_found);
            assert_eq!(body, answered, "{method} {path}");
        }
        let outside = call_service(&app, TestRequest::get().uri("/about").to_request()).await;
        assert!(!outside.headers().contains_key("vary"));
        assert_eq!(read_body(outside).await, "about");
    }
}
