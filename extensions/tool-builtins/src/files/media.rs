//! Files that are shown otherwise than as lines: images, and documents that a program converts.

use std::{
    fmt::{self, Write as _},
    io::{self, Read as _},
    ops::RangeInclusive,
    sync::Arc,
};

use cap_std::fs::File;
use tool_runtime::{Content, prelude::*};

use super::{
    FileTools,
    page::MAX_PAGE_BYTES,
    read::ReadQuery,
    root::{OpenFile, file_error},
};

/// Bytes of an image.
const MAX_IMAGE_BYTES: u64 = 20 * 1024 * 1024;

/// Pages of a document that one call reads.
const MAX_PAGES: u32 = 20;

/// Formats of images that models read.
const IMAGE_TYPES: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"];

/// Reads the text of PDF documents for `read_file`.
///
/// These documents have many parsers with mistakes: an implementation runs one where it can do no harm.
///
/// # Examples
///
/// ```
/// use std::{fs::File, ops::RangeInclusive};
///
/// use tool_builtins::files::{FileTools, PdfConverter};
/// use tool_runtime::{ToolContext, ToolError};
///
/// /// Knows one document.
/// #[derive(Debug)]
/// struct OnePage;
///
/// impl PdfConverter for OnePage {
///     fn read_pages(&self, _: File, pages: RangeInclusive<u32>, _: &ToolContext) -> Result<Vec<String>, ToolError> {
///         Ok(pages.contains(&1).then(|| "The only page.".to_owned()).into_iter().collect())
///     }
/// }
///
/// let folder = tempfile::tempdir()?;
/// let files = FileTools::new(folder.path())?.with_pdf_converter(OnePage);
/// # Ok::<_, std::io::Error>(())
/// ```
pub trait PdfConverter: fmt::Debug + Send + Sync + 'static {
    /// Returns the text of each of the `pages`, from 1; fewer if the document has fewer. `pdf` is at its start. Runs where it may
    /// block, and should end soon after the cancellation of `cx`.
    ///
    /// # Errors
    ///
    /// Returns an error if the document cannot be read.
    fn read_pages(
        &self,
        pdf: std::fs::File,
        pages: RangeInclusive<u32>,
        cx: &ToolContext,
    ) -> Result<Vec<String>, ToolError>;
}

/// The kind of a file that is not text.
pub(super) enum MediaKind {
    Image(&'static str),
    Pdf,
}

impl MediaKind {
    /// The kind by the content, never by the name.
    pub(super) fn detect(start: &[u8]) -> Option<Self> {
        let mime = infer::get(start)?.mime_type();
        // Some begin with letters, as a text may: it would be hidden behind an image that no model can read.
        let is_text = !start.contains(&0)
            && std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
        let is_other = match mime {
            "image/gif" => !start.starts_with(b"GIF87a") && !start.starts_with(b"GIF89a"),
            "image/bmp" => start.get(6..10) != Some(&[0; 4]),
            _ => false,
        };
        match mime {
            "application/pdf" => Some(Self::Pdf),
            _ if mime.starts_with("image/") && !is_text && !is_other => Some(Self::Image(mime)),
            _ => None,
        }
    }
}

pub(super) fn read_image(
    open: &mut OpenFile,
    path: &str,
    mime: &str,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    if !IMAGE_TYPES.contains(&mime) {
        let types = IMAGE_TYPES.join(", ");
        return Err(ToolError::failed(format!(
            "`{path}` is of the type {mime}, and images are read of {types}; convert it to one of them"
        )));
    }
    let mut image = Vec::new();
    let reader = CancelledRead { reader: &mut open.file, cx };
    let copied = reader.take(MAX_IMAGE_BYTES + 1).read_to_end(&mut image);
    if cx.is_cancelled() {
        return Err(ToolError::cancelled());
    }
    copied.map_err(|error| file_error(path, &error))?;
    if image.len() as u64 > MAX_IMAGE_BYTES {
        return Err(ToolError::failed(format!(
            "`{path}` is an image of more than {MAX_IMAGE_BYTES} bytes, the limit; make it smaller"
        )));
    }
    let title = format!("`{path}`, {mime}, {} bytes\n", image.len());
    Ok(ToolOutput::new([Content::text(title), Content::image(image, mime)]))
}

/// `pdftotext` in a sandbox, where it is found.
pub(super) fn default_pdf_converter() -> Option<Arc<dyn PdfConverter>> {
    #[cfg(feature = "shell")]
    return crate::PdfToText::find().map(|converter| Arc::new(converter) as _);
    #[cfg(not(feature = "shell"))]
    None
}

pub(super) fn read_pdf(
    tools: &FileTools,
    pdf: io::Result<File>,
    query: &ReadQuery,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let path = query.path.as_str();
    let Some(converter) = &tools.pdf_converter else {
        return Err(ToolError::failed(format!(
            "`{path}` is a PDF document, which nothing here can read; install `pdftotext` (the package `poppler-utils`), \
             which the feature `shell` runs in a sandbox, give the tools a `PdfConverter`, or convert the document to text"
        )));
    };
    let pages = parse_page_range(query.pages.as_deref())?;
    let (first, last) = (*pages.start(), *pages.end());
    let pdf = pdf.map_err(|error| file_error(path, &error))?.into_std();
    let texts = converter.read_pages(pdf, pages, cx)?;
    if texts.is_empty() {
        return Err(ToolError::failed(format!("`{path}` has no page {first}; give `pages` that it has")));
    }
    let (mut text, mut number) = (String::new(), first);
    for page in texts.iter().take((last - first + 1) as usize) {
        let page = page.trim_end();
        if text.len() + page.len() > MAX_PAGE_BYTES && number > first {
            break;
        }
        let _ = writeln!(text, "[page {number}]");
        let end = page.char_indices().nth(MAX_PAGE_BYTES).map_or(page.len(), |(end, _)| end);
        text.push_str(&page[..end]);
        if end < page.len() {
            text.push_str("\n[.. the rest of this page is left out ..]");
        }
        text.push('\n');
        number += 1;
    }
    let end = number - 1;
    // A page after the last one may exist, and be empty of text.
    let may_continue = end == last || ((end - first + 1) as usize) < texts.len();
    let title = match may_continue {
        true => format!(
            "`{path}`, pages {first}-{end}; if more follow, continue with `pages` {number}-{}\n",
            number + MAX_PAGES - 1
        ),
        false => format!("`{path}`, pages {first}-{end} of {end}\n"),
    };
    Ok(ToolOutput::from(title + &text))
}

/// The pages of a call: `3`, `3-7`, or the first ones.
fn parse_page_range(pages: Option<&str>) -> Result<RangeInclusive<u32>, ToolError> {
    let Some(pages) = pages else { return Ok(1..=MAX_PAGES) };
    let (first, last) = pages.split_once('-').unwrap_or((pages, pages));
    match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
        (Ok(first), Ok(last)) if first >= 1 && last >= first && last < u32::MAX - MAX_PAGES => {
            Ok(first..=last.min(first + MAX_PAGES - 1))
        }
        _ => Err(ToolError::failed(format!(
            "`pages` is `{pages}`, which is no range; write it like `3` or `3-7`, with at most {MAX_PAGES} pages"
        ))),
    }
}

/// A file whose reads end with an error at cancellation, so that no large file is read to its end.
pub(super) struct CancelledRead<'a, R> {
    pub(super) reader: R,
    pub(super) cx: &'a ToolContext,
}

impl<R: io::Read> io::Read for CancelledRead<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.cx.is_cancelled() {
            true => Err(io::Error::other("cancelled")),
            false => self.reader.read(buffer),
        }
    }
}
