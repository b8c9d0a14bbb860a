//! Tests of files that are saved.

use std::{env, process};

use tool_runtime::output::{Blob, Resource};

use super::*;

fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("tool-cli-{name}-{}", process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn to(path: &Path, force: bool) -> Result<Destination, Failure> {
    Destination::new(path.to_str().unwrap(), force)
}

#[test]
fn no_text_of_a_result_is_part_of_a_path() {
    let folder = folder("paths");
    let hostile = "../../etc/passwd\u{1b}[8m";
    let blob = || Blob(b"x".to_vec());
    let resource = |body| Resource { uri: format!("file:///{hostile}"), mime_type: hostile.into(), body };
    let contents = [
        Content::image(*b"x", hostile),
        Content::Audio { data: blob(), mime_type: "audio/../../x".into() },
        Content::Resource { resource: resource(ResourceBody::Blob(blob())) },
        Content::Resource { resource: resource(ResourceBody::Text("x".into())) },
    ];
    let inner = folder.join("inner");
    let destination = Destination::new(&format!("{}/", inner.display()), false).unwrap();
    for (at, content) in contents.iter().enumerate() {
        let attachment = Attachment::of(content).unwrap();
        let line = destination.save_and_describe(&attachment, "draw", at + 1, contents.len()).unwrap();
        assert!(!line.contains('\u{1b}') && line.contains("1 byte; saved as "), "{line}");
        assert!(!attachment.not_saved_line().contains('\u{1b}'));
    }
    // A name that is no tool's, such as one of a result that was replaced.
    destination.save_and_describe(&Attachment::of(&contents[0]).unwrap(), "../a/b", 5, 5).unwrap();
    let names = fs::read_dir(&inner).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["ab-5.bin", "draw-1.bin", "draw-2.bin", "draw-3.bin", "draw-4.txt"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_is_replaced_only_by_force() {
    let folder = folder("force");
    let image = Content::image(*b"new", "image/png");
    let attachment = Attachment::of(&image).unwrap();
    let file = folder.join("chart.png");
    fs::write(&file, "old").unwrap();
    let error = to(&file, false).unwrap_err().to_string();
    assert!(error.ends_with("chart.png exists; name another file, or replace it with `--force`"), "{error}");
    // Created after the check, by another program.
    let late = folder.join("late.png");
    let destination = to(&late, false).unwrap();
    fs::write(&late, "old").unwrap();
    assert!(destination.save_and_describe(&attachment, "draw", 1, 1).is_err());
    assert_eq!(fs::read(&late).unwrap(), b"old");
    // A longer file is replaced as a whole, and a new one is created.
    fs::write(&file, "older").unwrap();
    let new = folder.join("new.png");
    for path in [&file, &new] {
        to(path, true).unwrap().save_and_describe(&attachment, "draw", 1, 1).unwrap();
        assert_eq!(fs::read(path).unwrap(), b"new");
    }
    // In a folder, the next free number is used; several results share the name of a file.
    let destination = to(&folder, false).unwrap();
    for number in ["draw-1.png", "draw-2.png"] {
        assert!(destination.save_and_describe(&attachment, "draw", 1, 1).unwrap().contains(number));
    }
    let destination = to(&folder.join("both.jpeg"), false).unwrap();
    for (number, name) in [(1, "both-1.jpeg"), (2, "both-2.jpeg")] {
        assert!(destination.save_and_describe(&attachment, "draw", number, 2).unwrap().contains(name));
    }
    fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_not_followed() {
    let folder = folder("link");
    let target = folder.join("target");
    std::os::unix::fs::symlink(&target, folder.join("draw-1.png")).unwrap();
    let image = Content::image(*b"x", "image/png");
    let line = to(&folder, false)
        .unwrap()
        .save_and_describe(&Attachment::of(&image).unwrap(), "draw", 1, 1)
        .unwrap();
    assert!(line.contains("draw-2.png") && !target.exists(), "{line}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_destination_that_cannot_be_used_is_refused() {
    let folder = folder("refused");
    let file = folder.join("file");
    fs::write(&file, "").unwrap();
    for (path, problem) in [
        (String::new(), "requires the path"),
        (format!("{}/", file.display()), "is a file, not a folder"),
        (format!("{}/none/a.png", folder.display()), "does not exist; create it first"),
    ] {
        for force in [true, false] {
            let error = Destination::new(&path, force).unwrap_err().to_string();
            assert!(error.contains(problem), "{path}: {error}");
        }
    }
    // A folder that does not exist is created, below another one.
    assert!(Destination::new(&format!("{}/none/inner/", folder.display()), false).unwrap().is_folder);
    assert!(!to(&folder.join("new.png"), false).unwrap().is_folder);
    assert!(Destination::new("new.png", false).is_ok());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_that_cannot_be_written_is_reported() {
    let folder = folder("unwritable");
    let file = folder.join("file");
    fs::write(&file, "").unwrap();
    let image = Content::image(*b"x", "image/png");
    let attachment = Attachment::of(&image).unwrap();
    let inner = format!("{}/inner/", file.display());
    for (count, path) in [(1, inner.clone()), (2, inner)] {
        let failure = Destination::new(&path, false)
            .unwrap()
            .save_and_describe(&attachment, "draw", 1, count)
            .unwrap_err();
        let start = format!("{path}: the image cannot be saved: ");
        assert!(failure.exit == Exit::Failed && failure.message.starts_with(&start), "{failure}");
    }
    // The folder is removed after the check.
    let gone = folder.join("gone");
    fs::create_dir(&gone).unwrap();
    let destination = to(&gone.join("a.png"), false).unwrap();
    fs::remove_dir(&gone).unwrap();
    for count in [1, 2] {
        let failure = destination.save_and_describe(&attachment, "draw", 1, count).unwrap_err();
        assert!(
            failure.message.ends_with(&io::Error::from_raw_os_error(2).to_string()),
            "{count}: {failure}"
        );
    }
    fs::remove_dir_all(folder).unwrap();
}

// Only a file that exists is a reason to try the next number.
#[cfg(unix)]
#[test]
fn a_name_that_the_system_refuses_is_reported_with_its_reason() {
    let folder = folder("long");
    let image = Content::image(*b"x", "image/png");
    let attachment = Attachment::of(&image).unwrap();
    // A name has at most 255 bytes; the number is the last of them.
    let destination = to(&folder.join(format!("{}.png", "x".repeat(250))), false).unwrap();
    let failure = destination.save_and_describe(&attachment, "draw", 1, 2).unwrap_err();
    assert!(failure.message.contains("too long") && !failure.message.contains("exists"), "{failure}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_extension_follows_from_the_media_type() {
    for (media_type, extension) in
        [("image/png", "png"), (" Image/JPEG ; q=1", "jpg"), ("image/unknown", "bin"), ("", "bin")]
    {
        let image = Content::image(*b"x", media_type);
        assert_eq!(Attachment::of(&image).unwrap().extension(), extension, "{media_type}");
    }
}

#[test]
fn sizes_are_grouped() {
    let sizes = [0, 999, 1000, 1_234_567].map(grouped_digits);
    assert_eq!(sizes, ["0", "999", "1,000", "1,234,567"]);
}

#[test]
fn a_file_in_a_folder_has_a_number_below_the_limit() {
    let folder = folder("numbers");
    let image = Content::image(*b"x", "image/png");
    let attachment = Attachment::of(&image).unwrap();
    let destination = to(&folder, false).unwrap();
    let last = MAX_FILE_NUMBER - 1;
    let line = destination.save_and_describe(&attachment, "draw", last, 1).unwrap();
    assert!(line.contains("draw-9999.png"), "{line}");
    let failure = destination.save_and_describe(&attachment, "draw", last, 1).unwrap_err();
    let path = folder.display();
    assert_eq!(failure.exit, Exit::Failed);
    assert_eq!(failure.message, format!("{path}: the image cannot be saved: entity already exists"));
    fs::remove_dir_all(folder).unwrap();
}
