//! Bodies, which servers choose.

use std::{io::Write as _, time::Duration};

use flate2::{Compression, write::GzEncoder};
use tool_http::HttpErrorKind;

use crate::{
    PERMITTED, builder, get,
    server::{End, Server, answer},
};

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_body_has_at_most_the_size_of_the_limit() {
    let client = builder().body_limit(1000).build().unwrap();
    for (length, is_cut) in [(0, false), (999, false), (1000, false), (1001, true), (100_000, true)] {
        let server = Server::new(200, "", vec![b'a'; length]).await;
        let body = get(&client, &server.url()).await.unwrap().beginning().await.unwrap();
        assert_eq!((body.bytes.len(), body.is_cut), (length.min(1000), is_cut));
        let whole = get(&client, &server.url()).await.unwrap().bytes().await;
        match is_cut {
            true => {
                let error = whole.unwrap_err();
                assert_eq!(error.kind(), HttpErrorKind::TooLarge);
                let expected = "the body of the response is larger than 1000 bytes";
                assert_eq!(error.to_string(), format!("`{}`: {expected}", server.url()));
            }
            false => assert_eq!(whole.unwrap().len(), length),
        }
    }
}

#[tokio::test]
async fn a_body_that_never_ends_is_read_up_to_the_limit() {
    let endless = answer(200, "content-type: text/plain\r\n", vec![b'a'; 8192]);
    let server = Server::at(PERMITTED, endless, End::Repeat).await;
    let client = builder().body_limit(100_000).build().unwrap();
    let error = get(&client, &server.url()).await.unwrap().bytes().await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::TooLarge);
    // A length is no promise.
    let server = Server::new(200, "content-length: 1000000\r\n", "a").await;
    let error = get(&client, &server.url()).await.unwrap().bytes().await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Interrupted, "{error:?}");
}

#[tokio::test]
async fn the_limit_counts_after_the_decompression() {
    let bomb = compressed(&vec![0; 64 << 20]);
    assert!(bomb.len() < 100_000);
    let server = Server::new(200, "content-encoding: gzip\r\n", &bomb).await;
    let client = builder().build().unwrap();
    let body = get(&client, &server.url()).await.unwrap().beginning().await.unwrap();
    assert_eq!((body.bytes.len(), body.is_cut), (8 << 20, true));
    assert_eq!(
        get(&client, &server.url()).await.unwrap().bytes().await.unwrap_err().kind(),
        HttpErrorKind::TooLarge
    );
    let twice = Server::new(200, "content-encoding: gzip\r\n", compressed(&bomb)).await;
    assert_eq!(get(&client, &twice.url()).await.unwrap().bytes().await.unwrap(), bomb);
    let broken = Server::new(200, "content-encoding: gzip\r\n", &bomb[..bomb.len() / 2]).await;
    let client = builder().body_limit(128 << 20).build().unwrap();
    let error = get(&client, &broken.url()).await.unwrap().bytes().await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Interrupted, "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_head_and_a_body_that_stop_arriving_end_by_the_timeout_of_the_whole_request() {
    for begun in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na"] {
        for (timeout, seconds) in [(None, 30), (Some(Duration::from_secs(7)), 7)] {
            let server = Server::at(PERMITTED, begun, End::Silence).await;
            let client =
                timeout.into_iter().fold(builder(), tool_http::HttpClientBuilder::timeout).build().unwrap();
            let began = tokio::time::Instant::now();
            let error = match get(&client, &server.url()).await {
                Ok(response) => response.bytes().await.unwrap_err(),
                Err(error) => error,
            };
            assert_eq!(error.kind(), HttpErrorKind::Timeout, "{error:?}");
            // The clock is paused, and skips to the next timer.
            assert_eq!(began.elapsed().as_secs(), seconds);
            assert_eq!(error.to_string(), format!("`{}`: the server did not answer in time", server.url()));
        }
    }
}

#[tokio::test]
async fn what_is_not_utf_8_is_replaced_in_a_text() {
    let server = Server::new(200, "", b"a\xffb").await;
    let response = get(&builder().build().unwrap(), &server.url()).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "a\u{fffd}b");
}
