//! Trusted proxies, whose headers name the address of a client.

use std::net::IpAddr;

/// Proxies that may name a client's address. Empty: the address of the connection counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<Network>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    base: IpAddr,
    bits: u8,
}

impl TrustedProxies {
    /// Reads addresses and networks (`10.0.0.0/8`). The error is the text that is neither.
    pub fn parse(texts: &[String]) -> Result<Self, String> {
        let networks = texts
            .iter()
            .map(|text| Network::parse(text).ok_or_else(|| text.clone()));
        networks.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a network among them is so large that it holds foreign addresses.
    pub fn trusts_everyone(&self) -> bool {
        let too_wide = |network: &Network| match network.base {
            IpAddr::V4(_) => network.bits < 8,
            IpAddr::V6(_) => network.bits < 7,
        };
        self.0.iter().any(too_wide)
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The client's address: the connection's own, unless that is a trusted proxy; then the last
    /// entry of `X-Forwarded-For` that is not itself a trusted proxy. A client's own entries in
    /// that header come before it and are not read.
    pub fn client(&self, peer: IpAddr, forwarded_for: Option<&str>) -> IpAddr {
        let mut client = peer;
        let entries = forwarded_for.unwrap_or_default().rsplit(',');
        for entry in entries {
            if !self.contains(client) {
                break;
            }
            match entry.trim().parse::<IpAddr>() {
                Ok(address) => client = address.to_canonical(),
                Err(_) => break,
            }
        }
        client
    }
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base.parse::<IpAddr>().ok()?, Some(bits.parse::<u8>().ok()?)),
            None => (text.parse::<IpAddr>().ok()?, None),
        };
        let width = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(width);
        (bits <= width).then_some(Self { base, bits })
    }

    fn contains(self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let away = u32::from(base) ^ u32::from(address);
                away.checked_shr(32 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let away = u128::from(base) ^ u128::from(address);
                away.checked_shr(128 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(texts: &[&str]) -> TrustedProxies {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        TrustedProxies::parse(&texts).unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_client_that_is_no_proxy_cannot_name_its_own_address() {
        let trusted = proxies(&["10.0.0.0/8"]);
        assert_eq!(
            trusted.client(address("203.0.113.9"), Some("1.1.1.1")),
            address("203.0.113.9")
        );
        assert_eq!(
            proxies(&[]).client(address("10.0.0.1"), Some("1.1.1.1")),
            address("10.0.0.1")
        );
    }

    #[test]
    fn behind_proxies_the_client_is_the_last_entry_that_no_proxy_of_ours_has() {
        let trusted = proxies(&["10.0.0.0/8", "2001:db8::1"]);
        let header = Some("6.6.6.6, 203.0.113.9, 10.0.0.7");
        assert_eq!(
            trusted.client(address("10.0.0.1"), header),
            address("203.0.113.9")
        );
        assert_eq!(
            trusted.client(address("::ffff:10.0.0.1"), header),
            address("203.0.113.9")
        );
        assert_eq!(
            trusted.client(address("10.0.0.1"), Some("nonsense")),
            address("10.0.0.1")
        );
        assert_eq!(
            trusted.client(address("10.0.0.1"), None),
            address("10.0.0.1")
        );
    }

    #[test]
    fn networks_are_read_with_their_width() {
        assert!(proxies(&["192.168.1.0/24"]).contains(address("192.168.1.255")));
        assert!(!proxies(&["192.168.1.0/24"]).contains(address("192.168.2.0")));
        assert!(proxies(&["fd00::/8"]).contains(address("fdff::1")));
        assert!(proxies(&["0.0.0.0/0"]).trusts_everyone());
        for bad in ["10.0.0.0/33", "proxy.example", "", "10.0.0.0/"] {
            assert!(TrustedProxies::parse(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
