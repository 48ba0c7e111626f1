//! The ranges of IP addresses, from the IANA special-purpose registries, and what each is for us.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Scope of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressScope {
    Public,
    /// This machine or the network around it: allowed in development mode.
    Private(&'static str),
    /// Reserved, or a server that gives credentials to every client.
    Never(&'static str),
}

pub fn scope_of(address: IpAddr) -> AddressScope {
    match address {
        IpAddr::V4(address) => scope_of_v4(address),
        IpAddr::V6(address) => scope_of_v6(address),
    }
}

fn scope_of_v4(address: Ipv4Addr) -> AddressScope {
    let find = |ranges: &[(&str, u8, &'static str)]| {
        ranges
            .iter()
            .find(|(network, bits, _)| is_within_v4(address, network, *bits))
            .map(|(_, _, what)| *what)
    };
    if let Some(what) = find(NEVER_V4) {
        return AddressScope::Never(what);
    }
    find(PRIVATE_V4).map_or(AddressScope::Public, AddressScope::Private)
}

fn scope_of_v6(address: Ipv6Addr) -> AddressScope {
    let find = |ranges: &[(&str, u8, &'static str)]| {
        ranges
            .iter()
            .find(|(network, bits, _)| is_within_v6(address, network, *bits))
            .map(|(_, _, what)| *what)
    };
    if let Some(what) = find(NEVER_V6) {
        return AddressScope::Never(what);
    }
    if let Some(what) = find(PRIVATE_V6) {
        return AddressScope::Private(what);
    }
    if is_within_v6(address, "64:ff9b::", 96) {
        // An IPv6-only machine reaches the IPv4 world through NAT64: as public as the address
        // inside, and never private.
        let [.., high, low] = address.segments();
        let inside = Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
        return match scope_of_v4(inside) {
            AddressScope::Public => AddressScope::Public,
            AddressScope::Private(_) | AddressScope::Never(_) => {
                AddressScope::Never("a private IPv4 address behind NAT64")
            }
        };
    }
    if is_within_v6(address, "2000::", 3) {
        AddressScope::Public
    } else {
        AddressScope::Never("outside the addresses in use")
    }
}

fn is_within_v4(address: Ipv4Addr, network: &str, bits: u8) -> bool {
    let network: Ipv4Addr = network.parse().expect("the table has IPv4 addresses");
    let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
    u32::from(address) & mask == u32::from(network) & mask
}

fn is_within_v6(address: Ipv6Addr, network: &str, bits: u8) -> bool {
    let network: Ipv6Addr = network.parse().expect("the table has IPv6 addresses");
    let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
    u128::from(address) & mask == u128::from(network) & mask
}

const PRIVATE_V4: &[(&str, u8, &str)] = &[
    ("127.0.0.0", 8, "this machine itself"),
    ("10.0.0.0", 8, "in a private network"),
    ("172.16.0.0", 12, "in a private network"),
    ("192.168.0.0", 16, "in a private network"),
    ("100.64.0.0", 10, "in a carrier's shared network"),
];

const NEVER_V4: &[(&str, u8, &str)] = &[
    ("0.0.0.0", 8, "no address of a host"),
    (
        "169.254.0.0",
        16,
        "link-local, where clouds keep credentials",
    ),
    ("100.100.100.200", 32, "a cloud's metadata service"),
    ("168.63.129.16", 32, "a cloud's own control service"),
    ("192.0.0.0", 24, "reserved for protocols"),
    ("192.0.2.0", 24, "for documentation"),
    ("198.51.100.0", 24, "for documentation"),
    ("203.0.113.0", 24, "for documentation"),
    ("192.88.99.0", 24, "a 6to4 relay"),
    ("198.18.0.0", 15, "for benchmarks"),
    ("224.0.0.0", 4, "multicast"),
    ("240.0.0.0", 4, "reserved"),
];

const PRIVATE_V6: &[(&str, u8, &str)] = &[
    ("::1", 128, "this machine itself"),
    ("fc00::", 7, "in a private network"),
];

const NEVER_V6: &[(&str, u8, &str)] = &[
    ("::", 128, "no address of a host"),
    ("::ffff:0:0", 96, "an IPv4 address in disguise"),
    ("::ffff:0:0:0", 96, "an IPv4 address in disguise"),
    ("64:ff9b:1::", 48, "a local NAT64 prefix"),
    ("100::", 64, "discarded by routers"),
    (
        "2001::",
        23,
        "reserved for protocols (Teredo, ORCHID, benchmarks)",
    ),
    ("2001:db8::", 32, "for documentation"),
    ("3fff::", 20, "for documentation"),
    ("2002::", 16, "an IPv4 address in disguise (6to4)"),
    ("5f00::", 16, "a segment routing identifier"),
    ("fd00:ec2::", 32, "a cloud's metadata service"),
    ("fd20:ce::254", 128, "a cloud's metadata service"),
    ("fe80::", 10, "link-local"),
    ("fec0::", 10, "site-local"),
    ("ff00::", 8, "multicast"),
];
