//! The addresses to which requests of an authorization may go: a server that names its authorization server must not reach
//! services of the local network by it.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// The variables that name the proxies of `reqwest`.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressClass {
    Public,
    Private,
    Loopback,
    /// Of a link, of a group, or reserved.
    Special,
}

impl AddressClass {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            _ if address.is_loopback() => Self::Loopback,
            _ if address.is_private() => Self::Private,
            [100, 64..=127, ..] => Self::Private,
            [0, ..] | [169, 254, ..] | [198, 18 | 19, ..] | [224..=255, ..] => Self::Special,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let [a, b, c, _, _, _, g, h] = address.segments();
        let v4 = |high: u16, low: u16| Self::of_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
        match address.segments() {
            _ if address.is_loopback() => Self::Loopback,
            _ if address.is_unspecified() => Self::Special,
            // Addresses of version 4 within addresses of version 6.
            [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => v4(g, h),
            [0x2002, ..] => v4(b, c),
            [0x2001, 0, ..] | [0x64, 0xff9b, 1, ..] => Self::Special,
            _ if a & 0xfe00 == 0xfc00 => Self::Private,
            _ if a & 0xffc0 == 0xfe80 || a & 0xff00 == 0xff00 => Self::Special,
            _ => Self::Public,
        }
    }
}

/// The permitted addresses. Public ones always are; loopback and private ones only if the URL of the server itself, which
/// the program chose, has such an address.
#[derive(Clone)]
pub(super) struct AddressPolicy {
    server: Option<IpAddr>,
    permitted: Arc<[AddressClass]>,
    /// Hosts of proxies, which resolve the names of targets themselves.
    proxies: Arc<[String]>,
}

impl AddressPolicy {
    pub(super) fn new(server: &Url, allows_private: bool) -> Self {
        let address = literal(server);
        let own = match address {
            Some(address) => Some(AddressClass::of(address)),
            None => server.host_str().is_some_and(is_localhost).then_some(AddressClass::Loopback),
        };
        let permitted = own
            .into_iter()
            .chain(allows_private.then_some(AddressClass::Private))
            .filter(|class| *class != AddressClass::Special);
        let proxies = PROXY_VARIABLES.iter().filter_map(|name| {
            let proxy = std::env::var(name).ok()?;
            let proxy = if proxy.contains("://") { proxy } else { format!("http://{proxy}") };
            Some(canonical(Url::parse(&proxy).ok()?.host_str()?))
        });
        Self { server: address, permitted: permitted.collect(), proxies: proxies.collect() }
    }

    fn permits(&self, address: IpAddr) -> bool {
        let class = AddressClass::of(address);
        class == AddressClass::Public || self.permitted.contains(&class)
    }

    /// Returns `false` for a URL with an address that is not permitted. Names are checked when they are resolved.
    pub(super) fn permits_url(&self, url: &Url) -> bool {
        literal(url).is_none_or(|address| self.server == Some(address) || self.permits(address))
    }
}

impl Resolve for AddressPolicy {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.clone();
        Box::pin(async move {
            let host = canonical(name.as_str());
            let is_proxy = policy.proxies.contains(&host);
            let resolved = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let permitted: Vec<_> =
                resolved.filter(|address| is_proxy || policy.permits(address.ip())).collect();
            if permitted.is_empty() {
                return Err(format!("no address of `{host}` is permitted for the authorization").into());
            }
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

fn literal(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn is_localhost(host: &str) -> bool {
    let host = canonical(host);
    host == "localhost" || host.ends_with(".localhost")
}

fn canonical(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn policy(server: &str, allows_private: bool) -> AddressPolicy {
        AddressPolicy::new(&Url::parse(server).unwrap(), allows_private)
    }

    #[test]
    fn internal_addresses_are_permitted_by_the_address_of_the_server_alone() {
        let check = |server: &str, allows_private: bool, url: &str, expected: bool| {
            let permitted = policy(server, allows_private).permits_url(&Url::parse(url).unwrap());
            assert_eq!(permitted, expected, "{server} {url}");
        };
        let public = "https://example.com/mcp";
        for url in ["https://93.184.216.34", "https://[2606:4700::1111]", "https://[64:ff9b::5db8:d822]"] {
            check(public, false, url, true);
        }
        for url in ["http://127.0.0.1", "http://10.0.0.9", "http://100.64.0.1", "http://[fd00::1]"] {
            check(public, false, url, false);
        }
        for url in ["http://[::1]", "http://[::ffff:10.0.0.1]", "http://[2002:7f00:1::]"] {
            check(public, false, url, false);
        }
        for url in ["http://169.254.169.254", "http://0.0.0.0", "http://[fe80::1]", "http://224.0.0.1"] {
            check(public, true, url, false);
            check("http://127.0.0.1/mcp", true, url, false);
        }
        for url in ["http://[::ffff:169.254.169.254]", "http://[2001:0:4136:e378::1]", "http://[ff02::1]"] {
            check(public, true, url, false);
        }
        check(public, true, "http://10.0.0.9", true);
        check(public, true, "http://127.0.0.1", false);
        check("http://127.0.0.1/mcp", false, "http://127.0.0.2", true);
        check("http://localhost/mcp", false, "http://127.0.0.1", true);
        check("http://127.0.0.1/mcp", false, "http://10.0.0.9", false);
    }

    #[tokio::test]
    async fn names_of_internal_addresses_are_not_resolved() {
        let resolve = async |server: &str| policy(server, true).resolve("localhost".parse().unwrap()).await;
        assert!(resolve("http://localhost/mcp").await.is_ok());
        let error = resolve("https://example.com/mcp").await.err().unwrap();
        assert!(error.to_string().contains("`localhost` is permitted"), "{error}");
    }
}
