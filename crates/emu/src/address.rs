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

/// The first two bytes of the IPv4 addresses of switches, and their IPv6 network: beside those of hosts.
const V4_SWITCHES: u32 = V4_NETWORK | 1 << 16;
const V6_SWITCHES: u128 = V6_NETWORK | 1 << 64;

/// The IPv4 address that a switch has in what it says itself: 10.1.0.1, 10.1.1.1, ...
#[must_use]
pub fn switch_v4(switch: u32) -> Ipv4Addr {
    Ipv4Addr::from(V4_SWITCHES + (switch << 8) + 1)
}

/// The IPv6 address that a switch has in what it says itself: fd66:6172:7370:1::1, fd66:6172:7370:1::2, ...
#[must_use]
pub fn switch_v6(switch: u32) -> Ipv6Addr {
    Ipv6Addr::from(V6_SWITCHES + u128::from(switch) + 1)
}

/// Whether an address is one of the hosts' network, whether or not a host has it: neither all of them, nor the network itself.
#[must_use]
pub fn is_in_network(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let (number, last) = (u32::from(address), u32::MAX >> V4_PREFIX);
            number & !last == V4_NETWORK && number & last != 0 && number & last != last
        }
        IpAddr::V6(address) => {
            let number = u128::from(address);
            number >> (128 - V6_PREFIX) == V6_NETWORK >> (128 - V6_PREFIX) && number != V6_NETWORK
        }
    }
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
        for (address, is_in) in [
            ("10.0.0.1", true),
            ("10.9.9.9", true),
            ("10.0.0.0", false),
            ("10.255.255.255", false),
            ("11.0.0.1", false),
            ("fd66:6172:7370::77", true),
            ("fd66:6172:7370::", false),
            ("fd66:6172:7370:1::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_in_network(address.parse().unwrap()), is_in, "{address}");
        }
        assert_eq!(
            (switch_v4(0).to_string(), switch_v4(300).to_string(), switch_v6(1).to_string()),
            ("10.1.0.1".into(), "10.2.44.1".into(), "fd66:6172:7370:1::2".into())
        );
        assert_eq!(
            (v4(HostId(0)).to_string(), v6(HostId(1)).to_string()),
            ("10.0.0.1".into(), "fd66:6172:7370::2".into())
        );
    }
}
