//! Files in requests: base64, or references that the program resolves.

use std::{fmt, future::Future, sync::Arc};

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use tool_runtime::{BoxFuture, ToolContext, ToolError, guard::GuardedArc};

/// A file for a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileContent {
    pub(super) bytes: Vec<u8>,
    pub(super) name: Option<String>,
    pub(super) media_type: Option<String>,
}

impl FileContent {
    /// Creates a file without a name, of the media type that the document declares.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), name: None, media_type: None }
    }

    /// Sets the name of the file. Default: the name of its property.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the media type. Default: the one that the document declares, or `application/octet-stream`.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

/// Turns a reference, such as the name of an uploaded file, into the file.
///
/// The reference comes from the model: a resolver decides which files it may read. The method can be written as an `async fn`; an
/// asynchronous closure over an owned reference and context is a resolver.
///
/// # Examples
///
/// ```
/// use tool_openapi::{FileContent, FileResolver};
/// use tool_runtime::{ToolContext, ToolError};
///
/// struct Uploads;
///
/// impl FileResolver for Uploads {
///     async fn resolve(&self, reference: &str, _cx: &ToolContext) -> Result<FileContent, ToolError> {
///         match reference {
///             "logo" => Ok(FileContent::new(*b"<svg/>").with_name("logo.svg").with_media_type("image/svg+xml")),
///             other => Err(ToolError::bad_parameter(format!("there is no file `{other}`; use `logo`"))),
///         }
///     }
/// }
/// ```
pub trait FileResolver: Send + Sync {
    /// Returns the file that `reference` names.
    ///
    /// # Errors
    ///
    /// If an error is returned, the call fails with it, and no request is sent.
    fn resolve(
        &self,
        reference: &str,
        cx: &ToolContext,
    ) -> impl Future<Output = Result<FileContent, ToolError>> + Send;
}

impl<F, R> FileResolver for F
where
    F: Fn(String, ToolContext) -> R + Send + Sync,
    R: Future<Output = Result<FileContent, ToolError>> + Send,
{
    fn resolve(
        &self,
        reference: &str,
        cx: &ToolContext,
    ) -> impl Future<Output = Result<FileContent, ToolError>> + Send {
        self(reference.to_owned(), cx.clone())
    }
}

/// The object-safe form of [`FileResolver`].
trait ErasedFileResolver: Send + Sync {
    fn resolve<'a>(
        &'a self,
        reference: &'a str,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<FileContent, ToolError>>;
}

impl<T: FileResolver> ErasedFileResolver for T {
    fn resolve<'a>(
        &'a self,
        reference: &'a str,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<FileContent, ToolError>> {
        Box::pin(FileResolver::resolve(self, reference, cx))
    }
}

/// A resolver of any type.
#[derive(Clone)]
pub(crate) struct SharedFileResolver(GuardedArc<dyn ErasedFileResolver>);

impl SharedFileResolver {
    pub(crate) fn new(resolver: impl FileResolver + 'static) -> Self {
        Self(GuardedArc::new(Arc::new(resolver)))
    }
}

impl fmt::Debug for SharedFileResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedFileResolver(..)")
    }
}

/// The source of files of one call.
#[derive(Clone, Copy)]
pub(crate) struct FileSource<'a> {
    pub(crate) resolver: Option<&'a SharedFileResolver>,
    pub(crate) cx: &'a ToolContext,
}

impl FileSource<'_> {
    /// Returns the file that `text` is or names; `place` is the place of the text.
    pub(super) async fn decode_or_resolve_file(
        self,
        text: &str,
        place: &str,
    ) -> Result<FileContent, ToolError> {
        match self.resolver {
            Some(SharedFileResolver(resolver)) => resolver.resolve(text, self.cx).await,
            None => decode_base64_file(text).ok_or_else(|| {
                let message = format!(
                    "{place} is not valid base64; expected the content of the file in base64, such as `aGVsbG8=`"
                );
                ToolError::bad_parameter(message)
            }),
        }
    }
}

/// Decodes base64 of either alphabet, with or without padding, or a `data:` URL.
fn decode_base64_file(text: &str) -> Option<FileContent> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let (text, media_type) = match text.strip_prefix("data:").and_then(|it| it.split_once(";base64,")) {
        Some((media_type, text)) => (text, Some(media_type.to_owned()).filter(|it| !it.is_empty())),
        None => (text, None),
    };
    let text: String = text.split_ascii_whitespace().collect();
    let alphabet = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    let bytes = GeneralPurpose::new(alphabet, config).decode(text).ok()?;
    Some(FileContent { bytes, name: None, media_type })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::{FileContent, decode_base64_file};

    #[test]
    fn base64_is_decoded_in_each_of_its_forms() {
        for (text, bytes, media_type) in [
            ("", &b""[..], None),
            ("aGk=", b"hi", None),
            ("aGk", b"hi", None),
            (" aG\n k= ", b"hi", None),
            ("+/8=", b"\xfb\xff", None),
            ("-_8", b"\xfb\xff", None),
            ("data:text/plain;base64,aGk=", b"hi", Some("text/plain")),
            ("data:;base64,aGk=", b"hi", None),
        ] {
            let media_type = media_type.map(str::to_owned);
            let expected = FileContent { bytes: bytes.to_vec(), name: None, media_type };
            assert_eq!(decode_base64_file(text).unwrap(), expected, "{text}");
        }
        for wrong in ["a", "hi!", "data:text/plain,hi", "+_8=", "aGk=x"] {
            assert_eq!(decode_base64_file(wrong), None, "{wrong}");
        }
        let file = FileContent::new(*b"a").with_name("n").with_media_type("t");
        assert_eq!(
            (file.name.as_deref(), file.media_type.as_deref(), &*file.bytes),
            (Some("n"), Some("t"), &b"a"[..])
        );
    }
}
