//! The text of PDF documents.

use std::{env, fs, net::IpAddr, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};

use test_support::http::{Answer, Recorder};
use tool_builtins::{FileTools, PdfToText, WebTools};
use tool_http::{AddressPolicy, HttpClient};
use tool_runtime::prelude::*;

/// A document with one line on each page.
fn document(pages: &[&str]) -> Vec<u8> {
    let references: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", references.join(" "), pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (page, line) in pages.iter().enumerate() {
        let content = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
        let content_number = 5 + 2 * page;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content_number} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>"
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let (mut text, mut places) = ("%PDF-1.4\n".to_owned(), Vec::new());
    for (index, object) in objects.iter().enumerate() {
        places.push(text.len());
        text.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let start = text.len();
    text.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    places.iter().for_each(|place| text.push_str(&format!("{place:010} 00000 n \n")));
    text.push_str(&format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    ));
    text.into_bytes()
}

/// The program that `.ci/builtins/install` found, or the one of the system.
fn pdftotext(test: &str) -> Option<PdfToText> {
    let Some(program) = env::var_os("BUILTINS_PDFTOTEXT").map(PathBuf::from) else {
        let found = PdfToText::find();
        if found.is_none() {
            super::report_skipped(test, "there is no `pdftotext`; see `.ci/builtins/install`");
        }
        return found;
    };
    let folder = program.parent().unwrap().parent().unwrap().to_owned();
    Some(PdfToText::new(program).readable(folder))
}

/// A program in place of `pdftotext`.
fn script(folder: &tempfile::TempDir, text: &str) -> PdfToText {
    let program = folder.path().join("pdftotext");
    fs::write(&program, format!("#!/bin/bash\n{text}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    PdfToText::new(&program).readable(&program)
}

fn files(folder: &tempfile::TempDir, converter: PdfToText) -> Registry {
    let files = FileTools::new(folder.path()).unwrap().with_pdf_converter(converter);
    Registry::builder().toolset(files).build().unwrap()
}

async fn read(tools: &Registry, pages: Option<&str>) -> Result<String, String> {
    let output = tools.call("read_file", json!({ "path": "a.pdf", "pages": pages })).await;
    output.map(ToolOutput::into_text).map_err(|error| error.to_string())
}

// R16
#[tokio::test]
async fn a_file_is_read_by_pages() {
    let Some(converter) = pdftotext("a_file_is_read_by_pages") else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pdf"), document(&["First page.", "Second page.", "Third page."]))
        .unwrap();
    let tools = files(&folder, converter);
    let all = read(&tools, None).await.unwrap();
    assert_eq!(
        all,
        "`a.pdf`, pages 1-3 of 3\n[page 1]\nFirst page.\n[page 2]\nSecond page.\n[page 3]\nThird page.\n"
    );
    let second = read(&tools, Some("2")).await.unwrap();
    assert!(second.contains("[page 2]\nSecond page.\n") && !second.contains("First"), "{second}");
    assert!(read(&tools, Some("9")).await.unwrap_err().contains("has no page 9"));
    fs::write(folder.path().join("a.pdf"), "%PDF-1.4\nno document").unwrap();
    let error = read(&tools, None).await.unwrap_err();
    assert!(
        error.contains("`pdftotext` does not convert the document: ") && error.contains("exit code"),
        "{error}"
    );
}

// R19
#[tokio::test]
async fn a_document_of_the_web_is_text() {
    let Some(converter) = pdftotext("a_document_of_the_web_is_text") else { return };
    let body = document(&["From the web.", "Page two."]);
    let server = Recorder::answering(move |received| match received.target.as_str() {
        "/robots.txt" => Answer::of(404, "text/plain", ""),
        _ => Answer::of(200, "application/pdf", body.clone()),
    })
    .await;
    let local: IpAddr = "127.0.0.1".parse().unwrap();
    let client = HttpClient::builder()
        .addresses(AddressPolicy::public().allow_address(local))
        .resolver(move |_| async move { Ok(vec![local]) });
    let web = WebTools::builder().client(client.build().unwrap()).pdf_converter(converter).build().unwrap();
    let tools = Registry::builder().toolset(web).build().unwrap();
    let port = server.url.rsplit_once(':').unwrap().1;
    let page =
        tools.call("web_fetch", json!({ "url": format!("http://page.example:{port}/a") })).await.unwrap();
    assert!(page.text().contains("\n\nFrom the web.\n\n\nPage two.\n"), "{}", page.text());
}

#[tokio::test]
async fn a_converter_sees_the_document_alone_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pdf"), "%PDF-1.4\nthe document\n").unwrap();
    fs::write(folder.path().join("secret.txt"), "a secret").unwrap();
    let path = folder.path().display();
    let hostile = format!(
        "cat {path}/secret.txt {path}/a.pdf; echo x >{path}/new; exec 3<>/dev/tcp/127.0.0.1/1; ls kept; touch kept\n\
         shift $(($# - 2)); cat \"$1\"; printf '\\f'"
    );
    let tools = files(&folder, script(&folder, &hostile));
    for _ in 0..2 {
        let text = read(&tools, None).await.unwrap();
        assert!(
            text.contains("the document") && !text.contains("secret") && !text.contains("kept"),
            "{text}"
        );
        assert_eq!(text.matches("the document").count(), 1, "{text}");
    }
    assert!(!folder.path().join("new").exists());
}

#[tokio::test]
async fn a_conversion_has_a_time_limit_and_bounded_text() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pdf"), "%PDF-1.4\n").unwrap();
    let endless = script(&folder, "sleep 1000").timeout(Duration::from_millis(50));
    let error = read(&files(&folder, endless), None).await.unwrap_err();
    assert!(error.contains("it took more than 0.05 seconds"), "{error}");
    let long = script(&folder, "head -c 100M /dev/zero | tr '\\0' x; printf '\\f'");
    let text = read(&files(&folder, long), None).await.unwrap();
    assert!(text.len() < 300_000 && text.contains(" 8 MiB of text ..]\nxxx"), "{}", text.len());
    assert!(text.starts_with("`a.pdf`, pages 1-1; if more follow, "), "{}", &text[..200]);
    assert!(text.ends_with("x\n[.. the rest of this page is left out ..]\n"), "{}", text.len());
}

#[tokio::test]
async fn text_that_is_cut_is_never_said_to_be_all_of_a_document() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.pdf"), "%PDF-1.4\n").unwrap();
    // Two pages, the second one with more blanks than a conversion gives.
    let blank = script(&folder, "printf 'one\\f'; head -c 9M /dev/zero | tr '\\0' ' '; printf '\\f'");
    let text = read(&files(&folder, blank), Some("1-3")).await.unwrap();
    assert!(text.starts_with("`a.pdf`, pages 1-3; if more follow, "), "{text}");
    assert!(text.contains("[page 2]\n[.. its end is left out: a conversion gives "), "{text}");
    assert!(text.contains("[page 3]\n[.. left out, if there is this page: "), "{text}");
    let whole = script(&folder, "printf 'one\\f'");
    assert!(read(&files(&folder, whole), None).await.unwrap().starts_with("`a.pdf`, pages 1-1 of 1\n"));
}

#[tokio::test]
async fn a_folder_that_is_exchanged_receives_no_document_and_loses_nothing() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("a.pdf"), "%PDF-1.4\n").unwrap();
    let names = script(&folder, "shift $(($# - 2)); printf '%s\\f' \"${1%/*}\"");
    let tools = files(&folder, names);
    let text = read(&tools, None).await.unwrap();
    let place = PathBuf::from(text.lines().last().unwrap());
    let (old, file) = (folder.path().join("old"), kept.path().join("document.pdf"));
    fs::write(&file, "kept").unwrap();
    fs::rename(&place, &old).unwrap();
    std::os::unix::fs::symlink(kept.path(), &place).unwrap();
    let error = read(&tools, None).await.unwrap_err();
    assert!(error.contains("a command exchanged the private folder"), "{error}");
    drop(tools);
    assert_eq!(fs::read(&file).unwrap(), b"kept");
    fs::remove_file(place).unwrap();
}
