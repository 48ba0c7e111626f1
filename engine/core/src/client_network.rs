//! Networks whose addresses belong to one client. Limits count a network, not an address: a
//! subscriber of IPv6 has a whole /64 network, and a site a whole /48.

use std::net::{IpAddr, Ipv6Addr};

/// Network of one subscriber: an IPv4 address, or the /64 network of an IPv6 address.
pub fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => first_bits(address, 64),
        address => address,
    }
}

/// Network of one site, of 65,536 subscribers: the /48 network of an IPv6 address. `None` for IPv4,
/// where one address has no such room.
pub fn site(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        IpAddr::V6(address) => Some(first_bits(address, 48)),
        IpAddr::V4(_) => None,
    }
}

fn first_bits(address: Ipv6Addr, bits: u32) -> IpAddr {
    let rest = 128 - bits;
    IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> rest << rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_client() {
        let of = |network: fn(IpAddr) -> Option<IpAddr>, text: &str| {
            network(text.parse().unwrap()).map(|network| network.to_string())
        };
        for (address, subscribed, located) in [
            ("192.0.2.1", "192.0.2.1", None),
            ("::ffff:192.0.2.1", "192.0.2.1", None),
            ("2001:db8::1", "2001:db8::", Some("2001:db8::")),
            ("2001:db8::ffff:1:2:3", "2001:db8::", Some("2001:db8::")),
            ("2001:db8:0:1::1", "2001:db8:0:1::", Some("2001:db8::")),
            ("2001:db8:7:1::1", "2001:db8:7:1::", Some("2001:db8:7::")),
        ] {
            let found = of(|address| Some(subscriber(address)), address);
            assert_eq!(found.as_deref(), Some(subscribed), "{address}");
            assert_eq!(of(site, address).as_deref(), located, "{address}");
        }
    }
}
