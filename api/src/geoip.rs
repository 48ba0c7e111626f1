//! The country of an address, from a MaxMind DB file (GeoLite2 Country, DB-IP and others) that the operator supplies.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use maxminddb::Reader;

/// A file of countries by address, in memory. Cloning gives another handle.
#[derive(Clone)]
pub struct GeoIp(Arc<Reader<Vec<u8>>>);

impl GeoIp {
    /// Reads a file.
    ///
    /// # Errors
    /// When the file cannot be read or is not a MaxMind DB.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let reader = Reader::open_readfile(path).with_context(|| {
            format!(
                "server.geoip_file: cannot use {} (it has to be a MaxMind DB file with countries, `.mmdb`)",
                path.display()
            )
        })?;
        Ok(Self(Arc::new(reader)))
    }

    /// ISO 3166-1 alpha-2 code of the country of `address`; `None` where the file has none.
    pub fn country(&self, address: IpAddr) -> Option<String> {
        let found: maxminddb::geoip2::Country<'_> =
            self.0.lookup(address).ok()?.decode().ok()??;
        found.country.iso_code.map(str::to_owned)
    }
}

impl fmt::Debug for GeoIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.metadata().database_type)
    }
}
