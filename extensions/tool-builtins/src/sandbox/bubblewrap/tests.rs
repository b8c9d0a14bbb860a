#![allow(clippy::unwrap_used, reason = "a test may")]

use std::{ffi::OsStr, fs::OpenOptions, os::unix::ffi::OsStrExt as _};

use rustix::fs::{CWD, FileType, Mode, fcntl_get_seals, mknodat};
use tempfile::TempDir;

use super::*;
use crate::sandbox::{Limits, Sandbox};

fn bubblewrap(readable: &[&Path], writable: &[&Path], permits_network: bool) -> io::Result<Bubblewrap> {
    let owned = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
    let confinement = Confinement {
        sandbox: Sandbox::Required,
        readable: owned(readable),
        writable: owned(writable),
        permits_network,
        limits: Limits::default(),
        bubblewrap: None,
    };
    let private = Arc::new(ScratchFolder::create("tool-test-").unwrap());
    Bubblewrap::new(Path::new("/bin/bwrap"), &confinement, private)
}

/// A folder with a file, two folders and a pipe.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    fs::write(path.join("file"), "").unwrap();
    fs::create_dir(path.join("one")).unwrap();
    fs::create_dir(path.join("two")).unwrap();
    mknodat(CWD, path.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    (folder, path)
}

/// The descriptors of the redirections, and what they open.
fn opened(mounts: &OpenedMounts) -> Vec<(u32, PathBuf)> {
    let opened = mounts.redirections.split_whitespace().map(|redirection| {
        let (descriptor, path) = redirection.split_once('<').unwrap();
        (descriptor.parse().unwrap(), fs::read_link(path).unwrap())
    });
    opened.collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn the_setting_is_in_the_words_of_each_command() {
    let start =
        "/bin/bwrap --unshare-all --unshare-user --die-with-parent --as-pid-1 --cap-drop ALL --seccomp 9";
    for (permits_network, option) in [(false, None), (true, Some("--share-net"))] {
        let bubblewrap = bubblewrap(&[], &[], permits_network).unwrap();
        let start: Vec<_> = start.split(' ').chain(option).collect();
        assert_eq!(bubblewrap.words.get(..start.len()), Some(&*words(&start)));
        assert_eq!(
            bubblewrap.words.iter().filter(|word| *word == "--share-net").count(),
            option.iter().len()
        );
        let triples: Vec<_> = bubblewrap.words.iter().skip(start.len()).collect();
        let mounts: Vec<_> = triples.chunks(3).map(|words| (words[0].as_str(), words[2].as_str())).collect();
        let targets: Vec<_> = mounts.iter().map(|(_, target)| *target).collect();
        assert_eq!(targets, SYSTEM_FOLDERS.into_iter().chain(SYSTEM_SETTINGS).collect::<Vec<_>>());
        assert!(mounts.iter().all(|(option, _)| matches!(*option, "--symlink" | "--ro-bind-try")));
        assert!(triples.chunks(3).all(|words| words[0] == "--symlink" || words[1] == words[2]));
    }
}

#[test]
fn files_and_folders_of_the_setting_are_mounted_by_their_descriptors() {
    let (_folder, path) = folder();
    let (file, pipe, missing, one) =
        (path.join("file"), path.join("pipe"), path.join("none"), path.join("one"));
    let bubblewrap = bubblewrap(&[&file, &pipe, &missing], &[&one], false).unwrap();
    let mounts = bubblewrap.open_mounts().unwrap();
    let private = bubblewrap.private.path().to_path_buf();
    let (file_text, one_text, private_text) =
        (file.to_str().unwrap(), one.to_str().unwrap(), private.to_str().unwrap());
    let expected =
        ["--ro-bind-fd", "4", file_text, "--bind-fd", "5", one_text, "--bind-fd", "6", private_text];
    assert_eq!(mounts.words, words(&expected));
    assert_eq!((mounts.files.len(), &mounts.bash), (2, &None));
    let (filter, named) = (opened(&mounts)[0].clone(), opened(&mounts).split_off(1));
    assert!(filter.0 == 9 && filter.1.to_str().unwrap().starts_with("/memfd:tool-filter"));
    assert_eq!(named, [(4, file), (5, one), (6, private)]);

    let command = bubblewrap.words_before_command(&mounts, &path).unwrap();
    let end = words(&["--remount-ro", "/", "--chdir", path.to_str().unwrap(), "--"]);
    let devices: Vec<_> =
        DEVICES.iter().flat_map(|device| words(&["--dev-bind-try", device, device])).collect();
    assert_eq!(command, [bubblewrap.words.clone(), mounts.words, devices, end].concat());
}

#[test]
fn a_folder_around_all_others_stays_writable() {
    let bubblewrap = bubblewrap(&[], &[Path::new("/")], false).unwrap();
    let command = bubblewrap.words_before_command(&OpenedMounts::default(), Path::new("/a")).unwrap();
    assert!(!command.iter().any(|word| word == "--remount-ro"));
    assert!(command.ends_with(&words(&["--chdir", "/a", "--"])));
}

#[test]
fn more_than_two_paths_need_bash() {
    let (_folder, path) = folder();
    let [file, one, two] = ["file", "one", "two"].map(|name| path.join(name));
    let mut bubblewrap = bubblewrap(&[&file], &[&one, &two], false).unwrap();
    bubblewrap.bash = Some("/bin/bash".into());
    let mounts = bubblewrap.open_mounts().unwrap();
    assert_eq!(mounts.bash, Some("/bin/bash".into()));
    let descriptors: Vec<_> = opened(&mounts).into_iter().map(|(descriptor, _)| descriptor).collect();
    assert_eq!(descriptors, [9, 30, 31, 32, 33]);
    bubblewrap.bash = None;
    let error = bubblewrap.open_mounts().unwrap_err().to_string();
    assert_eq!(error, "without `bash`, a command has at most two readable and writable paths; install it");
    bubblewrap.writable.pop();
    assert_eq!(bubblewrap.open_mounts().unwrap().bash, None);
}

#[test]
fn a_path_that_is_no_unicode_is_refused() {
    let path = Path::new(OsStr::from_bytes(b"/a\xff"));
    for (readable, writable) in [(&[path][..], &[][..]), (&[], &[path])] {
        let error = bubblewrap(readable, writable, false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), "`/a\u{fffd}` is no Unicode");
    }
    let bubblewrap = bubblewrap(&[], &[], false).unwrap();
    assert!(bubblewrap.words_before_command(&OpenedMounts::default(), path).is_err());
}

#[test]
fn the_filter_has_eight_bytes_for_each_instruction_and_is_sealed() {
    let program = syscall_filter(false).unwrap();
    let filter = SealedFilter::new(&program).unwrap();
    let path = filter.descriptor_path();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 8 * program.len());
    for (bytes, instruction) in bytes.chunks(8).zip(&program) {
        let [a, b, jt, jf, k @ ..] = bytes else { unreachable!("it has eight bytes") };
        assert_eq!(u16::from_ne_bytes([*a, *b]), instruction.code);
        assert_eq!((*jt, *jf), (instruction.jt, instruction.jf));
        assert_eq!(u32::from_ne_bytes(k.try_into().unwrap()), instruction.k);
    }
    let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    assert_eq!(fcntl_get_seals(&filter.0).unwrap(), all);
    let changed = OpenOptions::new().write(true).open(&path).and_then(|mut file| file.write_all(b"a"));
    assert!(changed.is_err());
}
