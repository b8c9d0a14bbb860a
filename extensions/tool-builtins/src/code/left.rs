//! The files that a program left. They are hostile: links and pipes are not opened, and everything has a limit.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use tool_runtime::{Content, prelude::*};

/// Files and folders that are looked at.
const MAX_ENTRIES: usize = 1000;
const MAX_DEPTH: usize = 8;
/// Files whose content a result has.
const MAX_FILES: usize = 16;
const MAX_IMAGES: usize = 8;
const MAX_IMAGE_BYTES: u64 = 5 << 20;
const MAX_TEXT_BYTES: u64 = 16 << 10;
const MAX_NAME_CHARS: usize = 200;

/// The content of files, as a result has it.
#[derive(Default)]
pub(super) struct LeftFiles {
    texts: Vec<String>,
    images: Vec<Content>,
    entries: usize,
    files: usize,
    omitted_files: usize,
}

impl LeftFiles {
    /// Reads the files below `folder`, sorted by their paths.
    pub(super) fn read(folder: &Path) -> Self {
        let mut left = Self::default();
        left.read_folder(folder, Path::new(""), 0);
        left
    }

    fn read_folder(&mut self, root: &Path, inner: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(root.join(inner)) else { return };
        let room = MAX_ENTRIES.saturating_sub(self.entries);
        let mut names: Vec<PathBuf> =
            entries.take(room).filter_map(|entry| Some(entry.ok()?.file_name().into())).collect();
        self.entries += names.len();
        names.sort();
        for name in names {
            let path = inner.join(name);
            let Ok(metadata) = root.join(&path).symlink_metadata() else { continue };
            if metadata.is_dir() && depth < MAX_DEPTH {
                self.read_folder(root, &path, depth + 1);
            } else if metadata.is_file() {
                self.read_file(root, &path);
            }
        }
    }

    fn read_file(&mut self, root: &Path, path: &Path) {
        if self.files == MAX_FILES {
            self.omitted_files += 1;
            return;
        }
        self.files += 1;
        let name: String = path.to_string_lossy().escape_debug().take(MAX_NAME_CHARS).collect();
        let text = match self.content(&root.join(path)) {
            Ok((length, Some(text))) => format!("[{name}, {length} bytes]\n{text}"),
            Ok((length, None)) => format!("[{name}, {length} bytes]"),
            Err(error) => format!("[{name}, which cannot be read: {error}]"),
        };
        self.texts.push(text);
    }

    /// The length of a file, and its text. An image is added to the images.
    fn content(&mut self, path: &Path) -> io::Result<(u64, Option<String>)> {
        let file = open_regular(path)?;
        let length = file.metadata()?.len();
        let mut start = Vec::new();
        (&file).take(MAX_TEXT_BYTES).read_to_end(&mut start)?;
        if let Some(mime_type) = image_type(&start) {
            if length <= MAX_IMAGE_BYTES && self.images.len() < MAX_IMAGES {
                (&file).take(MAX_IMAGE_BYTES - start.len() as u64).read_to_end(&mut start)?;
                self.images.push(Content::image(start, mime_type));
            }
            return Ok((length, None));
        }
        let is_cut = length > start.len() as u64;
        let text = match std::str::from_utf8(&start) {
            Ok(text) => text,
            // The last character may be cut.
            Err(error) if is_cut && error.error_len().is_none() => {
                std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Ok((length, None)),
        };
        if text.contains('\0') {
            return Ok((length, None));
        }
        let note =
            if is_cut { format!("\n[.. the rest of {length} bytes left out ..]") } else { String::new() };
        Ok((length, Some(format!("{text}{note}"))))
    }

    /// Adds the files to the result of their program.
    pub(super) fn add_to(self, result: ToolOutput) -> ToolOutput {
        let mut text = result.text().to_string();
        for file in self.texts {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&file);
        }
        if self.omitted_files > 0 || self.entries >= MAX_ENTRIES {
            text.push_str("\n[.. more files left out; a program can pack them into one ..]");
        }
        let details = result.details().cloned().unwrap_or_default();
        let result = ToolOutput::from(text).with_details(details);
        self.images.into_iter().fold(result, ToolOutput::with_content)
    }
}

/// Opens a file that is no link, pipe or device: something may have taken its place.
fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no file any more")),
    }
}

/// The type of an image that models take.
fn image_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
