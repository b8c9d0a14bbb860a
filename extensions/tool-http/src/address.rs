//! The guard against requests to addresses that are not public.
//!
//! The client never resolves the spelling of an address, so that a filter of resolved names alone would let literals pass:
//! [`AddressPolicy::check`] covers those, before each request and after each redirect, and [`GuardedResolver`] covers names, for each
//! connection.

use std::{
    error::Error,
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::{Arc, LazyLock},
};

use antissrf::{CIDRBlock, ip_address_ranges::RECOMMENDED_LATEST};
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

use crate::origin::{is_localhost, literal_address};

/// A function that replaces the name resolution of the system.
pub(crate) type Lookup =
    Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> + Send + Sync>;

/// The special-purpose ranges of IANA's registries. `None` if one could not be read: no address is public then.
static SPECIAL_RANGES: LazyLock<Option<Vec<CIDRBlock>>> =
    LazyLock::new(|| RECOMMENDED_LATEST.iter().map(|range| CIDRBlock::parse(range).ok()).collect());

/// The use of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressClass {
    /// Packets leave for the public Internet.
    Public,
    /// Of a local network.
    Private,
    /// Of this machine.
    Loopback,
    /// Of a link, of a group, of a translation, or reserved.
    Special,
}

impl AddressClass {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => match embedded_ipv4_address(address) {
                Some(address) => Self::of_v4(address),
                None => Self::of_v6(address),
            },
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            _ if address.is_loopback() => Self::Loopback,
            _ if address.is_private() => Self::Private,
            // Of providers, behind which customers share addresses.
            [100, 64..=127, ..] => Self::Private,
            _ if is_special_purpose_address(address.into()) => Self::Special,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        match address.segments() {
            _ if address.is_loopback() => Self::Loopback,
            [first, ..] if first & 0xfe00 == 0xfc00 => Self::Private,
            // Everything else is unassigned, or special, such as the deprecated `::127.0.0.1` ([RFC 4291, section
            // 2.4](https://www.rfc-editor.org/rfc/rfc4291#section-2.4)).
            [first, ..] if first & 0xe000 != 0x2000 => Self::Special,
            _ if is_special_purpose_address(address.into()) => Self::Special,
            _ => Self::Public,
        }
    }
}

/// Returns the address of version 4 that packets to `address` reach: `::ffff:a.b.c.d`, and `64:ff9b::a.b.c.d` of a translator ([RFC
/// 6052](https://www.rfc-editor.org/rfc/rfc6052#section-2.1)).
fn embedded_ipv4_address(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., high, low] = address.segments();
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        _ => address.to_ipv4_mapped(),
    }
}

fn is_special_purpose_address(address: IpAddr) -> bool {
    SPECIAL_RANGES.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(address)))
}

/// The addresses that a client may reach. Default: [public](Self::public) ones.
///
/// An address of version 4 within one of version 6 (`::ffff:10.0.0.1`, `64:ff9b::10.0.0.1`) is that address. Addresses of links
/// (`169.254.169.254`, where clouds serve credentials), of groups, and reserved ones are never permitted as a kind.
///
/// # Examples
///
/// ```
/// use tool_http::{AddressPolicy, reqwest::Url};
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = AddressPolicy::public().allow_private();
/// assert!(policy.permits("93.184.216.34".parse()?) && policy.permits("10.0.0.7".parse()?));
/// // 2130706433 is 127.0.0.1.
/// assert!(policy.check(&Url::parse("http://2130706433/")?).is_err());
/// # Ok(())
/// # }
/// # example().unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct AddressPolicy {
    allows_any: bool,
    allows_private: bool,
    allows_loopback: bool,
    addresses: Vec<IpAddr>,
}

impl Default for AddressPolicy {
    fn default() -> Self {
        Self::public()
    }
}

impl AddressPolicy {
    /// Permits addresses of the public Internet alone.
    #[must_use]
    pub fn public() -> Self {
        Self { allows_any: false, allows_private: false, allows_loopback: false, addresses: Vec::new() }
    }

    /// Permits every address: for URLs that the program itself chose.
    #[must_use]
    pub fn any() -> Self {
        Self { allows_any: true, ..Self::public() }
    }

    /// Permits public addresses, and those of the kind that `url` has: a server that the program chose, which names other URLs, may name
    /// neighbours of its own. A URL with a name other than `localhost` adds none.
    #[must_use]
    pub fn near(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let Some(address) = literal_address(host) else {
            return if is_localhost(host) { Self::public().allow_loopback() } else { Self::public() };
        };
        let policy = Self::public().allow_address(address);
        match AddressClass::of(address) {
            AddressClass::Private => policy.allow_private(),
            AddressClass::Loopback => policy.allow_loopback(),
            AddressClass::Public | AddressClass::Special => policy,
        }
    }

    /// Also permits addresses of local networks: `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`, `100.64.0.0/10` and `fc00::/7`.
    #[must_use]
    pub fn allow_private(self) -> Self {
        Self { allows_private: true, ..self }
    }

    /// Also permits addresses of this machine: `127.0.0.0/8` and `::1`.
    #[must_use]
    pub fn allow_loopback(self) -> Self {
        Self { allows_loopback: true, ..self }
    }

    /// Also permits `address`, whatever its kind.
    #[must_use]
    pub fn allow_address(mut self, address: IpAddr) -> Self {
        self.addresses.push(address.to_canonical());
        self
    }

    /// Returns `true` if a client may connect to `address`.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        let is_permitted = match AddressClass::of(address) {
            AddressClass::Public => true,
            AddressClass::Private => self.allows_private,
            AddressClass::Loopback => self.allows_loopback,
            AddressClass::Special => false,
        };
        is_permitted || self.allows_any || self.addresses.contains(&address.to_canonical())
    }

    /// Checks the host of `url` before a request: an address in any spelling, or the name of this machine. Other names are checked
    /// by their addresses, when a client connects.
    ///
    /// # Errors
    ///
    /// If the address is not permitted.
    pub fn check(&self, url: &Url) -> Result<(), AddressError> {
        let host = url.host_str().unwrap_or_default();
        let is_permitted = match literal_address(host) {
            Some(address) => self.permits(address),
            None if is_localhost(host) => self.permits_localhost(),
            None => true,
        };
        if is_permitted { Ok(()) } else { Err(self.refused_host_error(host)) }
    }

    fn permits_localhost(&self) -> bool {
        let is_loopback = |it: &IpAddr| AddressClass::of(*it) == AddressClass::Loopback;
        self.allows_any || self.allows_loopback || self.addresses.iter().any(is_loopback)
    }

    fn refused_host_error(&self, host: &str) -> AddressError {
        let is_public = !self.allows_private && !self.allows_loopback && self.addresses.is_empty();
        AddressError { host: host.to_owned(), is_public }
    }
}

/// The error of a host without an address that is permitted.
#[derive(Debug)]
pub struct AddressError {
    host: String,
    /// Only public addresses are permitted.
    is_public: bool,
}

impl AddressError {
    /// Returns the refusal that `error` was caused by.
    pub(crate) fn find_in_error_chain<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        std::iter::successors(Some(error), |error| (*error).source()).find_map(|error| error.downcast_ref())
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_public {
            true => write!(f, "`{}` is not a host of the public Internet", self.host),
            false => write!(f, "`{}` has no address that is permitted", self.host),
        }
    }
}

impl Error for AddressError {}

/// Resolves names to their permitted addresses. A connection goes to these, without a second resolution.
pub(crate) struct GuardedResolver {
    pub(crate) policy: AddressPolicy,
    pub(crate) lookup: Option<Lookup>,
    /// Hosts of proxies, which resolve the names of targets themselves.
    pub(crate) proxies: Arc<[String]>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let is_proxy = self.proxies.contains(&canonical_host(&host));
        let lookup = self.lookup.as_ref().map(|lookup| lookup(host.clone()));
        let policy = self.policy.clone();
        Box::pin(async move {
            let mut found: Vec<IpAddr> = match lookup {
                Some(lookup) => lookup.await?,
                None => tokio::net::lookup_host((&*host, 0)).await?.map(|it| it.ip()).collect(),
            };
            found.retain(|address| is_proxy || policy.permits(*address));
            if found.is_empty() && policy.allows_any {
                return Err(std::io::Error::other(format!("`{host}` has no address")).into());
            }
            if found.is_empty() {
                return Err(policy.refused_host_error(&host).into());
            }
            Ok(Box::new(found.into_iter().map(|it| SocketAddr::new(it, 0))) as Addrs)
        })
    }
}

/// A name in small letters, without the dot of its root.
pub(crate) fn canonical_host(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]
mod tests {
    use super::*;

    fn resolver(policy: AddressPolicy, found: &'static [&'static str]) -> GuardedResolver {
        let lookup: Lookup = Arc::new(move |_| {
            Box::pin(async move { Ok(found.iter().map(|address| address.parse().unwrap()).collect()) })
        });
        let proxies = Arc::from(["proxy.example".to_owned()]);
        GuardedResolver { policy, lookup: Some(lookup), proxies }
    }

    async fn resolved(resolver: &GuardedResolver, name: &str) -> Result<Vec<String>, String> {
        match resolver.resolve(name.parse().unwrap()).await {
            Ok(found) => Ok(found.map(|address| address.to_string()).collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[tokio::test]
    async fn a_proxy_may_have_any_address_and_other_names_only_permitted_ones() {
        let resolver = resolver(AddressPolicy::public(), &["10.0.0.1", "8.8.8.8", "::1"]);
        let all = ["10.0.0.1:0", "8.8.8.8:0", "[::1]:0"].map(str::to_owned).to_vec();
        for proxy in ["proxy.example", "PROXY.example", "proxy.example."] {
            assert_eq!(resolved(&resolver, proxy).await, Ok(all.clone()), "{proxy}");
        }
        for name in ["a.proxy.example", "proxy.example.evil.example", "public.example"] {
            assert_eq!(resolved(&resolver, name).await, Ok(vec!["8.8.8.8:0".to_owned()]), "{name}");
        }
    }

    #[tokio::test]
    async fn a_name_without_addresses_is_refused_only_where_addresses_are_limited() {
        let refusal = |policy, found| async move { resolved(&resolver(policy, found), "a.example").await };
        let not_public = Err("`a.example` is not a host of the public Internet".to_owned());
        let not_permitted = Err("`a.example` has no address that is permitted".to_owned());
        let address = "10.0.0.1".parse().unwrap();
        for (policy, expected) in [
            (AddressPolicy::public(), &not_public),
            (AddressPolicy::public().allow_private(), &not_permitted),
            (AddressPolicy::public().allow_loopback(), &not_permitted),
            (AddressPolicy::public().allow_address(address), &not_permitted),
            (AddressPolicy::any(), &Err("`a.example` has no address".to_owned())),
        ] {
            assert_eq!(&refusal(policy, &[]).await, expected);
        }
        assert_eq!(refusal(AddressPolicy::public(), &["127.0.0.1"]).await, not_public);
        assert_eq!(refusal(AddressPolicy::any(), &["127.0.0.1"]).await, Ok(vec!["127.0.0.1:0".to_owned()]));
    }

    #[tokio::test]
    async fn names_are_resolved_by_the_system_if_no_lookup_is_set() {
        let policy = AddressPolicy::public().allow_loopback();
        let resolver = GuardedResolver { policy, lookup: None, proxies: Arc::default() };
        let found = resolved(&resolver, "localhost").await.unwrap();
        assert!(found.iter().any(|it| it == "127.0.0.1:0" || it == "[::1]:0"), "{found:?}");
    }
}
