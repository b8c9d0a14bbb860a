//! The kinds of content, and their text.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Semaphore;
use tool_http::reqwest::{
    Url,
    header::{CONTENT_TYPE, HeaderMap},
};
use tool_runtime::{hook::Sanitizer, prelude::*};

use super::{
    charset::DecodedText,
    html::{ConvertedPage, HiddenText, MAX_DEPTH, TreeLimit},
};

/// Pages that are converted at once; one that its call no longer waits for counts until it has stopped.
pub(super) const MAX_CONVERSIONS: usize = 4;

/// A converter of PDF documents to text, which the program sets by
/// [`WebToolsBuilder::pdf_converter`](super::WebToolsBuilder::pdf_converter).
///
/// A document comes from the web: parse it in a process without rights, such as `pdftotext` in a sandbox, and bound its time.
pub trait PdfConverter: Send + Sync + 'static {
    /// Returns the text of a document.
    ///
    /// # Errors
    ///
    /// If it cannot be converted; the message is shown to the model.
    fn convert(&self, document: Vec<u8>) -> impl Future<Output = Result<String, ToolError>> + Send;
}

/// [`PdfConverter`] behind a pointer.
pub(super) trait BoxedPdfConverter: Send + Sync {
    fn convert_boxed(
        &self,
        document: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<String, ToolError>> + Send + '_>>;
}

impl<C: PdfConverter> BoxedPdfConverter for C {
    fn convert_boxed(
        &self,
        document: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<String, ToolError>> + Send + '_>> {
        Box::pin(self.convert(document))
    }
}

/// The form of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentKind {
    Html,
    Text,
    Pdf,
    Binary,
}

/// The content type of a response.
#[derive(Debug)]
pub(super) struct MediaType {
    /// In small letters; empty if there is none.
    pub(super) name: String,
    pub(super) charset: Option<String>,
}

impl MediaType {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let value = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let mut parts = value.split(';');
        let name = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (key, value) = part.split_once('=')?;
            key.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
        });
        Self { name, charset }
    }

    /// Returns the form of a body; where the type says nothing, by its first bytes.
    pub(super) fn kind(&self, bytes: &[u8]) -> ContentKind {
        let name = self.name.as_str();
        let kind = match name {
            "text/html" | "application/xhtml+xml" => ContentKind::Html,
            "application/pdf" => return ContentKind::Pdf,
            "" | "application/octet-stream" => {
                let start = bytes.get(..1024).unwrap_or(bytes).to_ascii_lowercase();
                let has = |text: &[u8]| start.windows(text.len()).any(|it| it == text);
                match () {
                    () if start.starts_with(b"%pdf-") => return ContentKind::Pdf,
                    () if has(b"<!doctype html") || has(b"<html") => ContentKind::Html,
                    () => ContentKind::Text,
                }
            }
            _ if name.starts_with("text/")
                || name.ends_with("+json")
                || name.ends_with("+xml")
                || ["json", "xml", "javascript", "yaml", "toml", "x-ndjson", "sql", "x-sh"]
                    .iter()
                    .any(|it| name.strip_prefix("application/") == Some(it)) =>
            {
                ContentKind::Text
            }
            _ => ContentKind::Binary,
        };
        match DecodedText::is_binary(bytes, self.charset.as_deref()) {
            true => ContentKind::Binary,
            false => kind,
        }
    }
}

/// The text of a body.
#[derive(Debug)]
pub(super) struct PageText {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) charset: &'static str,
    /// The text that the style sheets of the page hide.
    pub(super) hidden: HiddenText,
    pub(super) notes: Vec<String>,
}

impl PageText {
    pub(super) fn plain(text: String, charset: &'static str) -> Self {
        Self { title: String::new(), text, charset, hidden: HiddenText::default(), notes: Vec::new() }
    }
}

/// Sets its flag when the call ends, in whichever way.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The error of a page whose conversion takes longer than `limit`.
pub(super) fn late_conversion_error(limit: Duration) -> ToolError {
    let seconds = limit.as_secs_f64();
    ToolError::failed(format!("the page took more than {seconds} seconds to convert; read another one"))
}

/// Runs `convert` beside the tasks of the program, and stops it after `limit`.
#[allow(
    clippy::disallowed_methods,
    reason = "the body sees the flag, which the end of the call sets; the semaphore counts it"
)]
pub(super) async fn run_conversion<T: Send + 'static>(
    conversions: &Arc<Semaphore>,
    limit: Duration,
    convert: impl FnOnce(&AtomicBool) -> Result<T, TreeLimit> + Send + 'static,
) -> Result<T, ToolError> {
    let permit = tokio::time::timeout(limit, Arc::clone(conversions).acquire_owned()).await;
    let Ok(Ok(permit)) = permit else { return Err(late_conversion_error(limit)) };
    let stop = StopOnDrop(Arc::default());
    let flag = Arc::clone(&stop.0);
    let body = move || {
        let result = convert(&flag);
        drop(permit);
        result
    };
    match tokio::time::timeout(limit, tokio::task::spawn_blocking(body)).await {
        Ok(Ok(Ok(value))) => Ok(value),
        Ok(Ok(Err(TreeLimit::Depth))) => Err(ToolError::failed(format!(
            "the elements of the page are nested deeper than {MAX_DEPTH} levels; read another page"
        ))),
        Ok(Ok(Err(TreeLimit::Nodes))) => {
            Err(ToolError::failed("the page has too many elements; read another page"))
        }
        Ok(Ok(Err(TreeLimit::Stopped))) | Err(_) => Err(late_conversion_error(limit)),
        Ok(Err(_)) => Err(ToolError::failed("the page cannot be converted; read another one")),
    }
}

/// Returns `text` without invisible characters. Escapes go first, since the end of a sequence may be far, or missing.
pub(super) fn without_invisible_characters(text: &str) -> String {
    match text.contains('\u{1b}') {
        true => Sanitizer::clean(&text.replace('\u{1b}', "")),
        false => Sanitizer::clean(text),
    }
}

/// Returns the text of a page or of a text; blocks.
pub(super) fn convert_body(
    bytes: &[u8],
    media_type: &MediaType,
    is_html: bool,
    url: &Url,
    stop: &AtomicBool,
) -> Result<PageText, TreeLimit> {
    let DecodedText { text, charset } = DecodedText::decode(bytes, media_type.charset.as_deref(), is_html);
    if !is_html {
        return Ok(PageText::plain(without_invisible_characters(&text), charset));
    }
    let page = ConvertedPage::convert(&text, url, stop)?;
    let (text, notes) = (without_invisible_characters(&page.markdown), hidden_notes(&page));
    Ok(PageText { title: page.title, hidden: page.hidden, notes, ..PageText::plain(text, charset) })
}

/// Says what the style sheets of a page hide.
fn hidden_notes(page: &ConvertedPage) -> Vec<String> {
    let HiddenText { chars, unread } = page.hidden;
    let mut notes = Vec::new();
    match (chars, page.is_all_hidden) {
        (0, _) => {}
        (_, true) => notes.push("[a style sheet hides all text of the page, which is shown here]".to_owned()),
        (chars, false) => {
            notes.push(format!("[{chars} characters that a style sheet hides from people were left out]"));
        }
    }
    if unread > 0 {
        notes.push(format!(
            "[{unread} selectors of style sheets were not read; the text may have parts that people do not see]"
        ));
    }
    notes
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_conversion_that_runs_on_is_stopped_and_counts_until_then() {
        let conversions = Arc::new(Semaphore::new(1));
        let convert = |stop: &AtomicBool| {
            while !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            Err::<(), _>(TreeLimit::Stopped)
        };
        let error = run_conversion(&conversions, Duration::ZERO, convert).await.unwrap_err();
        assert!(error.to_string().contains("to convert; read another one"), "{error}");
        // It returns once the conversion has seen its flag.
        drop(conversions.acquire().await.unwrap());
        // A call that is dropped stops its conversion as well.
        let call = run_conversion(&conversions, Duration::from_secs(600), convert);
        let late = tokio::time::timeout(Duration::ZERO, call).await;
        assert!(late.is_err());
        drop(conversions.acquire().await.unwrap());
    }

    fn media_type(value: &str) -> MediaType {
        MediaType::of(&HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]))
    }

    #[test]
    fn a_media_type_has_a_name_in_small_letters_and_a_charset() {
        for (value, name, charset) in [
            ("Text/HTML", "text/html", None),
            (" text/plain ; a=b; CharSet = \"utf-8\" ; c", "text/plain", Some("utf-8")),
            ("text/plain; charset", "text/plain", None),
            ("; charset=x", "", Some("x")),
        ] {
            let found = media_type(value);
            assert_eq!((found.name.as_str(), found.charset.as_deref()), (name, charset), "{value}");
        }
        assert_eq!(MediaType::of(&HeaderMap::new()).name, "");
    }

    #[test]
    fn the_kind_of_a_body_follows_its_type_or_its_first_bytes() {
        use ContentKind::{Binary, Html, Pdf, Text};
        for (name, kind) in [
            ("text/html", Html),
            ("application/xhtml+xml", Html),
            ("text/plain", Text),
            ("text/x-anything", Text),
            ("image/svg+xml", Text),
            ("application/ld+json", Text),
            ("application/json", Text),
            ("application/xml", Text),
            ("application/sql", Text),
            ("application/x-sh", Text),
            ("application/pdf", Pdf),
            ("application/zip", Binary),
            ("application/jsonp", Binary),
            ("x/json", Binary),
            ("image/png", Binary),
            ("json", Binary),
        ] {
            assert_eq!(media_type(name).kind(b"<html>"), kind, "{name}");
            let of_zeros = if kind == Pdf { Pdf } else { Binary };
            assert_eq!(media_type(name).kind(b"a\0"), of_zeros, "{name}");
        }
        let after = |count: usize| [&b" ".repeat(count)[..], b"<HTML>"].concat();
        for (bytes, kind) in [
            (b"%PDF-1.7\0".to_vec(), Pdf),
            (b" %PDF-1.7".to_vec(), Text),
            (b"a <!DOCTYPE html>".to_vec(), Html),
            (after(1024 - 5), Html),
            (after(1024 - 4), Text),
            (b"<p>text".to_vec(), Text),
            (b"<html>\0".to_vec(), Binary),
            (Vec::new(), Text),
        ] {
            for name in ["", "application/octet-stream"] {
                assert_eq!(media_type(name).kind(&bytes), kind, "{bytes:?}");
            }
        }
    }

    #[test]
    fn notes_say_what_style_sheets_hide() {
        let hides = "[3 characters that a style sheet hides from people were left out]";
        let hides_all = "[a style sheet hides all text of the page, which is shown here]";
        let unread =
            "[1 selectors of style sheets were not read; the text may have parts that people do not see]";
        let url = "https://a.example/".parse().unwrap();
        for (html, notes) in [
            ("<p>one", &[][..]),
            ("<style>b { display: none }</style><p>one<b>two</b>", &[hides]),
            ("<style>p { display: none }</style><p>one", &[hides_all]),
            ("<style>.c:has(b) { display: none }</style><p class=c>one", &[unread]),
        ] {
            let page =
                convert_body(html.as_bytes(), &media_type("text/html"), true, &url, &AtomicBool::new(false));
            let Ok(page) = page else { unreachable!("it is converted") };
            assert_eq!(page.notes, notes, "{html}");
            assert!(page.text.starts_with("one"), "{}", page.text);
        }
        let text = convert_body(
            b"<p>one\x1b[2J\xe2\x80\x8b",
            &media_type("text/plain"),
            false,
            &url,
            &AtomicBool::new(false),
        );
        assert!(
            text.is_ok_and(|text| text.text == "<p>one[2J" && text.notes.is_empty() && text.title.is_empty())
        );
    }
}
