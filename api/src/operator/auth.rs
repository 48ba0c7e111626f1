//! Authentication by operator token.

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::WWW_AUTHENTICATE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use switchyard_engine::access::Unauthorized;

use super::audit::{self, Created, Fields};
use crate::bearer::bearer;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::state::ApiState;
use crate::{client, to_end};

/// Lets operators through, and logs what they change.
pub async fn require_operator(
    State(state): State<ApiState>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(token) = bearer(request.headers()) else {
        return refused("The request must have one Authorization header with an operator token.");
    };
    let operator = match state.engine().access().authenticate_operator(token) {
        Ok(operator) => operator,
        Err(Unauthorized::Malformed) => {
            return refused("This is no operator token: its form or its checksum is wrong.");
        }
        Err(Unauthorized::Unknown | Unauthorized::Expired | Unauthorized::AppDisabled) => {
            return refused("This token does not exist, was revoked, or reads metrics only.");
        }
    };
    let (fields, uri) = (Fields::default(), request.uri().clone());
    let client = client::address(state.settings(), request.headers(), request.extensions());
    let query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let asked = audit::Request {
        operator: operator.clone(),
        client: client.map_or_else(|| "-".to_owned(), |address| address.to_string()),
        method: request.method().clone(),
        object: uri.path().to_owned(),
        query: query.map(|(name, _)| name.into_owned()).collect(),
        fields: fields.clone(),
    };
    request.extensions_mut().insert(operator);
    request.extensions_mut().insert(fields);
    // When the client hangs up, the change and its audit line are completed.
    let change = async move {
        let response = next.run(request).await;
        asked.log(
            response.status().as_u16(),
            response.extensions().get::<Created>(),
        );
        response
    };
    to_end::run(change).await
}

fn refused(reason: &str) -> Response {
    let problem = Problem::new(
        ErrorCode::OperatorTokenInvalid,
        "Unauthorized: invalid operator token",
    );
    let problem = problem.hint(format!(
        "{reason} Send `Authorization: Bearer <operator token>`; `switchyard operator-token` \
         makes one."
    ));
    let mut refused = ApiError::new(problem).into_response();
    let scheme = HeaderValue::from_static("Bearer");
    refused.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    refused
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn_with_state;
    use axum::routing::post;
    use tokio::sync::Semaphore;
    use tower::ServiceExt as _;

    use super::*;
    use crate::operator::tests::World;
    use crate::state::HttpSettings;

    /// Everything that is logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Log {
        fn text(&self) -> String {
            String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
        }
    }

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_refusal_says_what_is_wrong_with_the_token() {
        let world = World::new().await;
        let state = ApiState::new(world.engine.clone(), HttpSettings::default());
        let router = Router::new()
            .route("/apps", post(async || ()))
            .layer(from_fn_with_state(state, require_operator));
        let token = world.keys.operator_token.expose();
        let access = world.engine.access();
        let revoked = access.create_operator_token("ada", None).await.unwrap();
        access
            .delete_operator_token(revoked.token.id)
            .await
            .unwrap();
        for (sent, reason) in [
            (None, "must have one Authorization header"),
            (
                Some("switchyard_op_short"),
                "its form or its checksum is wrong.",
            ),
            (
                Some(revoked.secret.expose()),
                "does not exist, was revoked, or reads metrics only.",
            ),
            (Some(token), ""),
        ] {
            let mut request = Request::post("/apps");
            if let Some(token) = sent {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            let request = request.body(Body::empty()).unwrap();
            let answered = router.clone().oneshot(request).await.unwrap();
            if reason.is_empty() {
                assert_eq!(answered.status(), 200);
                continue;
            }
            assert_eq!(answered.status(), 401);
            assert_eq!(answered.headers()["www-authenticate"], "Bearer");
            let body = axum::body::to_bytes(answered.into_body(), 4_096)
                .await
                .unwrap();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert!(body.contains(reason), "{reason}: {body}");
        }
    }

    #[tokio::test]
    async fn a_change_whose_client_hangs_up_is_completed_and_logged() {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .finish();
        let _logged = tracing::subscriber::set_default(subscriber);
        let world = World::new().await;
        let state = ApiState::new(world.engine.clone(), HttpSettings::default());
        let (begun, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (has_begun, ends) = (begun.clone(), may_end.clone());
        let change = post(async move || {
            has_begun.add_permits(1);
            let _permit = ends.acquire().await;
        });
        let router = Router::new()
            .route("/apps", change)
            .layer(from_fn_with_state(state, require_operator));
        let token = world.keys.operator_token.expose();
        let request = Request::post("/apps")
            .header("authorization", format!("Bearer {token}"))
            .body(Body::empty())
            .unwrap();
        let request = tokio::spawn(router.oneshot(request));
        let _permit = begun.acquire().await.unwrap();
        request.abort();
        assert!(request.await.is_err_and(|error| error.is_cancelled()));
        assert!(!log.text().contains("operator action"));
        may_end.add_permits(1);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let text = log.text();
        assert!(text.contains("operator action"), "{text}");
        assert!(text.contains("/apps"), "{text}");
    }
}
