//! Errors of requests, by kind.

use std::{error::Error as _, time::Duration};

use tool_http::{
    AddressPolicy, HttpClient, HttpErrorKind,
    reqwest::{Method, Request, Url},
};

use crate::{
    PERMITTED, builder, get,
    server::{End, Server, answer},
};

#[tokio::test]
async fn each_way_to_fail_has_a_kind_and_a_text_with_its_origin() {
    let closing = Server::at(PERMITTED, "", End::Close).await;
    let short = Server::new(200, "content-length: 10\r\n", "a").await;
    let client = builder().build().unwrap();
    let too_long = format!("{}/{}", closing.url(), "x".repeat(70_000));
    for (url, kind, is_retryable, reason) in [
        (closing.url(), HttpErrorKind::Failed, true, "the connection failed"),
        (short.url(), HttpErrorKind::Interrupted, true, "the response broke off, or cannot be decompressed"),
        (too_long, HttpErrorKind::Invalid, false, "the request cannot be sent: its URL is too long"),
        (
            "http://192.168.0.1/".to_owned(),
            HttpErrorKind::RefusedAddress,
            false,
            "`192.168.0.1` has no address that is permitted",
        ),
    ] {
        let error = match get(&client, &url).await {
            Ok(response) => response.bytes().await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!((error.kind(), error.is_retryable(), error.reason()), (kind, is_retryable, reason));
        let origin = error.origin().unwrap();
        assert!(url.starts_with(&origin.to_string()), "{origin}");
        assert_eq!(error.to_string(), format!("`{origin}`: {reason}"));
        assert!(error.source().is_some(), "{error:?}");
    }
}

#[tokio::test]
async fn an_error_of_a_setting_names_the_first_of_them_and_no_origin() {
    let builder = HttpClient::builder().only_origin("https://a.example/x").only_origin("a.example");
    let error = builder.build().unwrap_err();
    let expected = "the origin is not valid: expected an origin such as `https://api.example.com`, without user, path, query and fragment";
    assert_eq!((error.kind(), error.to_string().as_str()), (HttpErrorKind::Invalid, expected));
    assert!(error.origin().is_none() && error.source().is_none() && !error.is_retryable());
}

#[test]
fn a_url_is_checked_without_a_request() {
    let client = HttpClient::builder().only_origin("https://a.example").build().unwrap();
    let refusal =
        |url: &str| client.check(&Url::parse(url).unwrap()).err().map(|it| (it.kind(), it.to_string()));
    assert_eq!(refusal("https://a.example/x?y#z"), None);
    let scheme = "the URL is not an `http` or `https` URL with a host";
    assert_eq!(refusal("data:,x"), Some((HttpErrorKind::Invalid, scheme.to_owned())));
    let user = "`https://a.example`: the URL has a user name or password; send them in a header";
    assert_eq!(refusal("https://:p@a.example/"), Some((HttpErrorKind::Invalid, user.to_owned())));
    assert_eq!(refusal("https://b.example/").unwrap().0, HttpErrorKind::RefusedOrigin);
    let near = HttpClient::builder().only_origin("http://127.0.0.1").build().unwrap();
    let error = near.check(&Url::parse("http://127.0.0.1/").unwrap()).unwrap_err();
    let expected = "`http://127.0.0.1`: `127.0.0.1` is not a host of the public Internet";
    assert_eq!((error.kind(), error.to_string().as_str()), (HttpErrorKind::RefusedAddress, expected));
}

#[tokio::test]
async fn a_timeout_may_be_as_long_as_a_duration() {
    let server = Server::new(200, "", "it").await;
    let client = builder().timeout(Duration::MAX).build().unwrap();
    assert_eq!(get(&client, &server.url()).await.unwrap().text().await.unwrap(), "it");
    let server = Server::at(PERMITTED, "", End::Silence).await;
    let client = builder().timeout(Duration::ZERO).build().unwrap();
    assert_eq!(get(&client, &server.url()).await.unwrap_err().kind(), HttpErrorKind::Timeout);
}

#[tokio::test]
async fn a_response_has_its_status_its_headers_and_its_url() {
    let server = Server::new(418, "x-a: 1\r\nx-a: 2\r\n", "it").await;
    let response = get(&builder().build().unwrap(), &format!("{}/x?y", server.url())).await.unwrap();
    assert_eq!((response.status().as_u16(), response.is_redirected()), (418, false));
    assert_eq!(response.url().as_str(), format!("{}/x?y", server.url()));
    assert_eq!(response.header("X-A").unwrap(), "1");
    assert_eq!(response.headers().get_all("x-a").iter().count(), 2);
    assert!(response.header("x-b").is_none());
    assert_eq!(response.bytes().await.unwrap(), b"it");
}

/// The environment belongs to a process: the test runs itself again with the variables of a proxy.
#[tokio::test]
async fn a_proxy_of_the_environment_is_used_only_if_the_program_allows_it() {
    const NAME: &str = "errors::a_proxy_of_the_environment_is_used_only_if_the_program_allows_it";
    if std::env::var_os("IS_BEHIND_PROXY").is_some() {
        let builder = || HttpClient::builder().addresses(AddressPolicy::public());
        let request = || Request::new(Method::GET, Url::parse("http://public.invalid/x").unwrap());
        // The proxy has an address of this machine, and resolves the name.
        let client = builder().proxy_from_environment().build().unwrap();
        assert_eq!(client.send(request()).await.unwrap().text().await.unwrap(), "by the proxy");
        let direct = builder().resolver(|_| async { Ok(Vec::new()) }).build().unwrap();
        let error = direct.send(request()).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::RefusedAddress);
        return;
    }
    let proxy = Server::at(PERMITTED, answer(200, "", "by the proxy"), End::Close).await;
    for url in [format!("http://localhost:{}", proxy.port), format!("LOCALHOST:{}", proxy.port)] {
        let program = std::env::current_exe().unwrap();
        let mut child = tokio::process::Command::new(program);
        child.args(["--exact", NAME]).env("IS_BEHIND_PROXY", "").env("http_proxy", url);
        for name in ["HTTP_PROXY", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "REQUEST_METHOD"] {
            child.env_remove(name);
        }
        let output = child.output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let requests = proxy.requests();
        assert_eq!(requests.len(), 1);
        assert!(requests[0].starts_with("GET http://public.invalid/x "), "{}", requests[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_at_most_30_years_away() {
    use tokio::time::Instant;

    let longest = Duration::from_secs(30 * 365 * 24 * 3600);
    for (timeout, expected) in [
        (Duration::ZERO, Duration::ZERO),
        (Duration::from_secs(7), Duration::from_secs(7)),
        (longest, longest),
        (longest + Duration::from_secs(1), longest),
        (Duration::MAX, longest),
    ] {
        assert_eq!(tool_http::deadline_after(timeout), Instant::now() + expected);
    }
}

#[test]
fn a_client_shows_its_settings() {
    let client = HttpClient::builder().only_origin("https://a.example").body_limit(9).build().unwrap();
    let shown = format!("{client:?}");
    for part in
        ["HttpClient {", "https", "a.example", "redirects: SameOrigin", "body_limit: 9", "timeout: 30s"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = format!("{:?}", HttpClient::new().unwrap());
    assert!(shown.contains("origins: []") && shown.contains("body_limit: 8388608"), "{shown}");
}
