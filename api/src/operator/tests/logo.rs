//! Logo of an app, over the operator API.

use axum::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use switchyard_core::limits::LOGO_FILE_BYTES;

use super::*;

/// A PNG of 2 by 2 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mPgjl8KRAwQCgAbSgQ9/meWtAAAAABJRU5ErkJggg==";

impl World {
    async fn put_file(&self, path: &str, file: Vec<u8>) -> (u16, Value) {
        let token = self.keys.operator_token.expose();
        let request = Request::builder()
            .method(Method::PUT)
            .uri(path)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/octet-stream")
            .body(HttpBody::from(file))
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        (response.status().as_u16(), read(response).await)
    }
}

#[tokio::test]
async fn a_logo_is_uploaded_kept_by_other_changes_and_removed() {
    let world = World::new().await;
    let app = format!("/apps/{}", world.app());
    let logo = format!("{app}/logo");
    let file = STANDARD.decode(PNG).unwrap();
    let (status, answer) = world.put_file(&logo, file).await;
    assert_eq!(status, 200, "{answer}");
    let path = answer["data"]["settings"]["logo"].as_str().unwrap();
    let start = format!("/icons/logos/{}-", world.app());
    assert!(path.starts_with(&start), "{path}");
    let change = json!({ "settings": { "locale": "fr" } });
    let changed = world.done("PATCH", &app, change).await;
    assert_eq!(changed["settings"]["logo"], path);
    let (status, _) = world.call("DELETE", &logo, Value::Null).await;
    assert_eq!(status, 200);
    assert!(world.get(&app).await["settings"]["logo"].is_null());
}

#[tokio::test]
async fn a_file_that_is_no_logo_is_refused_with_its_reason() {
    let world = World::new().await;
    let logo = format!("/apps/{}/logo", world.app());
    for (file, reason) in [
        (Vec::new(), "empty"),
        (b"<svg/>".to_vec(), "PNG, JPEG or WebP"),
        (vec![0; LOGO_FILE_BYTES + 1], "larger than 1024 KiB"),
        (STANDARD.decode(PNG).unwrap()[..50].to_vec(), "damaged"),
    ] {
        let (status, answer) = world.put_file(&logo, file).await;
        let problem = &answer["errors"][0];
        assert_eq!((status, &problem["field"]), (422, &json!("logo")));
        let message = problem["message"].as_str().unwrap();
        assert!(message.contains(reason), "{message}");
    }
    let missing = "/apps/app_01h00000000000000000000000/logo";
    let file = STANDARD.decode(PNG).unwrap();
    assert_eq!(world.put_file(missing, file).await.0, 404);
    let in_settings = json!({ "settings": { "logo": "data:image/png;base64,iVBORw0KGgo=" } });
    let app = format!("/apps/{}", world.app());
    let refused = world.refused("PATCH", &app, in_settings).await;
    assert_eq!(
        refused,
        (422, "field_invalid".to_owned()),
        "there is one way"
    );
}
