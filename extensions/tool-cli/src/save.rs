//! Images, audio and files in results: described in a line, and saved on request.
//!
//! File names are made of the name of the tool, which is letters, digits, `_` and `-`, of a number, and of an extension
//! from a fixed table. No text of a result is part of a path. An existing file is replaced only with `--force`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tool_runtime::{Content, output::ResourceBody};

use crate::{Exit, Failure, sanitize::escaped_line};

/// The limit of numbers that are tried for a free file name.
const MAX_FILE_NUMBER: usize = 10_000;

/// A block of content that is a file: its kind, its media type and its bytes.
pub(crate) struct Attachment<'c> {
    kind: &'static str,
    media_type: &'c str,
    bytes: &'c [u8],
    /// The text, if the file is one.
    pub(crate) text: Option<&'c str>,
}

impl<'c> Attachment<'c> {
    /// The attachment in `content`; `None` for text and links.
    pub(crate) fn of(content: &'c Content) -> Option<Self> {
        match content {
            Content::Image { data, mime_type } => {
                Some(Self { kind: "image", media_type: mime_type, bytes: &data.0, text: None })
            }
            Content::Audio { data, mime_type } => {
                Some(Self { kind: "audio", media_type: mime_type, bytes: &data.0, text: None })
            }
            Content::Resource { resource } => {
                let (bytes, text) = match &resource.body {
                    ResourceBody::Text(text) => (text.as_bytes(), Some(text.as_str())),
                    ResourceBody::Blob(blob) => (&*blob.0, None),
                };
                Some(Self { kind: "file", media_type: &resource.mime_type, bytes, text })
            }
            _ => None,
        }
    }

    /// `image: image/png, 1,024 bytes`.
    fn description(&self) -> String {
        let size = match self.bytes.len() {
            1 => "1 byte".to_owned(),
            size => format!("{} bytes", grouped_digits(size)),
        };
        let media_type = match self.media_type {
            "" => "unknown media type".to_owned(),
            media_type => escaped_line(media_type),
        };
        format!("{}: {media_type}, {size}", self.kind)
    }

    /// The line for an attachment that is not saved.
    pub(crate) fn not_saved_line(&self) -> String {
        format!("[{}; `--save DIR/` saves it]", self.description())
    }

    /// The file extension, from a fixed table; `bin` for other media types.
    fn extension(&self) -> &'static str {
        let media_type = self.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        EXTENSIONS
            .iter()
            .find(|(known, _)| *known == media_type)
            .map_or_else(|| if self.text.is_some() { "txt" } else { "bin" }, |(_, extension)| extension)
    }
}

const EXTENSIONS: [(&str, &str); 26] = [
    ("application/gzip", "gz"),
    ("application/json", "json"),
    ("application/pdf", "pdf"),
    ("application/xml", "xml"),
    ("application/zip", "zip"),
    ("audio/flac", "flac"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("audio/webm", "weba"),
    ("audio/x-wav", "wav"),
    ("image/avif", "avif"),
    ("image/bmp", "bmp"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/tiff", "tif"),
    ("image/webp", "webp"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
];

/// `1,234,567`.
fn grouped_digits(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The destination of `--save`.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    is_folder: bool,
    force: bool,
}

impl Destination {
    /// Reads the value of `--save`: a folder if it exists as one or ends with a separator, otherwise a file.
    ///
    /// # Errors
    ///
    /// If the file exists and `force` is not given, its folder does not exist, or a file stands in place of the folder.
    /// No tool has run then.
    pub(crate) fn new(path: &str, force: bool) -> Result<Self, Failure> {
        let shown = escaped_line(path);
        let ends_with_separator = path.ends_with(std::path::is_separator);
        let is_file = Path::new(path.trim_end_matches(std::path::is_separator)).is_file();
        let path = PathBuf::from(path);
        let is_folder = path.is_dir() || ends_with_separator;
        let exists = fs::symlink_metadata(&path).is_ok();
        if path.as_os_str().is_empty() {
            return Err(Failure::usage("`--save` requires the path of a folder or file"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let problem = if is_folder {
            is_file.then(|| format!("{shown} is a file, not a folder"))
        } else if exists && !force {
            Some(format!("{shown} exists; name another file, or replace it with `--force`"))
        } else {
            let is_missing = folder.is_some_and(|folder| !folder.is_dir());
            is_missing.then(|| format!("the folder of {shown} does not exist; create it first"))
        };
        match problem {
            Some(problem) => Err(Failure::usage(problem)),
            None => Ok(Self { path, is_folder, force }),
        }
    }

    /// Saves `attachment` and returns the line that describes it. `number` is its place in the result of `tool`, from 1,
    /// and `count` the number of attachments there.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn save_and_describe(
        &self,
        attachment: &Attachment<'_>,
        tool: &str,
        number: usize,
        count: usize,
    ) -> Result<String, Failure> {
        let written = self.write_file(attachment, tool, number, count);
        let path = written.map_err(|error| {
            let path = escaped_line(&self.path.display().to_string());
            Failure::new(Exit::Failed, format!("{path}: the {} cannot be saved: {error}", attachment.kind))
        })?;
        Ok(format!("[{}; saved as {}]", attachment.description(), escaped_line(&path.display().to_string())))
    }

    fn write_file(
        &self,
        attachment: &Attachment<'_>,
        tool: &str,
        number: usize,
        count: usize,
    ) -> io::Result<PathBuf> {
        if self.is_folder {
            fs::create_dir_all(&self.path)?;
        } else if count == 1 {
            let mut file = self.open_file(&self.path)?;
            return file.write_all(attachment.bytes).map(|()| self.path.clone());
        }
        for number in number..MAX_FILE_NUMBER {
            let path = self.numbered_path(attachment, tool, number);
            match self.open_file(&path) {
                Ok(mut file) => return file.write_all(attachment.bytes).map(|()| path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// `DIR/tool-1.png` in a folder, and `name-1.png` for one of several files that share `name.png`.
    fn numbered_path(&self, attachment: &Attachment<'_>, tool: &str, number: usize) -> PathBuf {
        if self.is_folder {
            // The name of a tool is valid in any path; a call to an unknown tool has no result.
            let is_valid = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let tool: String = tool.chars().filter(is_valid).collect();
            return self.path.join(format!("{tool}-{number}.{}", attachment.extension()));
        }
        let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_os_string();
        let mut name = text(self.path.file_stem());
        name.push(format!("-{number}"));
        if let Some(extension) = self.path.extension() {
            name.push(".");
            name.push(extension);
        }
        self.path.with_file_name(name)
    }

    /// Opens a file that does not exist yet, which follows no symbolic link; any file with `--force`.
    fn open_file(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true);
        if self.force {
            options.create(true).truncate(true)
        } else {
            options.create_new(true)
        };
        options.open(path)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests;
