//! The guard against requests to addresses that are not public.
//!
//! The client never resolves the spelling of an address, so that a filter of resolved names alone would let literals pass:
//! [`check`] covers those, before each request and after each redirect, and [`PublicNames`] covers names, for each connection.

use std::{
    error::Error,
    fmt, io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::{Arc, LazyLock},
};

use crate::origin::{is_localhost, literal};
use antissrf::{CIDRBlock, ip_address_ranges::RECOMMENDED_LATEST};
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// A function that replaces the name resolution of the system.
pub type Lookup =
    Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> + Send + Sync>;

/// The special-purpose ranges of IANA's registries. `None` if one could not be read: no address is public then.
static SPECIAL: LazyLock<Option<Vec<CIDRBlock>>> =
    LazyLock::new(|| RECOMMENDED_LATEST.iter().map(|range| CIDRBlock::parse(range).ok()).collect());

/// Returns `true` if packets to `address` leave for the public Internet.
pub fn is_public(address: IpAddr) -> bool {
    let address = match address {
        IpAddr::V6(it) => it.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    if let IpAddr::V6(it) = address
        && !is_global_unicast(it)
    {
        return false;
    }
    SPECIAL.as_ref().is_some_and(|ranges| !ranges.iter().any(|range| range.contains(address)))
}

/// Everything else is unassigned, or special, such as the deprecated `::127.0.0.1` ([RFC 4291, section
/// 2.4](https://www.rfc-editor.org/rfc/rfc4291#section-2.4)).
fn is_global_unicast(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xe000 == 0x2000
}

/// Returns an error if the host of `url` is an address that is not public, in any spelling, or the name of this machine.
pub fn check(url: &Url) -> Result<(), NotPublic> {
    let host = url.host_str().unwrap_or_default();
    let is_refused = match literal(host) {
        Some(address) => !is_public(address),
        None => is_localhost(host),
    };
    if is_refused { Err(NotPublic { host: host.to_owned() }) } else { Ok(()) }
}

/// A host whose addresses are not public.
#[derive(Debug)]
pub struct NotPublic {
    host: String,
}

impl NotPublic {
    /// Returns the refusal that `error` was caused by.
    pub fn of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a host of the public Internet", self.host)
    }
}

impl Error for NotPublic {}

/// Resolves names by a function.
pub struct Names(pub Lookup);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.0)(name.as_str().to_owned());
        Box::pin(async move { Ok(sockets(found.await?)) })
    }
}

/// Resolves names to their public addresses.
pub struct PublicNames(pub Option<Lookup>);

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let lookup = self.0.as_ref().map(|lookup| lookup(host.clone()));
        Box::pin(async move {
            let mut found = match lookup {
                Some(lookup) => lookup.await?,
                None => tokio::net::lookup_host((&*host, 0)).await?.map(|it| it.ip()).collect(),
            };
            found.retain(|address| is_public(*address));
            if found.is_empty() {
                return Err(NotPublic { host }.into());
            }
            Ok(sockets(found))
        })
    }
}

fn sockets(addresses: Vec<IpAddr>) -> Addrs {
    Box::new(addresses.into_iter().map(|it| SocketAddr::new(it, 0)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_in_every_form_are_not_public() {
        let special = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.9.9.9",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        for text in special {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn hosts_are_checked_in_every_spelling() {
        let spellings = [
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "127.0.0.1.",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::127.0.0.1]",
            "localhost",
            "localhost.",
            "LOCALHOST",
            "a.localhost",
            "public.example@127.0.0.1",
            "127.0.0.1#@public.example",
            "127.0.0.1\\@public.example",
            "１２７.0.0.1",
            "127。0。0。1",
            "0",
            "[fe80::1]",
        ];
        for text in spellings {
            let url = Url::parse(&format!("http://{text}/")).unwrap();
            assert!(check(&url).is_err(), "{text} as {url}");
        }
        for text in ["public.example", "8.8.8.8", "[2606:4700::1111]", "127.0.0.1@public.example"] {
            let url = Url::parse(&format!("http://{text}/")).unwrap();
            assert!(check(&url).is_ok(), "{text} as {url}");
        }
    }
}
