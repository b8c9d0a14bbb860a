//! `robots.txt`.

use test_support::http::{Answer, Recorder};

use crate::{builder, fetch};

async fn site(status: u16, robots: &str) -> (Recorder, String) {
    let robots = Answer::of(status, "text/plain", robots.to_owned());
    let server = Recorder::answering(move |received| match received.target.as_str() {
        "/robots.txt" => robots.clone(),
        _ => Answer::of(200, "text/plain", "page"),
    });
    let server = server.await;
    let url = server.url.replace("127.0.0.1", "page.example");
    (server, url)
}

#[tokio::test]
async fn a_page_that_the_site_forbids_is_not_requested() {
    let (server, url) =
        site(200, "user-agent: *\ndisallow: /private\n\nuser-agent: my-bot\ndisallow: /bots\n").await;
    let web = builder().build().unwrap();
    let error = fetch(&web, &format!("{url}/private/x")).await.unwrap_err();
    assert!(error.contains("the `robots.txt` of `page.example` forbids this page"), "{error}");
    // The rules are read once for an origin.
    fetch(&web, &format!("{url}/bots")).await.unwrap();
    let targets: Vec<_> = server.take().into_iter().map(|it| it.target).collect();
    assert_eq!(targets, ["/robots.txt", "/bots"]);
    let own = builder().user_agent("My-Bot/1.0 (+https://a.example)").build().unwrap();
    assert!(fetch(&own, &format!("{url}/bots")).await.is_err());
    fetch(&own, &format!("{url}/private/x")).await.unwrap();
    let web = builder().ignore_robots().build().unwrap();
    fetch(&web, &format!("{url}/private/x")).await.unwrap();
}

#[tokio::test]
async fn rules_that_cannot_be_read_now_forbid_everything_and_are_not_kept() {
    for (status, is_allowed) in [(404, true), (403, true), (500, false), (503, false), (429, false)] {
        let (server, url) = site(status, "user-agent: *\ndisallow: /\n").await;
        let web = builder().build().unwrap();
        assert_eq!(fetch(&web, &format!("{url}/x")).await.is_ok(), is_allowed, "{status}");
        let _ = fetch(&web, &format!("{url}/x")).await;
        let reads = server.take().into_iter().filter(|it| it.target == "/robots.txt").count();
        assert_eq!(reads, if is_allowed { 1 } else { 2 }, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn rules_are_read_again_after_an_hour() {
    let (server, url) = site(200, "").await;
    let web = builder().build().unwrap();
    for (minutes, reads) in [(0, 1), (59, 0), (2, 1)] {
        tokio::time::advance(std::time::Duration::from_secs(minutes * 60)).await;
        fetch(&web, &format!("{url}/x")).await.unwrap();
        let received = server.take();
        assert_eq!(received.iter().filter(|it| it.target == "/robots.txt").count(), reads, "{minutes}");
    }
}

#[tokio::test]
async fn the_rules_are_about_the_path_and_the_query() {
    let (_server, url) = site(200, "user-agent: *\ndisallow: /a?private\n").await;
    let web = builder().build().unwrap();
    for (target, is_allowed) in
        [("/a", true), ("/a?public", true), ("/a?private=1", false), ("/b?private", true)]
    {
        assert_eq!(fetch(&web, &format!("{url}{target}")).await.is_ok(), is_allowed, "{target}");
    }
}

#[tokio::test]
async fn rules_behind_a_redirect_of_the_site_are_read_and_those_of_another_host_are_not() {
    let rules = Answer::of(200, "text/plain", "user-agent: *\ndisallow: /\n");
    let other_rules = rules.clone();
    let other = Recorder::answering(move |_| other_rules.clone()).await;
    let other_url = other.url.replace("127.0.0.1", "other.example");
    for (location, is_allowed) in [("/rules", false), (&*other_url, true)] {
        let (location, rules) = (location.to_owned(), rules.clone());
        let server = Recorder::answering(move |received| match received.target.as_str() {
            "/robots.txt" => Answer::of(301, "text/plain", "").with_header("location", &location),
            "/rules" => rules.clone(),
            _ => Answer::of(200, "text/plain", "page"),
        });
        let server = server.await;
        let url = server.url.replace("127.0.0.1", "page.example");
        assert_eq!(fetch(&builder().build().unwrap(), &format!("{url}/x")).await.is_ok(), is_allowed);
    }
    assert!(other.take().is_empty());
}
