//! Servers and pages that mean harm.

use std::{
    io::Write as _,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use flate2::{Compression, write::GzEncoder};
use test_support::http::{Answer, Recorder};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tool_builtins::WebTools;
use tool_runtime::prelude::*;

use crate::{Site, builder, call, client, fetch};

#[tokio::test]
async fn no_spelling_of_a_local_address_is_requested() {
    let site = Site::html("secret").await;
    let port = site.port();
    let web = WebTools::builder().build().unwrap();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00::1]",
        "10.0.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "１２７.0.0.1",
        "127。0。0。1",
        "%31%32%37.0.0.1",
        "public.example\\@127.0.0.1@127.0.0.1",
        "public.example@127.0.0.1",
        "user:password@127.0.0.1",
    ] {
        let error = fetch(&web, &format!("http://{host}:{port}/")).await.unwrap_err();
        let is_refused =
            ["is not a host of the public Internet", "has a user name or password", "is not a URL"];
        assert!(is_refused.iter().any(|it| error.contains(it)) || host.contains('\\'), "{host}: {error}");
    }
    for url in [
        "file:///etc/passwd",
        "ftp://a.example/",
        "gopher://a.example/",
        "data:text/plain,x",
        "javascript:1",
        "x",
    ] {
        let error = fetch(&web, url).await.unwrap_err();
        assert!(error.contains("URL"), "{url}: {error}");
    }
    assert!(
        fetch(&web, &format!("https://a.example/{}", "x".repeat(3000)))
            .await
            .unwrap_err()
            .contains("2000 bytes")
    );
    assert!(site.server.take().is_empty());
}

#[tokio::test]
async fn a_name_with_a_private_address_is_refused_also_at_its_second_resolution() {
    static RESOLUTIONS: AtomicUsize = AtomicUsize::new(0);
    let site = Site::html("page").await;
    let rebinding = client().resolver(|_| async {
        let is_first = RESOLUTIONS.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(vec![if is_first { "127.0.0.1" } else { "127.0.0.2" }.parse().unwrap()])
    });
    // The first resolution is permitted; connections of it are closed by the answer.
    let web = WebTools::builder().client(rebinding.build().unwrap()).ignore_robots().build().unwrap();
    fetch(&web, &format!("http://rebinding.example:{}/", site.port())).await.unwrap();
    let error = fetch(&web, "http://rebinding.example:9/").await.unwrap_err();
    assert!(error.contains("has no address that is permitted"), "{error}");
    let metadata =
        client().resolver(|_| async { Ok(vec!["169.254.169.254".parse().unwrap(), "::1".parse().unwrap()]) });
    let web = WebTools::builder().client(metadata.build().unwrap()).build().unwrap();
    let error = fetch(&web, "http://metadata.example/").await.unwrap_err();
    assert!(error.contains("has no address that is permitted"), "{error}");
}

#[tokio::test]
async fn a_redirect_to_a_local_address_is_named_as_one_that_cannot_be_read() {
    for target in
        ["http://127.0.0.2/", "http://169.254.169.254/latest/", "http://[::1]/", "http://2130706434/"]
    {
        let site =
            Site::answering(move |_| Answer::of(302, "text/plain", "").with_header("location", target)).await;
        let text = fetch(&builder().build().unwrap(), &site.url("/")).await.unwrap();
        assert!(
            text.contains("it cannot be read: `http://") && text.contains("no address that is permitted"),
            "{text}"
        );
    }
    for target in ["file:///etc/passwd", "javascript:1", "http://u:p@b.example/", "https://[", "/loop"] {
        let site =
            Site::answering(move |_| Answer::of(302, "text/plain", "").with_header("location", target)).await;
        let error = fetch(&builder().build().unwrap(), &site.url("/loop")).await.unwrap_err();
        assert!(error.contains("a redirect of `page.example` is not followed"), "{target}: {error}");
    }
}

#[tokio::test]
async fn pages_that_nest_without_end_are_refused_and_others_convert_in_one_step() {
    let deep = |tag: &str, count: usize| tag.repeat(count);
    for (name, html) in [
        ("200,000 divisions", deep("<div>", 200_000)),
        ("20,000 divisions", deep("<div>", 20_000)),
        ("closed ones", format!("{}{}", deep("<div>", 100_000), deep("</div>", 100_000))),
        ("ends of others", deep("<div></x>", 50_000)),
        ("lists", deep("<ul><li>", 50_000)),
        ("quotes", deep("<blockquote>", 50_000)),
        ("tables", deep("<table><tr><td>", 30_000)),
        ("fonts", (0..2000).map(|it| format!("<p><font color={it}></p>x")).collect()),
    ] {
        let site = Site::html(&html).await;
        let error = fetch(&builder().build().unwrap(), &site.url("/")).await.unwrap_err();
        let is_refused =
            error.contains("nested deeper than 512 levels") || error.contains("too many elements");
        assert!(is_refused, "{name}: {error}");
    }
    // Each of them has a colour, and looks for the one behind it in all around it.
    let around = deep(&format!("<div style='{}color:red'>", "a:b;".repeat(300)), 480);
    let coloured = Site::html(&format!("{around}{}", deep("<i style='color:red'>x</i> ", 2000))).await;
    let web = builder().conversion_timeout(Duration::from_secs(60)).build().unwrap();
    let text = fetch(&web, &coloured.url("/")).await.unwrap();
    assert!(text.contains("*x* *x* *x*"));
    // The depth of a page whose elements end by themselves does not grow.
    let flat = Site::html(&deep("<p>x", 20_000)).await;
    fetch(&builder().build().unwrap(), &flat.url("/")).await.unwrap();
}

#[tokio::test]
async fn the_markdown_of_a_page_is_not_much_larger_than_the_page() {
    let wide = format!("<table><tr><th>{}</table>", "w".repeat(50_000) + &"<tr><td>x".repeat(5000));
    let span = format!("<table>{}</table>", "<tr><td colspan=1000 rowspan=65534>x".repeat(1000));
    let quote = format!("{}{}", "<blockquote>".repeat(200), "x<br>".repeat(5000));
    let before_table = format!("<table>{}", "x<b></b>".repeat(10_000));
    let list = format!("{}{}", "<ul><li>".repeat(100), "x<br>".repeat(5000));
    for (html, factor) in [(wide, 2), (span, 2), (quote, 30), (before_table, 2), (list, 30)] {
        let site = Site::html(&html).await;
        let output =
            call(&builder().build().unwrap(), "web_fetch", json!({ "url": site.url("/") })).await.unwrap();
        let total = output.details().unwrap()["total_chars"].as_u64().unwrap();
        assert!(total <= factor * html.len() as u64, "{total} of {}", html.len());
    }
}

#[tokio::test]
async fn escape_sequences_without_an_end_cost_as_much_as_other_text() {
    let text = "\u{1b}]".repeat(300_000);
    let site = Site::new(Answer::of(200, "text/plain", text)).await;
    let output =
        call(&builder().build().unwrap(), "web_fetch", json!({ "url": site.url("/") })).await.unwrap();
    assert_eq!(output.details().unwrap()["total_chars"], 300_000);
    assert!(!output.text().contains('\u{1b}'));
}

#[tokio::test]
async fn a_gzip_bomb_is_read_up_to_the_limit() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b'a'; 8 << 20]).unwrap();
    let bomb = encoder.finish().unwrap();
    let answer = Answer::of(200, "text/plain", bomb).with_header("content-encoding", "gzip");
    let site = Site::new(answer).await;
    let web = builder().body_limit(100_000).build().unwrap();
    let output = call(&web, "web_fetch", json!({ "url": site.url("/") })).await.unwrap();
    assert_eq!(output.details().unwrap()["total_chars"], 100_000);
    assert!(output.text().contains("larger than 100000 bytes; the rest was not read"), "{}", output.text());
}

/// A server that sends `head`, and then `part` for ever, or nothing if it is empty.
async fn endless(head: &'static str, part: &'static [u8]) -> (tokio::task::JoinSet<()>, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { return };
                request.push(byte);
            }
            let _ = stream.write_all(head.as_bytes()).await;
            match part {
                [] => std::future::pending().await,
                _ => while stream.write_all(part).await.is_ok() {},
            }
        }
    });
    (serving, port)
}

#[tokio::test]
async fn a_body_without_an_end_is_cut() {
    let (_serving, port) =
        endless("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<title>", &[b'x'; 4096]).await;
    let web = builder().ignore_robots().body_limit(200_000).build().unwrap();
    let output =
        call(&web, "web_fetch", json!({ "url": format!("http://a.example:{port}/") })).await.unwrap();
    // The title has no end either.
    let details = output.details().unwrap();
    assert_eq!(details["title"].as_str().unwrap().chars().count(), 201);
    assert_eq!(details["is_cut"], true);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_answering_ends_by_the_time_limit() {
    for head in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na"] {
        let (_serving, port) = endless(head, b"").await;
        let web = builder().ignore_robots().timeout(Duration::from_secs(7)).build().unwrap();
        let began = tokio::time::Instant::now();
        let error = fetch(&web, &format!("http://a.example:{port}/")).await.unwrap_err();
        assert!(error.contains("the server did not answer in time"), "{error}");
        assert_eq!(began.elapsed().as_secs(), 7);
    }
    // A silent `robots.txt` counts as well.
    let silent = Recorder::responding(|_| None).await;
    let url = silent.url.replace("127.0.0.1", "a.example");
    let web = builder().timeout(Duration::from_secs(7)).build().unwrap();
    assert!(fetch(&web, &url).await.unwrap_err().contains("in time"));
}

#[tokio::test]
async fn a_conversion_without_time_is_stopped_and_leaves_its_place() {
    let page = format!("<p {}>x", (0..200_000).map(|it| format!("a{it} ")).collect::<String>());
    let site = Site::html(&page).await;
    let web = builder().conversion_timeout(Duration::ZERO).build().unwrap();
    for _ in 0..6 {
        let error = fetch(&web, &site.url("/")).await.unwrap_err();
        assert!(error.contains("to convert; read another one"), "{error}");
    }
}
