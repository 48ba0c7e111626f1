//! `GET /icons/{kind}/{name}.svg`: the icons that answers point to, drawn by the directory.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use switchyard_core::directory::{Icon, icon_svg, method_svg};
use switchyard_core::ids::AppId;
use switchyard_core::money::Currency;
use switchyard_engine::engine::Engine;

use crate::frame;
use crate::state::ApiState;

pub async fn icon(
    State(state): State<ApiState>,
    uri: Uri,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Response {
    if let Ok(Path((kind, file))) = &path
        && let Some((media_type, cached, bytes)) = supplied(&state, kind, file)
    {
        let mut response = (HEADERS, bytes).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cached));
        return response;
    }
    let drawn = path.ok().and_then(|Path((kind, file))| {
        let name = file.strip_suffix(".svg")?;
        draw(state.engine(), &kind, name)
    });
    match drawn {
        Some(svg) => (HEADERS, svg).into_response(),
        None => frame::nothing_at(&uri).into_response(),
    }
}

/// A picture that an operator or a merchant supplied: media type, time in caches, and bytes.
fn supplied(
    state: &ApiState,
    kind: &str,
    file: &str,
) -> Option<(&'static str, &'static str, Vec<u8>)> {
    match kind {
        "methods" => {
            let icon = state
                .settings()
                .method_icons
                .of(file.strip_suffix(".svg")?)?;
            Some((icon.media_type, A_DAY, icon.bytes.clone()))
        }
        "logos" => {
            let (app, mark) = file.split_once('-')?;
            let app: AppId = app.parse().ok()?;
            let app = state.engine().access().app(app)?;
            let logo = app.settings.logo.as_ref();
            // An earlier picture is not what its address promises for ever.
            let logo = logo.filter(|logo| logo.mark() == mark)?;
            Some((logo.media_type(), FOR_EVER, logo.bytes().to_vec()))
        }
        _ => None,
    }
}

fn draw(engine: &Engine, kind: &str, name: &str) -> Option<String> {
    match kind {
        "methods" => {
            let directory = engine.directory();
            let method = directory
                .payment_method(name)
                .or_else(|| directory.payout_method(name))?;
            Some(method_svg(method))
        }
        "currencies" => {
            let currency = Currency::from_code(&name.to_ascii_uppercase())?;
            Some(icon_svg(currency.code(), Icon::Currency))
        }
        "gateways" => {
            let version = engine.gateways().current(name)?;
            Some(icon_svg(&version.manifest.title, Icon::Gateway))
        }
        "apps" => {
            let app = engine.access().app(name.parse().ok()?)?;
            Some(icon_svg(&app.name, Icon::Gateway))
        }
        "avatars" => {
            let is_initials =
                (1..=2).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_uppercase());
            is_initials.then(|| icon_svg(name, Icon::Currency))
        }
        _ => None,
    }
}

/// A drawing is displayed only and runs no code, even when it is opened as a page.
const HEADERS: [(HeaderName, &str); 4] = [
    (CONTENT_TYPE, "image/svg+xml"),
    (CACHE_CONTROL, A_DAY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
];
const A_DAY: &str = "public, max-age=86400";
/// For an address that changes with the picture.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
