//! The addresses of hosts: one of IPv4 and one of IPv6 each, the same in every emulation, since each has namespaces of its own.

use farspan_units::HostId;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network of the IPv4 addresses, 10.0.0.0/8: host 0 is 10.0.0.1.
const V4_NETWORK: u32 = 10 << 24;
pub(crate) const V4_PREFIX: u8 = 8;

/// The network of the IPv6 addresses, a unique local one (RFC 4193): host 0 is fd66:6172:7370::1.
const V6_NETWORK: u128 = 0xfd66_6172_7370 << 80;
pub(crate) const V6_PREFIX: u8 = 64;

/// The IPv4 address of a host.
#[must_use]
pub fn v4(host: HostId) -> Ipv4Addr {
    Ipv4Addr::from(V4_NETWORK + host.0 + 1)
}

/// The IPv6 address of a host.
#[must_use]
pub fn v6(host: HostId) -> Ipv6Addr {
    Ipv6Addr::from(V6_NETWORK + u128::from(host.0) + 1)
}

/// The host with this address, among so many.
#[must_use]
pub fn host_of(address: IpAddr, hosts: u32) -> Option<HostId> {
    let number = match address {
        IpAddr::V4(address) => u128::from(u32::from(address).checked_sub(V4_NETWORK)?),
        IpAddr::V6(address) => u128::from(address).checked_sub(V6_NETWORK)?,
    };
    let host = u32::try_from(number.checked_sub(1)?).ok()?;
    (host < hosts).then_some(HostId(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_its_addresses_and_nothing_else_is() {
        for host in [0, 1, 255, 65_535].map(HostId) {
            assert_eq!(host_of(v4(host).into(), 65_536), Some(host));
            assert_eq!(host_of(v6(host).into(), 65_536), Some(host));
            assert_eq!(host_of(v6(host).into(), host.0), None, "there are fewer hosts");
        }
        let text =
            ["10.0.0.0", "9.255.255.255", "10.0.0.3", "192.0.2.1", "fd66:6172:7370::", "fe80::1", "ff02::16"];
        for address in text {
            assert_eq!(host_of(address.parse().unwrap(), 2), None, "{address}");
        }
        assert_eq!(
            (v4(HostId(0)).to_string(), v6(HostId(1)).to_string()),
            ("10.0.0.1".into(), "fd66:6172:7370::2".into())
        );
    }
}
