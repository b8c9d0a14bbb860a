//! Addresses, in any spelling and behind any name.

use std::sync::atomic::{AtomicUsize, Ordering};

use tool_http::{
    AddressPolicy, HttpClient, HttpErrorKind,
    reqwest::{Method, Request, Url},
};

use crate::{
    OTHER, PERMITTED, address, builder, get,
    server::{End, Server, answer},
};

fn permits(policy: &AddressPolicy, text: &str) -> bool {
    policy.permits(address(text))
}

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
        "64:ff9b::a9fe:a9fe",
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
    let public = AddressPolicy::default();
    for text in special {
        assert!(!permits(&public, text), "{text}");
        assert!(permits(&AddressPolicy::any(), text), "{text}");
        assert!(permits(&AddressPolicy::public().allow_address(address(text)), text), "{text}");
    }
    for text in [
        "8.8.8.8",
        "1.1.1.1",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2607:f8b0::1",
    ] {
        assert!(permits(&public, text), "{text}");
    }
    // Neither kind has links, groups and reserved addresses.
    let local = AddressPolicy::public().allow_private().allow_loopback();
    for text in
        ["10.0.0.1", "192.168.1.1", "100.64.0.1", "fc01::1", "fd00::1", "127.9.9.9", "::1", "::ffff:10.0.0.1"]
    {
        assert!(permits(&local, text), "{text}");
    }
    for text in
        ["169.254.169.254", "::ffff:169.254.169.254", "0.0.0.0", "fe80::1", "224.0.0.1", "2002:a00:1::"]
    {
        assert!(!permits(&local, text), "{text}");
    }
}

#[test]
fn hosts_are_checked_in_every_spelling() {
    let spellings = [
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "017700000001",
        "127.1",
        "127.0.0.1.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
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
        "%31%32%37.0.0.1",
    ];
    let check = |policy: &AddressPolicy, text: &str| {
        policy.check(&Url::parse(&format!("http://{text}/")).unwrap()).is_ok()
    };
    for text in spellings {
        assert!(!check(&AddressPolicy::public(), text), "{text}");
        assert!(check(&AddressPolicy::any(), text), "{text}");
    }
    for text in ["public.example", "8.8.8.8", "[2606:4700::1111]", "127.0.0.1@public.example"] {
        assert!(check(&AddressPolicy::public(), text), "{text}");
    }
    assert!(check(&AddressPolicy::public().allow_loopback(), "2130706433"));
    assert!(check(&AddressPolicy::public().allow_address(address(PERMITTED)), "localhost"));
    assert!(check(&AddressPolicy::public().allow_loopback(), "localhost"));
    assert!(!check(&AddressPolicy::public().allow_private(), "localhost"));
    assert!(!check(&AddressPolicy::public().allow_address(address("10.0.0.1")), "localhost"));
    assert!(!check(&AddressPolicy::public().allow_address(address("10.0.0.1")), "127.0.0.1"));
}

#[test]
fn neighbours_of_a_server_have_its_kind_of_address() {
    let near = |server: &str| AddressPolicy::near(&Url::parse(server).unwrap());
    for (server, text, expected) in [
        ("https://example.com/mcp", "93.184.216.34", true),
        ("https://example.com/mcp", "127.0.0.1", false),
        ("https://example.com/mcp", "10.0.0.9", false),
        ("http://127.0.0.1/mcp", "127.0.0.2", true),
        ("http://127.0.0.1/mcp", "10.0.0.9", false),
        ("http://localhost/mcp", "::1", true),
        ("http://10.0.0.1/mcp", "192.168.0.1", true),
        ("http://10.0.0.1/mcp", "127.0.0.1", false),
        // Of a special address, itself alone.
        ("http://169.254.1.1/mcp", "169.254.1.1", true),
        ("http://169.254.1.1/mcp", "169.254.169.254", false),
    ] {
        assert_eq!(permits(&near(server), text), expected, "{server} {text}");
    }
}

#[tokio::test]
async fn no_connection_is_made_to_an_address_that_is_not_permitted() {
    let server = Server::new(200, "", "secret").await;
    let client = HttpClient::new().unwrap();
    for host in [PERMITTED, "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "localhost"] {
        let error = get(&client, &format!("http://{host}:{}/a?key=hunter2", server.port)).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::RefusedAddress, "{host}: {error}");
        assert!(!error.is_retryable() && error.origin().is_some());
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn a_name_is_connected_to_at_its_permitted_addresses_alone() {
    let permitted = Server::new(200, "", "it").await;
    let other = Server::at(OTHER, answer(200, "", "secret"), End::Close).await;
    let resolve = |addresses: &'static [&'static str]| {
        builder()
            .resolver(move |_| async move { Ok(addresses.iter().map(|it| address(it)).collect()) })
            .build()
    };
    let url = |port: u16| format!("http://public.example:{port}/");
    // The other address is no alternative, in whichever order.
    for addresses in [&[OTHER, PERMITTED][..], &[PERMITTED, OTHER], &["10.0.0.1", "::1", PERMITTED]] {
        let client = resolve(addresses).unwrap();
        assert_eq!(get(&client, &url(permitted.port)).await.unwrap().text().await.unwrap(), "it");
        assert!(get(&client, &url(other.port)).await.is_err());
    }
    for addresses in [&[OTHER][..], &["::ffff:127.0.0.2"], &["169.254.169.254", "::"], &[]] {
        let error = get(&resolve(addresses).unwrap(), &url(other.port)).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::RefusedAddress, "{error}");
        assert_eq!(error.origin().unwrap().to_string(), format!("http://public.example:{}", other.port));
        assert_eq!(error.reason(), "`public.example` has no address that is permitted");
    }
    assert_eq!((permitted.requests().len(), other.requests().len()), (3, 0));
}

#[tokio::test]
async fn a_name_whose_address_changes_gains_nothing() {
    static RESOLUTIONS: AtomicUsize = AtomicUsize::new(0);
    let permitted = Server::new(200, "", "it").await;
    let other = Server::at(OTHER, answer(200, "", "secret"), End::Close).await;
    // A permitted address when it is checked first, and another one at each later resolution.
    let client = builder().resolver(|_| async {
        let is_first = RESOLUTIONS.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(vec![address(if is_first { PERMITTED } else { OTHER })])
    });
    let client = client.build().unwrap();
    let url = |port: u16| format!("http://rebinding.example:{port}/");
    assert_eq!(get(&client, &url(permitted.port)).await.unwrap().text().await.unwrap(), "it");
    // One resolution for a connection, which goes to the address that was checked.
    assert_eq!(RESOLUTIONS.load(Ordering::Relaxed), 1);
    let error = get(&client, &url(other.port)).await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::RefusedAddress, "{error}");
    assert_eq!(other.requests(), [""; 0]);
}

#[tokio::test]
async fn urls_with_a_user_and_other_schemes_are_refused_before_a_request() {
    let server = Server::new(200, "", "").await;
    let client = builder().build().unwrap();
    for url in [
        format!("http://user:hunter2@{PERMITTED}:{}/", server.port),
        format!("http://hunter2@{PERMITTED}:{}/", server.port),
        format!("http://:hunter2@{PERMITTED}:{}/", server.port),
        "ftp://hunter2.example/".to_owned(),
        "file:///etc/hunter2".to_owned(),
        "data:text/plain,hunter2".to_owned(),
    ] {
        let error = get(&client, &url).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::Invalid, "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn other_origins_than_those_that_are_allowed_are_refused() {
    let (server, other) = (Server::new(200, "", "it").await, Server::new(200, "", "secret").await);
    let client = builder().only_origin(&server.url()).build().unwrap();
    get(&client, &server.url()).await.unwrap();
    let error = get(&client, &other.url()).await.unwrap_err();
    assert_eq!((error.kind(), other.requests().len()), (HttpErrorKind::RefusedOrigin, 0));
    let name = other.url();
    let expected = "the origin is not one of those that are allowed; add it by `only_origin`";
    assert_eq!(error.to_string(), format!("`{name}`: {expected}"));
    let error = HttpClient::builder().only_origin("https://u:hunter2@a.example").build().unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Invalid);
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error_that_names_its_origin() {
    let port = Server::new(200, "", "").await.port;
    let request =
        Request::new(Method::GET, Url::parse(&format!("http://{PERMITTED}:{port}/hunter2")).unwrap());
    // The server is dropped, and its port is closed.
    tokio::task::yield_now().await;
    let error = builder().build().unwrap().send(request).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert_eq!(error.origin().unwrap().to_string(), format!("http://{PERMITTED}:{port}"));
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}
