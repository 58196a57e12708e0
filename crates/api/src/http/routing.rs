//! Where routes are registered: with an app, which answers them, or with a description of them, which answers nothing.
//! The same function registers both, so that what is described is what is answered.
//!
//! An app has no description about it. That of all schemas takes four megabytes, and each of them is described by
//! every route that shows it: who serves makes it when it is asked for, and keeps its text alone.

use std::collections::BTreeMap;

use actix_web::dev::HttpServiceFactory;
use actix_web::{Scope, web};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Paths, RefOr};
use utoipa_actix_web::OpenApiFactory;

/// What registers routes.
pub type Register = fn(&mut Routes<'_>);

/// Where routes are registered.
pub struct Routes<'r>(To<'r>);

enum To<'r> {
    App(&'r mut web::ServiceConfig),
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
        around: impl FnOnce(Scope) -> S,
    ) -> &mut Self
    where
        S: HttpServiceFactory + 'static,
    {
        match &mut self.0 {
            To::App(app) => {
                let scope = web::scope(prefix);
                let scope = scope.configure(|app| register(&mut Routes::answered_by(app)));
                app.service(around(scope));
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
    use actix_web::test::{TestRequest, call_service, init_service};
    use actix_web::{App, HttpResponse, get};

    use super::*;

    /// A toy.
    #[utoipa::path(responses((status = 200)))]
    #[get("/toys/{id}")]
    async fn toy() -> HttpResponse {
        HttpResponse::Ok().finish()
    }

    #[utoipa::path(responses((status = 200)))]
    #[get("/about")]
    async fn about() -> HttpResponse {
        HttpResponse::Ok().finish()
    }

    fn register(routes: &mut Routes<'_>) {
        let toys = |routes: &mut Routes<'_>| {
            routes.service(toy);
        };
        let around = DefaultHeaders::new().add((VARY, "toys"));
        routes
            .scope("/v1", toys, |scope| scope.wrap(around))
            .service(about);
    }

    #[actix_web::test]
    async fn what_is_described_is_what_is_answered() {
        let paths = Description::operations(register);
        let described: Vec<&str> = paths.paths.keys().map(String::as_str).collect();
        assert_eq!(described, ["/about", "/v1/toys/{id}"]);
        let app = App::new().configure(|app| register(&mut Routes::answered_by(app)));
        let app = init_service(app).await;
        for (path, status, is_surrounded) in [
            ("/v1/toys/1", 200, true),
            ("/toys/1", 404, false),
            ("/about", 200, false),
        ] {
            let answer = call_service(&app, TestRequest::get().uri(path).to_request()).await;
            assert_eq!(answer.status().as_u16(), status, "{path}");
            assert_eq!(
                answer.headers().contains_key("vary"),
                is_surrounded,
                "{path}"
            );
        }
    }
}
