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

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use cap_std::ambient_authority;
    use tempfile::TempDir;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    /// The result of a program that wrote `output` and left these files.
    fn result_with_files(output: &str, files: &[(&str, &[u8])]) -> ToolOutput {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        result_of(output, &folder)
    }

    fn result_of(output: &str, folder: &TempDir) -> ToolOutput {
        let opened = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let result = ToolOutput::from(output.to_owned()).with_details(json!({ "exit_code": 0 }));
        let result = ProgramFiles::read_below(&opened).append_to_result(result);
        assert_eq!(result.details(), Some(&json!({ "exit_code": 0 })));
        result
    }

    fn images(result: &ToolOutput) -> Vec<Content> {
        result.content().iter().filter(|block| matches!(block, Content::Image { .. })).cloned().collect()
    }

    #[test]
    fn the_texts_of_files_follow_the_output_in_the_order_of_their_paths() {
        let result =
            result_with_files("done", &[("b", b"two\n"), ("a/c", b"one"), ("c", b""), ("d", b"three")]);
        assert_eq!(
            result.text(),
            "done\n[a/c, 3 bytes]\none\n[b, 4 bytes]\ntwo\n[c, 0 bytes]\n[d, 5 bytes]\nthree"
        );
        assert_eq!(result_with_files("done\n", &[("a", b"x")]).text(), "done\n[a, 1 bytes]\nx");
        assert_eq!(result_with_files("done", &[]).text(), "done");
    }

    #[test]
    fn a_text_is_cut_after_16_kib_between_characters() {
        let text = |bytes: usize| "a".repeat(bytes);
        let note = |bytes: usize| format!("\n[.. the rest of {bytes} bytes left out ..]");
        for (content, shown) in [
            (text(16_384), text(16_384)),
            (text(16_385), format!("{}{}", text(16_384), note(16_385))),
            (format!("{}é", text(16_383)), format!("{}{}", text(16_383), note(16_385))),
            (format!("{}€", text(16_382)), format!("{}{}", text(16_382), note(16_385))),
        ] {
            let result = result_with_files("x", &[("a", content.as_bytes())]);
            assert_eq!(result.text(), format!("x\n[a, {} bytes]\n{shown}", content.len()));
        }
    }

    #[test]
    fn a_file_that_is_no_text_is_named_alone() {
        let cut_character = [&vec![b'a'; 16_383][..], b"\xc3"].concat();
        let long = [&b"\xff"[..], &vec![b'a'; 16_400]].concat();
        for content in [&b"\xff"[..], b"a\0b", b"a\xffb", b"a\xc3", &cut_character, &long] {
            let result = result_with_files("x", &[("a", content)]);
            assert_eq!(result.text(), format!("x\n[a, {} bytes]", content.len()));
            assert!(images(&result).is_empty());
        }
        for text in ["GIF88a", "RIFF1234WEBQ"] {
            let result = result_with_files("x", &[("a", text.as_bytes())]);
            assert_eq!(result.text(), format!("x\n[a, {} bytes]\n{text}", text.len()));
            assert!(images(&result).is_empty());
        }
    }

    #[test]
    fn images_of_four_kinds_are_blocks_of_the_result() {
        for (start, mime_type) in [
            (PNG, "image/png"),
            (b"\xff\xd8\xff", "image/jpeg"),
            (b"GIF87a", "image/gif"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\x01\x02\x03\x04WEBP", "image/webp"),
        ] {
            let content = [start, &vec![7; 20_000]].concat();
            let result = result_with_files("x", &[("a", &content)]);
            assert_eq!(images(&result), [Content::image(content.clone(), mime_type)]);
            assert_eq!(result.text(), format!("x\n[a, {} bytes]", content.len()));
        }
    }

    #[test]
    fn eight_images_of_5_mib_each_and_10_mib_together_are_shown() {
        let image = |bytes: usize| [PNG, &vec![0; bytes - PNG.len()]].concat();
        let mib = 1 << 20;
        let result_of = |sizes: &[usize]| {
            let names: Vec<_> = (1..=sizes.len()).map(|number| number.to_string()).collect();
            let contents: Vec<_> = sizes.iter().map(|bytes| image(*bytes)).collect();
            let files: Vec<_> =
                names.iter().zip(&contents).map(|(name, content)| (&**name, &**content)).collect();
            let result = result_with_files("x", &files);
            let note =
                result.text().lines().last().filter(|line| line.contains("left out")).map(str::to_owned);
            (images(&result).len(), note)
        };
        let note = |count: usize| {
            Some(format!("[.. {count} images left out: at most 8 have 5 MiB each, and 10 MiB together ..]"))
        };
        for (sizes, shown, omitted) in [
            (&[100; 8][..], 8, 0),
            (&[100; 9], 8, 1),
            (&[100; 11], 8, 3),
            (&[5 * mib], 1, 0),
            (&[5 * mib + 1], 0, 1),
            (&[5 * mib, 5 * mib], 2, 0),
            (&[5 * mib, 5 * mib, 100], 2, 1),
            (&[5 * mib, 5 * mib - 99, 100, 99], 3, 1),
        ] {
            assert_eq!(
                result_of(sizes),
                (shown, if omitted > 0 { note(omitted) } else { None }),
                "{sizes:?}"
            );
        }
    }

    #[test]
    fn sixteen_files_of_up_to_1000_entries_within_eight_folders_are_shown() {
        let more = "[.. more files left out; a program can pack them into one ..]";
        let shown = |folder: &TempDir| {
            let text = result_of("x", folder).text().to_string();
            (text.matches(" bytes]").count(), text.ends_with(&format!("\n{more}")))
        };
        let folder = tempfile::tempdir().unwrap();
        for number in 0..998 {
            fs::create_dir(folder.path().join(format!("folder{number}"))).unwrap();
        }
        fs::write(folder.path().join("a"), "one").unwrap();
        assert_eq!(shown(&folder), (1, false));
        fs::write(folder.path().join("b"), "two").unwrap();
        assert_eq!(shown(&folder), (2, true));
        let folder = tempfile::tempdir().unwrap();
        for number in 0..16 {
            fs::write(folder.path().join(format!("{number}")), "one").unwrap();
        }
        assert_eq!(shown(&folder), (16, false));
        fs::write(folder.path().join("more"), "one").unwrap();
        assert_eq!(shown(&folder), (16, true));
        let (folder, deep) = (tempfile::tempdir().unwrap(), |depth: usize| "d/".repeat(depth));
        fs::create_dir_all(folder.path().join(deep(9))).unwrap();
        for depth in [7, 8, 9] {
            fs::write(folder.path().join(format!("{}{depth}", deep(depth))), "one").unwrap();
        }
        let expected = format!("x\n[{0}7, 3 bytes]\none\n[{0}d/8, 3 bytes]\none", deep(7));
        assert_eq!(result_of("x", &folder).text(), expected);
    }

    #[test]
    fn links_and_pipes_are_left_out_and_names_are_escaped_and_cut() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a\nb"), "one").unwrap();
        fs::write(folder.path().join("c".repeat(201)), "two").unwrap();
        symlink("a\nb", folder.path().join("link")).unwrap();
        symlink(".", folder.path().join("self")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        let text = format!("x\n[a\\nb, 3 bytes]\none\n[{}, 3 bytes]\ntwo", "c".repeat(200));
        assert_eq!(result_of("x", &folder).text(), text);
        let opened = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        for name in ["link", "pipe", "none"] {
            assert!(open_regular_file_without_links(&opened, &name.into()).is_err(), "{name}");
        }
    }
}
