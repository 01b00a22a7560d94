//! Which part of the world an address belongs to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is, as far as the guard cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Somewhere on the internet.
    Public,
    /// This machine, this network or this site: only where the policy allows it.
    Private,
    /// Never reached: a cloud's metadata service, a group, nobody, or nothing at all.
    Forbidden,
}

/// Metadata services that hand out credentials to whoever asks from the right machine. Most are
/// link-local and would be private; no configuration has a reason to reach them.
const METADATA_V4: [[u8; 4]; 4] =
    [[169, 254, 169, 254], [169, 254, 170, 2], [169, 254, 170, 23], [100, 100, 100, 200]];
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254),
    Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254),
];

/// The zone of `address`. IPv6 addresses that carry an IPv4 one are as that one is.
pub fn zone(address: IpAddr) -> Zone {
    match address {
        IpAddr::V4(address) => zone_v4(address),
        IpAddr::V6(address) => zone_v6(address),
    }
}

#[allow(clippy::match_same_arms)] // each range has its own reason
fn zone_v4(address: Ipv4Addr) -> Zone {
    let octets = address.octets();
    if METADATA_V4.contains(&octets) {
        return Zone::Forbidden;
    }
    match octets {
        // "This network", which most systems take for this machine.
        [0, ..] => Zone::Forbidden,
        // Multicast, reserved and broadcast.
        [224..=255, ..] => Zone::Forbidden,
        // Loopback; private; link-local.
        [127 | 10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [169, 254, ..] => Zone::Private,
        // Carrier-grade NAT.
        [100, 64..=127, ..] => Zone::Private,
        // Protocol assignments, documentation, the old 6to4 relay, benchmarks: nothing to talk to there.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18..=19, ..] => Zone::Private,
        [198, 51, 100, _] | [203, 0, 113, _] => Zone::Private,
        _ => Zone::Public,
    }
}

#[allow(clippy::match_same_arms)] // each range has its own reason
fn zone_v6(address: Ipv6Addr) -> Zone {
    if METADATA_V6.contains(&address) {
        return Zone::Forbidden;
    }
    let segments = address.segments();
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Zone::Forbidden,
        [0, 0, 0, 0, 0, 0, 0, 1] => Zone::Private,
        // IPv4-compatible (long gone), IPv4-mapped, and IPv4-translated addresses.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            embedded(high, low)
        }
        // NAT64, the well-known prefix and the local one.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, 1, ..] => Zone::Private,
        // 6to4 carries its IPv4 address right behind the prefix.
        [0x2002, high, low, ..] => embedded(high, low),
        // Teredo hides addresses where it likes; discard-only; documentation; other assignments.
        [0x2001, 0..=0x1ff, ..] | [0x100, 0, 0, 0, ..] => Zone::Private,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x5f00, ..] => Zone::Private,
        // Unique local, link-local, the old site-local.
        [0xfc00..=0xfdff | 0xfe80..=0xfeff, ..] => Zone::Private,
        [0xff00..=0xffff, ..] => Zone::Forbidden,
        // What is not handed out yet is nowhere to go.
        [0x2000..=0x3fff, ..] => Zone::Public,
        _ => Zone::Private,
    }
}

/// An IPv4 address inside an IPv6 one. Being wrapped makes nothing better.
fn embedded(high: u16, low: u16) -> Zone {
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    zone_v4(Ipv4Addr::new(a, b, c, d))
}
