//! The country of an address, from a MaxMind DB file (GeoLite2 Country, DB-IP and others) that the
//! operator supplies.

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

#[cfg(test)]
pub(crate) mod tests {
    use std::fs::{self, File};

    use maxminddb::geoip2;
    use maxminddb_writer::Database;
    use maxminddb_writer::metadata::IpVersion;
    use maxminddb_writer::paths::IpAddrWithMask;

    use super::*;

    /// Writes a file as GeoLite2 Country and DB-IP Lite are: a tree of IPv6 networks, with those of
    /// IPv4 in its first /96. Each network has a country, or only one of its registration.
    pub(crate) fn write(path: &Path, networks: &[(&str, Option<&str>)]) {
        let mut database = Database::default();
        database.metadata.ip_version = IpVersion::V6;
        database.metadata.binary_format_major_version = 2;
        database.metadata.database_type = "GeoLite2-Country".to_owned();
        for (network, country) in networks {
            let mut record = geoip2::Country::default();
            record.continent.code = Some("AF");
            record.registered_country.iso_code = Some("FR");
            record.country.iso_code = *country;
            record.country.geoname_id = Some(2_395_170);
            record.country.names.english = Some("A country");
            let network: IpAddrWithMask = network.parse().unwrap();
            let record = database.insert_value(&record).unwrap();
            database.insert_node(network, record);
        }
        database.write_to(File::create(path).unwrap()).unwrap();
    }

    #[test]
    fn the_country_of_an_address_is_read_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        let networks = [
            ("::41.85.160.0/115", Some("BJ")),
            ("::198.51.100.0/120", None),
            ("2001:db8:1::/48", Some("CI")),
        ];
        write(&path, &networks);
        let file = GeoIp::open(&path).unwrap();
        for (address, country) in [
            ("41.85.160.1", Some("BJ")),
            ("41.85.191.255", Some("BJ")),
            ("41.85.192.0", None),
            // The country of the registration is not where the payer is.
            ("198.51.100.7", None),
            ("2001:db8:1:2::3", Some("CI")),
            ("2001:db8:2::1", None),
            ("127.0.0.1", None),
        ] {
            let found = file.country(address.parse().unwrap());
            assert_eq!(found.as_deref(), country, "{address}");
        }
        assert_eq!(format!("{file:?}"), "GeoLite2-Country");
    }

    #[test]
    fn a_file_that_is_none_is_refused_with_the_name_of_the_setting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        for content in [None, Some("no database"), Some("")] {
            if let Some(content) = content {
                fs::write(&path, content).unwrap();
            }
            let refused = GeoIp::open(&path).unwrap_err().to_string();
            assert!(refused.contains("server.geoip_file"), "{refused}");
            assert!(refused.contains("countries.mmdb"), "{refused}");
        }
    }
}
