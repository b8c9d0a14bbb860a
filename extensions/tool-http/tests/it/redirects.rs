//! Redirects, which servers choose.

use tool_http::{
    HttpErrorKind, Origin, RedirectPolicy,
    reqwest::{
        Method, Request, Url,
        header::{ACCEPT, AUTHORIZATION, COOKIE, HeaderValue},
    },
};

use crate::{
    OTHER, PERMITTED, builder, get,
    server::{End, Server, answer},
};

async fn redirecting(target: &str) -> Server {
    Server::new(302, &format!("location: {target}\r\n"), "").await
}

#[tokio::test]
async fn a_redirect_never_leads_to_an_address_that_is_not_permitted() {
    let other = Server::at(OTHER, answer(200, "", "secret"), End::Close).await;
    let client = builder().redirects(RedirectPolicy::Anywhere);
    let client = client.resolver(|_| async { Ok(vec![OTHER.parse().unwrap()]) }).build().unwrap();
    for host in [
        OTHER,
        "2130706434",
        "0x7f.2",
        "0177.0.0.2",
        "127.2",
        "[::ffff:127.0.0.2]",
        "[::127.0.0.2]",
        "[::1]",
        "169.254.169.254",
        "10.0.0.1",
        "public.example",
    ] {
        let server = redirecting(&format!("http://{host}:{}/?key=hunter2", other.port)).await;
        let error = get(&client, &server.url()).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::RefusedAddress, "{host}: {error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        assert_eq!((server.requests().len(), other.requests().len()), (1, 0), "{host}");
    }
}

#[tokio::test]
async fn another_origin_receives_no_credentials() {
    let other = Server::new(200, "", "it").await;
    let server = redirecting(&format!("{}/elsewhere", other.url())).await;
    let client = builder().redirects(RedirectPolicy::Anywhere).build().unwrap();
    let mut request = Request::new(Method::GET, Url::parse(&server.url()).unwrap());
    for (name, value) in [(AUTHORIZATION, "Bearer hunter2"), (COOKIE, "a=hunter2"), (ACCEPT, "text/html")] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    request.headers_mut().insert("x-api-key", HeaderValue::from_static("hunter2"));
    let response = client.send(request).await.unwrap();
    assert!(response.is_redirected() && response.url().as_str().ends_with("/elsewhere"));
    assert_eq!(response.text().await.unwrap(), "it");
    assert_eq!(server.requests()[0].matches("hunter2").count(), 3);
    let received = other.requests().remove(0);
    assert!(received.contains("accept: text/html") && !received.contains("hunter2"), "{received}");
}

#[tokio::test]
async fn redirects_that_are_not_allowed_are_errors_that_name_the_target() {
    let other = Server::new(200, "", "").await;
    for (target, reason) in [
        (other.url(), "another origin"),
        (format!("http://user:hunter2@{PERMITTED}/"), "a user name or password"),
        ("file:///etc/hunter2".to_owned(), "not an `http` or `https` URL"),
        ("http://[".to_owned(), "is not a URL"),
        ("/".to_owned(), "requested before"),
    ] {
        let server = redirecting(&target).await;
        let error = get(&builder().build().unwrap(), &format!("{}/", server.url())).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::RefusedRedirect, "{target}: {error}");
        assert!(error.reason().contains(reason) && !error.is_retryable(), "{target}: {error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        // Of the target, if it has one.
        let target = Url::parse(&target).ok().and_then(|target| Origin::of(&target));
        let expected = target.unwrap_or_else(|| Origin::parse(&server.url()).unwrap());
        assert_eq!(error.origin(), Some(&expected));
    }
    assert_eq!(other.requests(), [""; 0]);
    let server = redirecting(&other.url()).await;
    let origins = vec![Origin::parse(&other.url()).unwrap()];
    let client = builder().redirects(RedirectPolicy::Origins(origins)).build().unwrap();
    assert_eq!(get(&client, &server.url()).await.unwrap().status(), 200);
    let client = builder().redirects(RedirectPolicy::Never).build().unwrap();
    assert_eq!(get(&client, &server.url()).await.unwrap().status(), 302);
    // An origin that is not allowed is none for a redirect either.
    let client = builder().redirects(RedirectPolicy::Anywhere).only_origin(&server.url()).build().unwrap();
    assert_eq!(get(&client, &server.url()).await.unwrap_err().kind(), HttpErrorKind::RefusedOrigin);
    let mut request = Request::new(Method::POST, Url::parse(&server.url()).unwrap());
    *request.body_mut() = Some("x".into());
    let client = builder().redirects(RedirectPolicy::Anywhere).build().unwrap();
    let error = client.send(request).await.unwrap_err();
    assert!(error.reason().contains("GET and HEAD only"), "{error}");
}

#[tokio::test]
async fn as_many_redirects_are_followed_as_the_limit_says() {
    for limit in [0, 1, 5, 12] {
        // Each response leads deeper: `x`, `x/x`, `x/x/x`.
        let server = redirecting("x/x").await;
        let client = builder().max_redirects(limit).build().unwrap();
        let error = get(&client, &format!("{}/", server.url())).await.unwrap_err();
        assert_eq!((error.kind(), server.requests().len()), (HttpErrorKind::RefusedRedirect, limit + 1));
    }
}

#[tokio::test]
async fn the_same_origin_receives_the_whole_request_again() {
    let server = redirecting("/elsewhere").await;
    let mut request = Request::new(Method::HEAD, Url::parse(&server.url()).unwrap());
    request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static("Bearer hunter2"));
    let error = builder().build().unwrap().send(request).await.unwrap_err();
    // The second answer leads to itself.
    assert_eq!(
        error.reason(),
        "the redirect is not followed: it leads back to a URL that was requested before"
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for (request, line) in requests.iter().zip(["HEAD / ", "HEAD /elsewhere "]) {
        assert!(request.starts_with(line) && request.contains("Bearer hunter2"), "{request}");
    }
}
