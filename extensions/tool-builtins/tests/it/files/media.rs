use std::{fs::File, io::Read as _, ops::RangeInclusive};

use tool_builtins::{FileTools, files::PdfConverter};
use tool_runtime::{Content, prelude::*};

use super::World;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";

// R06
#[tokio::test]
async fn an_image_is_a_block_of_the_type_of_its_content() {
    let world = World::new();
    let images: [(&str, &[u8], &str); 5] = [
        ("a.txt", PNG, "image/png"),
        ("b", b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        ("c.png", b"GIF89a\x01\0\x01\0", "image/gif"),
        ("d", b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        ("e", b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0", "image/bmp"),
    ];
    for (name, bytes, mime) in images {
        world.write(name, bytes);
        let output = world.tools.call("read_file", json!({ "path": name })).await.unwrap();
        assert_eq!(output.content().last(), Some(&Content::image(bytes, mime)), "{name}");
    }
    // A text that begins with the letters of an image, and a text with the name of one.
    for (name, text) in [
        ("f.bmp", "BMW\n"),
        ("g.gif", "GIF images\n"),
        ("h.png", "no image\n"),
        ("i.js", "GIF89a = 1; run('ä')\n"),
        ("j.txt", "RIFF####WEBPVP8 and more\n"),
        ("k.txt", "8BPS is a word\n"),
    ] {
        world.write(name, text);
        assert!(world.read(name).await.unwrap().contains(&format!("1\t{text}")), "{name}");
    }
    world.write("i.tiff", b"II*\0\x08\0\0\0\x01\0\0\0");
    let tiff = world.read("i.tiff").await.unwrap_err();
    assert!(tiff.contains("image/tiff") && tiff.contains("convert it"), "{tiff}");
}

// R06
#[tokio::test]
async fn an_image_has_at_most_20_mib() {
    let world = World::new();
    let mut image = PNG.to_vec();
    image.resize(20 << 20, 0);
    world.write("a", &image);
    assert!(world.read("a").await.is_ok());
    image.push(0);
    world.write("a", &image);
    assert!(world.read("a").await.unwrap_err().contains("more than 20971520 bytes"));
}

/// A document with a number of pages.
#[derive(Debug)]
struct Pages(u32);

impl PdfConverter for Pages {
    fn read_pages(
        &self,
        mut pdf: File,
        pages: RangeInclusive<u32>,
        _: &ToolContext,
    ) -> Result<Vec<String>, ToolError> {
        let mut start = [0; 5];
        pdf.read_exact(&mut start).map_err(|error| ToolError::failed(error.to_string()))?;
        assert_eq!(&start, b"%PDF-");
        Ok(pages.filter(|page| *page <= self.0).map(|page| format!("text {page}\n")).collect())
    }
}

// R16
#[tokio::test]
async fn a_pdf_is_read_by_a_converter_in_pages_and_otherwise_the_error_says_what_to_install() {
    let world = World::new();
    world.write("a.txt", "%PDF-1.7\n");
    let error = world.read("a.txt").await.unwrap_err();
    let is_converted = cfg!(feature = "shell") && std::path::Path::new("/usr/bin/pdftotext").exists();
    let says_package = error.contains("install `pdftotext`") && error.contains("poppler-utils");
    assert!(says_package || (is_converted && error.contains("`pdftotext` does not convert")), "{error}");

    let files = FileTools::new(world.path("")).unwrap().with_pdf_converter(Pages(22));
    let tools = Registry::builder().toolset(files).build().unwrap();
    let read = async |pages: Option<&str>| {
        let output = tools.call("read_file", json!({ "path": "a.txt", "pages": pages })).await;
        output.map(|output| output.text().to_string()).map_err(|error| error.to_string())
    };
    let first = read(None).await.unwrap();
    assert!(
        first.starts_with(
            "`a.txt`, pages 1-20; if more follow, continue with `pages` 21-40\n[page 1]\ntext 1\n"
        )
    );
    assert!(!first.contains("[page 21]"));
    assert_eq!(
        read(Some("21-40")).await.unwrap(),
        "`a.txt`, pages 21-22 of 22\n[page 21]\ntext 21\n[page 22]\ntext 22\n"
    );
    assert!(!read(Some("2-500")).await.unwrap().contains("[page 22]"));
    assert!(read(Some("23")).await.unwrap_err().contains("has no page 23"));
    for pages in ["", "0", "3-2", "x", "-1", "1-2-3", "4294967295"] {
        assert!(read(Some(pages)).await.unwrap_err().contains("write it like `3` or `3-7`"), "{pages}");
    }
}

/// A document with these pages, whatever is asked; it returns the range, too.
#[derive(Debug, Clone)]
struct Document(Vec<String>);

impl PdfConverter for Document {
    fn read_pages(
        &self,
        _: File,
        pages: RangeInclusive<u32>,
        _: &ToolContext,
    ) -> Result<Vec<String>, ToolError> {
        let range = format!("{pages:?}");
        Ok(self.0.iter().map(|page| page.replace("RANGE", &range)).collect())
    }
}

async fn read_document(world: &World, texts: &[&str], pages: Option<&str>) -> Result<String, String> {
    let document = Document(texts.iter().map(|text| (*text).to_owned()).collect());
    let files = FileTools::new(world.path("")).unwrap().with_pdf_converter(document);
    let tools = Registry::builder().toolset(files).build().unwrap();
    let output = tools.call("read_file", json!({ "path": "a.pdf", "pages": pages })).await;
    output.map(|output| output.text().to_string()).map_err(|error| error.to_string())
}

// R16
#[tokio::test]
async fn a_range_of_pages_has_up_to_20_of_them() {
    let world = World::new();
    world.write("a.pdf", "%PDF-1.7\n");
    for (pages, expected) in [
        (None, "1..=20"),
        (Some("3"), "3..=3"),
        (Some(" 3 - 7 "), "3..=7"),
        (Some("3-22"), "3..=22"),
        (Some("3-23"), "3..=22"),
        (Some("4294967274"), "4294967274..=4294967274"),
    ] {
        let text = read_document(&world, &["RANGE"], pages).await.unwrap();
        assert!(text.ends_with(&format!("]\n{expected}\n")), "{pages:?}: {text}");
    }
    for pages in ["0", "3-2", "3-", "4294967275"] {
        let error = read_document(&world, &["RANGE"], Some(pages)).await.unwrap_err();
        let expected = format!(
            "`pages` is `{pages}`, which is no range; write it like `3` or `3-7`, with at most 20 pages"
        );
        assert!(error.ends_with(&expected), "{error}");
    }
}

// R16
#[tokio::test]
async fn the_pages_of_a_document_end_after_256_kib_and_one_is_cut_there() {
    let world = World::new();
    world.write("a.pdf", "%PDF-1.7\n");
    let long = |bytes: usize| "x".repeat(bytes);
    let more = "if more follow, continue with `pages`";
    let cut = "\n[.. the rest of this page is left out ..]";
    // The line of the number and the end of the line have 10 bytes.
    let (full, over, cut_page) =
        (long((256 << 10) - 10 - 3), long((256 << 10) - 10 - 2), long((256 << 10) + 1));
    for (texts, pages, title, shown) in [
        (&["a \n\n", "b"][..], "4-9", "pages 4-5 of 5".to_owned(), "[page 4]\na\n[page 5]\nb\n".to_owned()),
        (&["a", "b"], "4-5", format!("pages 4-5; {more} 6-25"), "[page 4]\na\n[page 5]\nb\n".to_owned()),
        // A converter returns more than it was asked for.
        (&["a", "b"], "4", format!("pages 4-4; {more} 5-24"), "[page 4]\na\n".to_owned()),
        (&[&*full, "end"], "1-9", "pages 1-2 of 2".to_owned(), format!("[page 1]\n{full}\n[page 2]\nend\n")),
        (&[&*over, "end"], "1-9", format!("pages 1-1; {more} 2-21"), format!("[page 1]\n{over}\n")),
        (&[&*cut_page], "1-9", "pages 1-1 of 1".to_owned(), format!("[page 1]\n{}{cut}\n", &cut_page[1..])),
    ] {
        let text = read_document(&world, texts, Some(pages)).await.unwrap();
        assert_eq!(text, format!("`a.pdf`, {title}\n{shown}"));
    }
    let none = read_document(&world, &[], Some("4-5")).await.unwrap_err();
    assert!(none.ends_with("`a.pdf` has no page 4; give `pages` that it has"), "{none}");
}
