//! Pages, their trees and their Markdown.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod markdown;
mod page;

use std::sync::atomic::AtomicBool;

use tool_http::reqwest::Url;

use super::{
    ConvertedPage,
    tree::{HtmlTree, TreeLimit},
};

fn parse(html: &str) -> Result<HtmlTree, TreeLimit> {
    HtmlTree::parse(html, &AtomicBool::new(false))
}

/// Converts a page at `https://a.example/`.
pub(super) fn convert(html: &str) -> ConvertedPage {
    let url = Url::parse("https://a.example/").unwrap();
    ConvertedPage::convert(html, &url, &AtomicBool::new(false)).unwrap()
}
