//! How far the database had come when a request was answered.

use super::runner::Runner;
use crate::telemetry::outage;

impl Runner {
    /// Notes how far the log has come by now, where callers are told: what a second phase answers shows
    /// what others have committed meanwhile, the worker of another process among them.
    pub(super) async fn note_now(&self) {
        if self.state.replica.is_none() {
            return;
        }
        let noted = async { self.begin().await?.commit().await };
        if let Err(error) = noted.await {
            outage::hinders(
                "the caller is told of the request's own commits alone",
                &error,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use actix_web::body::to_bytes;
    use actix_web::http::header::AUTHORIZATION;
    use actix_web::middleware::from_fn;
    use actix_web::test::{TestRequest, call_service, init_service};
    use actix_web::{HttpResponse, get, post, web};
    use lessor_adapters::postgres::{LastCommit, PgReplica, PgSettings};
    use lessor_domain::ports::{Database, Page, Start};
    use lessor_domain::services::categories::{CreateCategory, ListCategories};
    use lessor_domain::text::Name;
    use serde_json::Value;

    use crate::http::error::ApiError;
    use crate::http::routing::Routes;
    use crate::idempotency::Call;
    use crate::middleware::{require_key, tell_position};
    use crate::run::app;
    use crate::state::replica::Replica;
    use crate::testing::Bench;

    #[utoipa::path(responses((status = 200)))]
    #[post("/shelves/{name}")]
    async fn make(call: Call, name: web::Path<String>) -> Result<HttpResponse, ApiError> {
        let name = Name::parse(&name).map_err(ApiError::internal)?;
        call.post(CreateCategory { name }, b"", |category, _| {
            category.name.to_string()
        })
        .await
    }

    #[utoipa::path(responses((status = 200)))]
    #[get("/shelves")]
    async fn list(call: Call) -> Result<HttpResponse, ApiError> {
        let page = Page {
            start: Start::Offset(0),
            limit: 20,
        };
        let listed = call.list(ListCategories { page }).await?;
        let names = listed.items.iter().map(|it| it.name.to_string());
        Ok(HttpResponse::Ok().json(names.collect::<Vec<_>>()))
    }

    fn routes(routes: &mut Routes<'_>) {
        let with_key = |routes: &mut Routes<'_>| {
            routes.service(make).service(list);
        };
        routes.scope("/v1", with_key, |scope| {
            scope
                .wrap(from_fn(tell_position))
                .wrap(from_fn(require_key))
        });
    }

    /// A replica that nobody reaches.
    fn unreachable(bench: &Bench) -> Replica {
        let settings = PgSettings::new("postgres://nobody@127.0.0.1:1/nothing?sslmode=disable");
        let database = bench.database.clone();
        let noting = move |last_commit: LastCommit| -> Arc<dyn Database> {
            Arc::new(database.noting(last_commit))
        };
        Replica::new(PgReplica::new(&settings).unwrap(), Arc::new(noting))
    }

    /// What came of a request: status, position, body.
    async fn send(bench: &Bench, request: TestRequest) -> (u16, Option<String>, Value) {
        let app = app::build(&bench.parts(), routes).app_data(bench.state.clone());
        let app = init_service(app).await;
        let key = format!("Bearer {}", bench.key());
        let request = request.insert_header((AUTHORIZATION, key)).to_request();
        let answer = call_service(&app, request).await;
        let position = answer.headers().get("lessor-position");
        let position = position.map(|it| it.to_str().unwrap().to_owned());
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body()).await.unwrap();
        (
            status,
            position,
            serde_json::from_slice(&body).unwrap_or_default(),
        )
    }

    fn make_shelf(name: &str) -> TestRequest {
        TestRequest::post().uri(&format!("/v1/shelves/{name}"))
    }

    fn list_at(position: &str) -> TestRequest {
        TestRequest::get()
            .uri("/v1/shelves")
            .insert_header(("Lessor-Position", position))
    }

    #[actix_web::test]
    async fn answers_to_changes_tell_their_position_where_there_is_a_replica() {
        let mut bench = Bench::new().await;
        let (status, position, _) = send(&bench, make_shelf("a")).await;
        assert_eq!((status, position), (200, None));
        bench.state = bench.state.clone().listing_from(unreachable(&bench));
        let mut last = String::new();
        for name in ["b", "c"] {
            let (status, position, _) = send(&bench, make_shelf(name)).await;
            let position = position.unwrap();
            assert_eq!(status, 200);
            assert!(position > last, "{position} after {last}");
            last = position;
        }
        // What was refused was not committed; what is repeated is answered as of now.
        let (status, position, _) = send(&bench, make_shelf("c")).await;
        assert_eq!((status, position), (400, None));
        let once = || make_shelf("d").insert_header(("Idempotency-Key", "d"));
        let (_, first, _) = send(&bench, once()).await;
        let (_, again, _) = send(&bench, once()).await;
        assert!(
            first.is_some() && again > first,
            "{again:?} after {first:?}"
        );
        let asked = TestRequest::get().uri("/v1/shelves");
        let (status, position, listed) = send(&bench, asked).await;
        assert_eq!((status, position), (200, None));
        assert_eq!(listed.as_array().map(Vec::len), Some(4));
    }

    #[actix_web::test]
    async fn the_primary_answers_where_the_replica_does_not() {
        let mut bench = Bench::new().await;
        bench.state = bench.state.clone().listing_from(unreachable(&bench));
        let (_, position, _) = send(&bench, make_shelf("a")).await;
        let position = position.unwrap();
        for _ in 0..3 {
            let (status, _, listed) = send(&bench, list_at(&position)).await;
            assert_eq!((status, listed), (200, serde_json::json!(["a"])));
        }
    }

    #[actix_web::test]
    async fn a_list_refuses_what_is_no_position() {
        let mut bench = Bench::new().await;
        for has_replica in [false, true] {
            if has_replica {
                bench.state = bench.state.clone().listing_from(unreachable(&bench));
            }
            let (status, _, body) = send(&bench, list_at("0/16B3748")).await;
            assert_eq!(status, 400, "{body}");
            assert_eq!(body["error"]["code"], "invalid_parameter");
            assert_eq!(body["error"]["param"], "Lessor-Position");
        }
    }
}
