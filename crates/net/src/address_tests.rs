//! Addresses that have been used to get where one should not.

use std::net::IpAddr;

use proptest::prelude::*;

use crate::address::{Zone, zone};

const PRIVATE: &[&str] = &[
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.255",
    "10.0.0.0",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.255.255",
    "169.254.0.1",
    "169.254.255.254",
    "100.64.0.1",
    "100.127.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:10.1.2.3",
    "::ffff:192.168.1.1",
    "::127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:c0a8:101::",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:10::1",
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456:789a::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "4000::1",
    "1::1",
];

const FORBIDDEN: &[&str] = &[
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "100.100.100.200",
    "0.0.0.0",
    "0.1.2.3",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::ffff:169.254.169.254",
    "::ffff:0.0.0.0",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "fd00:ec2::254",
    "fd20:ce::254",
    "ff02::1",
    "ff0e::1",
];

const PUBLIC: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "192.169.0.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
];

#[test]
fn every_address_is_in_its_zone() {
    for (expected, addresses) in
        [(Zone::Private, PRIVATE), (Zone::Forbidden, FORBIDDEN), (Zone::Public, PUBLIC)]
    {
        for text in addresses {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(zone(address), expected, "{text}");
        }
    }
}

proptest! {
    #[test]
    fn wrapping_an_address_makes_nothing_better(bits in any::<u32>()) {
        let plain = std::net::Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = plain.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let expected = zone(IpAddr::V4(plain));
        prop_assert_eq!(zone(IpAddr::V6(plain.to_ipv6_mapped())), expected);
        let nat64 = std::net::Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
        prop_assert_eq!(zone(IpAddr::V6(nat64)), expected);
        let six_to_four = std::net::Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1);
        prop_assert_eq!(zone(IpAddr::V6(six_to_four)), expected);
    }
}
