//! Upload and removal of a logo, as a browser sends them.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use switchyard_core::language::Language;
use switchyard_core::limits::{LOGO_FILE_BYTES, LOGO_SIDE};
use switchyard_engine::access::Logo;
use switchyard_users::{AuditQuery, Role};

use super::{Shown, World};
use crate::console::text::Text;

/// A PNG of 2 by 2 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mPgjl8KRAwQCgAbSgQ9/meWtAAAAABJRU5ErkJggg==";
/// A PNG whose header names 50,000 by 50,000 pixels.
const BOMB: &str =
    "iVBORw0KGgoAAAANSUhEUgAAw1AAAMNQCAIAAADEzaqdAAAADElEQVR42mNgoD0AAABkAAG4me+ZAAAAAElFTkSuQmCC";

fn png() -> Vec<u8> {
    STANDARD.decode(PNG).unwrap()
}

impl World {
    /// Sends the form with the logo. `file`: its name and content.
    async fn send_logo(
        &self,
        path: &str,
        cookie: &str,
        texts: &[(&str, &str)],
        file: Option<(&str, &[u8])>,
    ) -> Shown {
        let mut body = Vec::new();
        for (name, value) in texts {
            let head = format!("--cut\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend_from_slice(format!("{head}{value}\r\n").as_bytes());
        }
        if let Some((name, content)) = file {
            let head = format!(
                "--cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
                 Content-Type: image/png\r\n\r\n"
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--cut--\r\n");
        let request = Request::post(path)
            .header("cookie", cookie)
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "multipart/form-data; boundary=cut");
        self.send(request, Body::from(body)).await
    }

    /// Uploads a file by the form on the page of the settings.
    async fn upload_logo(&self, cookie: &str, file: &[u8]) -> Shown {
        let page = self.get(&self.in_app("settings"), cookie).await;
        let (csrf, form) = (page.field("csrf"), page.field("form"));
        let texts = [("csrf", &*csrf), ("form", &*form), ("do", "upload")];
        let path = self.in_app("settings/logo");
        let file = Some(("logo.png", file));
        self.send_logo(&path, cookie, &texts, file).await
    }

    fn logo(&self) -> Option<Logo> {
        let app = self.test.engine.access().app(self.test.keys.app);
        app.unwrap().settings.logo.clone()
    }
}

#[tokio::test]
async fn an_uploaded_logo_is_shown_audited_and_removed_again() {
    let (world, cookie) = World::with_owner().await;
    let sent = world.upload_logo(&cookie, &png()).await;
    assert!(sent.leads_to().ends_with("settings?done=logo-saved"));
    let logo = world.logo().expect("the stored logo");
    let page = world.get(&world.in_app("settings"), &cookie).await;
    let shown = format!("<img src=\"{}\" alt=\"\">", logo.data_url());
    assert!(page.body.contains(&shown.replace('+', "&#43;")) || page.body.contains(&shown));
    let query = AuditQuery {
        limit: 1,
        ..AuditQuery::default()
    };
    let entry = world.users.audit(&query).await.unwrap().entries.remove(0);
    assert_eq!(entry.action, "manage_app_settings");
    assert!(entry.before["logo"].is_null());
    assert_eq!(entry.after["logo"], logo.path(world.test.keys.app));

    let (csrf, form) = (page.field("csrf"), page.field("form"));
    let texts = [("csrf", &*csrf), ("form", &*form), ("do", "remove")];
    let path = world.in_app("settings/logo");
    let removed = world.send_logo(&path, &cookie, &texts, None).await;
    assert!(removed.leads_to().ends_with("settings?done=logo-removed"));
    assert_eq!(world.logo(), None);
    let again = world.send_logo(&path, &cookie, &texts, None).await;
    assert_eq!(again.status, StatusCode::CONFLICT, "sent a second time");
}

#[tokio::test]
async fn a_file_that_is_no_logo_is_refused_beside_the_field() {
    let (world, cookie) = World::with_owner().await;
    assert!(
        world
            .upload_logo(&cookie, &png())
            .await
            .status
            .is_redirection()
    );
    let before = world.logo();
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec();
    let mut large = png();
    large.resize(LOGO_FILE_BYTES + 1, 0);
    let side = Text(Language::En).number(LOGO_SIDE.into());
    let values = [("kilobytes", "1024"), ("side", &*side)];
    for (file, message) in [
        (Vec::new(), "console-logo-empty"),
        (svg, "console-logo-format"),
        (b"GIF89a\x01\x00\x01\x00".to_vec(), "console-logo-format"),
        (png()[..50].to_vec(), "console-logo-damaged"),
        (large, "console-logo-large"),
        (STANDARD.decode(BOMB).unwrap(), "console-logo-pixels"),
    ] {
        let refused = world.upload_logo(&cookie, &file).await;
        assert_eq!(
            refused.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{message}"
        );
        let text = Text(Language::En).with(message, &values);
        let beside = refused.body.split("id=\"logo-file-error\"").nth(1);
        let beside = beside.unwrap_or_default().split("</p>").next();
        assert!(beside.unwrap_or_default().contains(&text), "{message}");
        assert_eq!(world.logo(), before, "{message}");
    }
}

#[tokio::test]
async fn only_roles_that_manage_the_settings_change_the_logo_and_only_with_their_token() {
    let (world, owner) = World::with_owner().await;
    for (role, may) in [
        (Role::Admin, true),
        (Role::Developer, true),
        (Role::Finance, false),
        (Role::Support, false),
        (Role::Viewer, false),
    ] {
        let cookie = world.member(&owner, role).await;
        let page = world.get(&world.in_app("settings"), &cookie).await;
        assert_eq!(page.body.contains("type=\"file\""), may, "{role}");
        let account = world.get("/console/account", &cookie).await;
        let csrf = account.field("csrf");
        let texts = [("csrf", &*csrf), ("do", "upload")];
        let file = png();
        let file = Some(("logo.png", &*file));
        let path = world.in_app("settings/logo");
        let sent = world.send_logo(&path, &cookie, &texts, file).await;
        match may {
            true => assert!(sent.leads_to().contains("logo-saved"), "{role}"),
            false => assert_eq!(sent.status, StatusCode::FORBIDDEN, "{role}"),
        }
    }
    let access = world.test.engine.access();
    let app = world.test.keys.app;
    access.change_logo(app, None).await.unwrap();
    let path = world.in_app("settings/logo");
    let file = png();
    let texts = [("csrf", "guessed"), ("do", "upload")];
    let file = Some(("logo.png", &*file));
    let forged = world.send_logo(&path, &owner, &texts, file).await;
    assert_eq!(forged.status, StatusCode::BAD_REQUEST);
    let account = access.create_account("Other").await.unwrap().id;
    let other = world.app_of(account).await;
    let csrf = world.get("/console/account", &owner).await.field("csrf");
    let theirs = format!("/console/apps/{other}/sandbox/settings/logo");
    let texts = [("csrf", &*csrf), ("do", "upload")];
    let missing = world.send_logo(&theirs, &owner, &texts, file).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    for app in [app, other] {
        assert_eq!(access.app(app).unwrap().settings.logo, None);
    }
}
