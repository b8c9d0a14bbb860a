#![allow(clippy::unwrap_used, reason = "a test may")]

use std::{cell::Cell, fs, io};

use tool_runtime::{CancellationToken, ToolName};

use super::{
    edit::Replacement,
    media::CancelledRead,
    notebook_edit::{CellEdit, EditMode},
    *,
};

fn context(token: &CancellationToken) -> ToolContext {
    ToolContext::new(ToolName::new("tool").unwrap(), Arc::default()).with_cancellation(token.clone())
}

const NOTEBOOK: &str = r#"{ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
    { "cell_type": "code", "id": "c", "metadata": {}, "outputs": [], "execution_count": null, "source": "1" } ] }"#;

/// The work of each tool, by its name.
fn work(tools: &FileTools, cx: &ToolContext) -> Vec<(&'static str, Result<(), ToolError>)> {
    let read = |path: &str, offset| {
        let query = ReadQuery { path: path.to_owned(), offset, ..ReadQuery::default() };
        read::read_file(tools, &query, cx).map(|_| ())
    };
    let grep = |path: Option<&str>, mode| {
        let path = path.map(str::to_owned);
        let query = GrepQuery { path, mode, ..GrepQuery::for_matching_lines("x".to_owned(), 250, 0) };
        grep::search_files(&tools.roots, &query, cx).map(|_| ())
    };
    let replacement =
        Replacement { old_text: "first".to_owned(), new_text: "second".to_owned(), replace_all: false };
    let cell = CellEdit {
        cell_id: Some("c".to_owned()),
        cell_type: None,
        mode: EditMode::Replace,
        source: "2".to_owned(),
    };
    let list = |query| list::list_files(&tools.roots, &query, cx).map(|_| ());
    vec![
        ("lines from the start", read("large", Some(1))),
        ("lines near the end", read("large", Some(90_000))),
        ("a notebook", read("book.ipynb", None)),
        ("an image", read("image", None)),
        ("a search of a file", grep(Some("large"), GrepMode::Count)),
        ("a search of all", grep(None, GrepMode::Content)),
        ("a list", list(FileQuery::for_list(None, None, 3))),
        ("a glob", list(FileQuery::for_glob(None, "*".to_owned()))),
        ("an edit", edit::edit_file(tools, "text", &replacement, cx).map(|_| ())),
        ("a new file", write::write_file(tools, "new/file", "x", cx).map(|_| ())),
        ("a replaced file", write::write_file(tools, "text", "x", cx).map(|_| ())),
        ("a cell", notebook_edit::edit_notebook(tools, "book.ipynb", &cell, cx).map(|_| ())),
    ]
}

// R05, R06, R08, R09, R10, R11, R17, R18
#[test]
fn no_tool_does_its_work_for_a_call_that_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("large"), "x\n".repeat(100_000)).unwrap();
    fs::write(folder.path().join("text"), "first\n").unwrap();
    fs::write(folder.path().join("book.ipynb"), NOTEBOOK).unwrap();
    fs::write(folder.path().join("image"), b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR").unwrap();
    let tools = FileTools::new(folder.path()).unwrap().permit_unread_edits();
    let token = CancellationToken::new();
    token.cancel();
    for (name, result) in work(&tools, &context(&token)) {
        let error = result.map(|()| name).unwrap_err();
        assert_eq!(error.kind(), ToolError::cancelled().kind(), "{name}: {error}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("text")).unwrap(), "first\n");
    assert_eq!(fs::read_to_string(folder.path().join("book.ipynb")).unwrap(), NOTEBOOK);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    // The same work is done for another call.
    for (name, result) in work(&tools, &context(&CancellationToken::new())) {
        assert!(result.is_ok(), "{name}: {result:?}");
    }
}

// R09, R18
#[test]
fn a_change_of_another_program_that_comes_while_a_change_is_made_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "one\n").unwrap();
    let (tools, cx) = (FileTools::new(folder.path()).unwrap(), context(&CancellationToken::new()));
    read::read_file(&tools, &ReadQuery { path: "a".to_owned(), ..ReadQuery::default() }, &cx).unwrap();
    let result = change::change_file(&tools, "a", change::NeededRead::Part, &cx, &|_, _| {
        fs::write(&path, "one of another program\n").unwrap();
        Ok(change::TextChange { text: "two\n".to_owned(), report: String::new() })
    });
    assert!(result.unwrap_err().to_string().contains("`a` changed since it was read"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one of another program\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Never ends; cancels the call at its third read.
struct EndlessRead<'a> {
    reads: &'a Cell<u32>,
    token: CancellationToken,
}

impl io::Read for EndlessRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() == 3 {
            self.token.cancel();
        }
        buffer.fill(b'x');
        Ok(buffer.len())
    }
}

// R11, R17: however large a file is, at most the part that is being read is read after the cancellation.
#[test]
fn a_search_reads_no_further_part_of_a_file_after_its_cancellation() {
    let (token, reads) = (CancellationToken::new(), Cell::new(0));
    let cx = context(&token);
    let reader = EndlessRead { reads: &reads, token };
    let copied = io::copy(&mut CancelledRead { reader, cx: &cx }, &mut io::sink());
    assert!(copied.is_err());
    assert_eq!(reads.get(), 3);
}
