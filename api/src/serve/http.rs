//! Settings of the HTTP server.

use std::sync::Arc;

use super::admission::Totals;
use crate::config::Settings;
use crate::geoip::GeoIp;
use crate::operations::{self, DiskReserve};
use crate::state::{HttpSettings, StreamLimits};
use crate::utils::MethodIcons;

/// # Errors
/// When a file or folder that the settings name cannot be read.
pub fn settings(
    settings: &Settings,
    totals: Totals,
    disk_reserve: Option<DiskReserve>,
) -> anyhow::Result<HttpSettings> {
    let geoip = settings.server.geoip_file.as_deref().map(GeoIp::open);
    let icons = settings.service.icons.as_deref().map(MethodIcons::read);
    Ok(HttpSettings {
        client_address_header: Some(operations::CLIENT_ADDRESS.to_owned()),
        client_country_header: Some(operations::CLIENT_COUNTRY.to_owned()),
        development: settings.development,
        streams: StreamLimits {
            total: totals.streams,
            per_address: settings.server.max_streams_per_address as usize,
            per_payment: settings.server.max_streams_per_payment as usize,
        },
        geoip: geoip.transpose()?,
        method_icons: Arc::new(icons.transpose()?.unwrap_or_default()),
        second_person: settings.operator.second_person,
        disk_reserve,
        excluded_countries: settings.payment.excluded_countries.clone(),
    })
}
