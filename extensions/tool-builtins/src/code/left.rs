//! The files that a program left. They are hostile: each is opened by the handle of its folder, which was opened before the program ran, links
//! and pipes are not opened, and everything has a limit.

use std::{
    ffi::OsString,
    io::{self, Read},
    path::Path,
};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, File, OpenOptions};
use tool_runtime::{Content, prelude::*};

/// Files and folders that are looked at.
const MAX_ENTRIES: usize = 1000;
const MAX_DEPTH: usize = 8;
/// Files whose content a result has.
const MAX_FILES: usize = 16;
const MAX_IMAGES: usize = 8;
const MAX_IMAGE_BYTES: u64 = 5 << 20;
/// Bytes of all images together.
const MAX_ALL_IMAGES_BYTES: u64 = 10 << 20;
const MAX_TEXT_BYTES: u64 = 16 << 10;
const MAX_NAME_CHARS: usize = 200;

/// The content of files, as a result has it.
#[derive(Default)]
pub(super) struct ProgramFiles {
    texts: Vec<String>,
    images: Vec<Content>,
    image_bytes: u64,
    omitted_images: usize,
    entries: usize,
    files: usize,
    /// More files are there than a result has.
    omits_files: bool,
}

impl ProgramFiles {
    /// Reads the files below `folder`, sorted by their paths.
    pub(super) fn read_below(folder: &Dir) -> Self {
        let mut left = Self::default();
        left.add_folder(folder, Path::new(""), 0);
        left
    }

    /// Reads the files of a folder at the path `relative_path`, which is for the result alone.
    fn add_folder(&mut self, folder: &Dir, relative_path: &Path, depth: usize) {
        let Ok(entries) = folder.entries() else { return };
        let room = MAX_ENTRIES.saturating_sub(self.entries);
        let mut names: Vec<OsString> =
            entries.take(room).filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        self.entries += names.len();
        names.sort();
        for name in names {
            let Ok(metadata) = folder.symlink_metadata(&name) else { continue };
            let path = relative_path.join(&name);
            if metadata.is_dir() && depth < MAX_DEPTH {
                if let Ok(below) = folder.open_dir_nofollow(&name) {
                    self.add_folder(&below, &path, depth + 1);
                }
            } else if metadata.is_file() {
                self.add_file(folder, &name, &path);
            }
        }
    }

    fn add_file(&mut self, folder: &Dir, name: &OsString, path: &Path) {
        if self.files == MAX_FILES {
            self.omits_files = true;
            return;
        }
        self.files += 1;
        let shown: String = path.to_string_lossy().escape_debug().take(MAX_NAME_CHARS).collect();
        let text = match open_regular_file_without_links(folder, name)
            .and_then(|file| self.read_text_or_keep_image(file))
        {
            Ok((length, Some(text))) => format!("[{shown}, {length} bytes]\n{text}"),
            Ok((length, None)) => format!("[{shown}, {length} bytes]"),
            Err(error) => format!("[{shown}, which cannot be read: {error}]"),
        };
        self.texts.push(text);
    }

    /// The length of a file, and its text. An image is added to the images.
    fn read_text_or_keep_image(&mut self, file: File) -> io::Result<(u64, Option<String>)> {
        let length = file.metadata()?.len();
        let mut start = Vec::new();
        (&file).take(MAX_TEXT_BYTES).read_to_end(&mut start)?;
        if let Some(mime_type) = image_mime_type(&start) {
            let has_room =
                self.images.len() < MAX_IMAGES && self.image_bytes + length <= MAX_ALL_IMAGES_BYTES;
            if length > MAX_IMAGE_BYTES || !has_room {
                self.omitted_images += 1;
                return Ok((length, None));
            }
            // Not more than was counted: something may still write it.
            (&file).take(length.saturating_sub(start.len() as u64)).read_to_end(&mut start)?;
            self.image_bytes += start.len() as u64;
            self.images.push(Content::image(start, mime_type));
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
    pub(super) fn append_to_result(self, result: ToolOutput) -> ToolOutput {
        let mut text = result.text().to_string();
        for file in self.texts {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&file);
        }
        if self.omits_files || self.entries >= MAX_ENTRIES {
            text.push_str("\n[.. more files left out; a program can pack them into one ..]");
        }
        if self.omitted_images > 0 {
            let (one, all) = (MAX_IMAGE_BYTES >> 20, MAX_ALL_IMAGES_BYTES >> 20);
            text.push_str(&format!(
                "\n[.. {} images left out: at most {MAX_IMAGES} have {one} MiB each, and {all} MiB together ..]",
                self.omitted_images
            ));
        }
        let details = result.details().cloned().unwrap_or_default();
        let result = ToolOutput::from(text).with_details(details);
        self.images.into_iter().fold(result, ToolOutput::with_content)
    }
}

/// Opens a file that is no link, pipe or device: something may have taken its place.
fn open_regular_file_without_links(folder: &Dir, name: &OsString) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = folder.open_with(name, &options)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no file any more")),
    }
}

/// The type of an image that models take.
fn image_mime_type(first_bytes: &[u8]) -> Option<&'static str> {
    match first_bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
