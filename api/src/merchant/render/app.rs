//! The app that a transaction belongs to (docs/contract/resources.md).

use serde::Serialize;
use switchyard_core::ids::AppId;
use switchyard_engine::access::App;
use utoipa::ToSchema;

use super::RenderContext;
use crate::iso_timestamp::IsoTimestamp;

/// The verify form.
#[derive(Serialize, ToSchema)]
pub struct AppVerified<'a> {
    #[schema(value_type = String)]
    id: AppId,
    name: &'a str,
    icon_url: String,
    /// Empty when the app has none.
    website_url: &'a str,
    #[schema(value_type = String, format = DateTime)]
    created_at: IsoTimestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: IsoTimestamp,
    is_enabled: bool,
}

/// The retrieve form.
#[derive(Serialize, ToSchema)]
pub struct AppRetrieved<'a> {
    #[schema(value_type = String)]
    id: AppId,
    name: &'a str,
    icon_url: String,
}

impl<'a> AppVerified<'a> {
    pub fn new(context: &RenderContext<'a>) -> Self {
        let app = context.app;
        Self {
            id: app.id,
            name: &app.name,
            icon_url: icon_url(context, app),
            website_url: app.website_url.as_deref().unwrap_or_default(),
            created_at: IsoTimestamp(app.created_at),
            updated_at: IsoTimestamp(app.updated_at),
            is_enabled: app.is_enabled,
        }
    }
}

impl<'a> AppRetrieved<'a> {
    pub fn new(context: &RenderContext<'a>) -> Self {
        Self {
            id: context.app.id,
            name: &context.app.name,
            icon_url: icon_url(context, context.app),
        }
    }
}

/// The app's own icon, or one of ours with its initials.
fn icon_url(context: &RenderContext<'_>, app: &App) -> String {
    let own = app.icon_url.clone().filter(|url| !url.is_empty());
    own.unwrap_or_else(|| context.url(&format!("/icons/apps/{}.svg", app.id)))
}
