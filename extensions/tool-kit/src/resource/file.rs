//! Files as resources, read each time anew.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use tool_runtime::{BoxFuture, ErrorKind, RunContext, ToolError, output};

use super::{ReadableResource, ResourceError, ResourceUri, content::detect_content};
use crate::names::check_name;

/// A file as a resource, which is read each time anew. Its type is detected then, and text of UTF-8, UTF-16 and Windows-1252
/// is text in UTF-8. What is no regular file, such as a pipe or a device, is an error of reading it.
///
/// Its URI is `file:` and the absolute path, unless [`with_uri`](ReadableResource::with_uri) sets another one.
///
/// # Examples
///
/// ```no_run
/// use tool_kit::resource::{FileResource, ReadableResource};
///
/// let notes = FileResource::new("notes", "/home/ada/notes.txt")?;
/// assert_eq!(notes.uri().as_str(), "file:///home/ada/notes.txt");
/// # Ok::<(), tool_kit::resource::ResourceError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FileResource {
    uri: ResourceUri,
    name: String,
    path: PathBuf,
}

impl FileResource {
    /// The maximum length of a file, in bytes; a longer one is an error of reading it.
    pub const MAX_BYTES: u64 = 64 << 20;

    /// Creates the resource of a file, which need not exist yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is no identifier, or the path has no absolute form.
    pub fn new(name: impl Into<String>, path: impl AsRef<Path>) -> Result<Self, ResourceError> {
        let name = name.into();
        check_name("resource", &name).map_err(ResourceError::new)?;
        let path = std::path::absolute(path).map_err(|error| {
            ResourceError::new(format!("the path of the resource `{name}` has no absolute form: {error}"))
        })?;
        let uri = ResourceUri::parse(&file_uri(&path))?;
        Ok(Self { uri, name, path })
    }
}

/// Returns the URI of an absolute path (RFC 8089), with each byte that is no part of a path escaped.
fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.first() != Some(&b'/') {
        uri.push('/');
    }
    for byte in bytes {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'/' | b':' if *byte == b'/' || cfg!(windows) => uri.push(char::from(*byte)),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn read_file(path: &Path, uri: String) -> Result<output::Resource, ToolError> {
    let failed = |error: io::Error| {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Unavailable,
        };
        ToolError::new(kind, format!("the resource `{uri}` cannot be read: {error}"))
    };
    // Before it is opened: that waits for the other end of a pipe.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is no regular file; offer one that is")));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FileResource::MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FileResource::MAX_BYTES {
        let message =
            format!("the resource `{uri}` exceeds {} bytes; offer a part of it", FileResource::MAX_BYTES);
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let content = detect_content(bytes, name.as_deref());
    Ok(output::Resource { uri, mime_type: content.mime_type, body: content.body })
}

impl ReadableResource for FileResource {
    fn uri(&self) -> &ResourceUri {
        &self.uri
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read<'a>(&'a self, _: &'a Arc<RunContext>) -> BoxFuture<'a, Result<output::Resource, ToolError>> {
        let (path, uri) = (self.path.clone(), self.uri.to_string());
        Box::pin(async move {
            #[expect(clippy::disallowed_methods, reason = "the read waits for it, and it ends by itself")]
            let reading = tokio::task::spawn_blocking(move || read_file(&path, uri));
            reading.await.unwrap_or_else(|error| Err(ToolError::failed(error.to_string())))
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_uri_of_a_path_escapes_what_is_no_part_of_a_path() {
        for (path, expected) in [
            ("/", "file:///"),
            ("/a/B-9._~/c.md", "file:///a/B-9._~/c.md"),
            ("/a b%\u{e4}?#&", "file:///a%20b%25%C3%A4%3F%23%26"),
            // Without a slash, as of a drive.
            ("c:\\a", "file:///c%3A%5Ca"),
            ("", "file:///"),
        ] {
            assert_eq!(file_uri(Path::new(path)), expected);
        }
    }
}
