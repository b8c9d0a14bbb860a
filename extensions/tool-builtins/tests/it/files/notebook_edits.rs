//! The text of a notebook after each kind of edit, and the parts of large notebooks that are shown.

use std::fs;

use tool_runtime::{Content, prelude::*};

use super::World;

const A: &str = r#"{"cell_type":"code","id":"a","source":"1"}"#;
const B: &str =
    r#"{"cell_type":"markdown","id":"b","attachments":{"i":  1},"metadata":{"m":  1.0},"source":"2"}"#;
const C: &str = r#"{ "cell_type": "raw", "id": "c", "source": ["3"] }"#;

fn notebook(cells: &str, minor: u64) -> String {
    format!("{{ \"cells\": [{cells}], \"nbformat\": 4, \"nbformat_minor\": {minor} }}")
}

/// Returns a cell as an edit writes it, by its members.
fn cell(members: &[&str]) -> String {
    let members: Vec<_> = members.iter().map(|member| format!("   {member}")).collect();
    format!("{{\n{}\n  }}", members.join(",\n"))
}

const SOURCE: &str = "\"source\": [\n    \"x\\n\",\n    \"y\"\n   ]";

/// Returns a code cell with the source `x` and `y`.
fn code_cell(id: Option<&str>, metadata: &str) -> String {
    let id = id.map(|id| format!("\"id\": \"{id}\""));
    let metadata = format!("\"metadata\": {metadata}");
    let mut members = vec!["\"cell_type\": \"code\"", "\"execution_count\": null"];
    members.extend(id.as_deref());
    members.extend([metadata.as_str(), "\"outputs\": []", SOURCE]);
    cell(&members)
}

/// Edits a notebook of these cells, and compares its result and its text.
async fn check_edit(minor: u64, cells: &str, edit: Value, expected_cells: &str, report: &str) {
    let world = World::new();
    world.write("a.ipynb", notebook(cells, minor));
    world.read("a.ipynb").await.unwrap();
    let mut arguments = edit.clone();
    arguments["path"] = json!("a.ipynb");
    assert_eq!(
        world.call("notebook_edit", arguments).await.unwrap(),
        format!("{report} `a.ipynb`\n"),
        "{edit}"
    );
    let changed = fs::read_to_string(world.path("a.ipynb")).unwrap();
    assert_eq!(changed, notebook(expected_cells, minor), "{edit}");
    assert!(serde_json::from_str::<Value>(&changed).is_ok(), "{changed}");
}

// R18
#[tokio::test]
async fn a_deletion_removes_a_cell_with_its_comma() {
    let all = format!("{A}, {B} ,{C}");
    for (cells, id, expected) in [
        (&*all, "a", format!("{B} ,{C}")),
        (&*all, "b", format!("{A}, {C}")),
        (&*all, "c", format!("{A}, {B}")),
        (A, "a", String::new()),
    ] {
        let edit = json!({ "edit_mode": "delete", "cell_id": id });
        check_edit(5, cells, edit, &expected, &format!("deleted the cell `{id}` of")).await;
    }
}

// R18: the id of a new cell is made of the number of cells and the source, so that a repeated edit has the same result.
#[tokio::test]
async fn a_new_cell_is_inserted_at_the_start_or_after_another_one() {
    let all = format!("{A}, {B} ,{C}");
    let taken = A.replace("\"a\"", "\"085ae87c\"");
    type Insertion<'c> = (&'c str, Option<&'c str>, &'c str, &'c dyn Fn(&str) -> String);
    let cases: [Insertion<'_>; 5] = [
        ("", None, "02d7d6be", &|new| format!("\n  {new}\n ")),
        (A, None, "085ae87c", &|new| format!("\n  {new},{A}")),
        (&taken, None, "56bfeee5", &|new| format!("\n  {new},{taken}")),
        (&all, Some("a"), "aca1f409", &|new| format!("{A},\n  {new}, {B} ,{C}")),
        (&all, Some("c"), "aca1f409", &|new| format!("{all},\n  {new}")),
    ];
    let insert =
        |after: Option<&str>| json!({ "edit_mode": "insert", "cell_id": after, "new_source": "x\ny" });
    for (cells, after, id, expected) in cases {
        let expected = expected(&code_cell(Some(id), "{}"));
        check_edit(5, cells, insert(after), &expected, &format!("inserted a cell `{id}` into")).await;
    }
    // Before version 4.5, cells have no ids.
    let expected = format!("\n  {}\n ", code_cell(None, "{}"));
    check_edit(4, "", insert(None), &expected, "inserted a cell into").await;
}

// R18
#[tokio::test]
async fn a_replaced_cell_keeps_its_metadata_and_the_attachments_of_its_kind_byte_for_byte() {
    let all = format!("{A}, {B} ,{C}");
    let markdown_of_a = cell(&["\"cell_type\": \"markdown\"", "\"id\": \"a\"", "\"metadata\": {}", SOURCE]);
    let markdown_of_b = cell(&[
        "\"attachments\": {\"i\":  1}",
        "\"cell_type\": \"markdown\"",
        "\"id\": \"b\"",
        "\"metadata\": {\"m\":  1.0}",
        SOURCE,
    ]);
    let empty = cell(&["\"cell_type\": \"raw\"", "\"id\": \"c\"", "\"metadata\": {}", "\"source\": []"]);
    let (code_of_a, code_of_b) = (code_cell(Some("a"), "{}"), code_cell(Some("b"), "{\"m\":  1.0}"));
    for (id, kind, source, expected) in [
        ("a", None, "x\ny", format!("{code_of_a}, {B} ,{C}")),
        ("a", Some("markdown"), "x\ny", format!("{markdown_of_a}, {B} ,{C}")),
        ("b", None, "x\ny", format!("{A}, {markdown_of_b} ,{C}")),
        ("b", Some("code"), "x\ny", format!("{A}, {code_of_b} ,{C}")),
        ("c", None, "", format!("{A}, {B} ,{empty}")),
    ] {
        let edit = json!({ "cell_id": id, "cell_type": kind, "new_source": source });
        check_edit(5, &all, edit, &expected, &format!("replaced the cell `{id}` of")).await;
    }
}

// R18
#[tokio::test]
async fn an_unknown_cell_is_answered_with_the_first_20_cells() {
    let world = World::new();
    world.write("a.ipynb", notebook(&vec![r#"{"cell_type":"code","source":""}"#; 25].join(","), 4));
    world.read("a.ipynb").await.unwrap();
    let edit = json!({ "path": "a.ipynb", "cell_id": "cell-25", "new_source": "" });
    let names: Vec<_> = (0..20).map(|number| format!("cell-{number}")).collect();
    assert_eq!(
        world.call("notebook_edit", edit).await.unwrap_err(),
        format!(
            "tool \"notebook_edit\" failed: `a.ipynb` has no cell `cell-25`; its first cells are: {}",
            names.join(", ")
        )
    );
}

/// Returns a code cell with these outputs.
fn cell_with(outputs: &[Value]) -> String {
    json!({ "cell_type": "code", "id": "a", "metadata": {}, "source": "", "outputs": outputs }).to_string()
}

// R16
#[tokio::test]
async fn outputs_are_shown_by_their_kind_and_the_first_20_images() {
    let world = World::new();
    let data =
        |mime: &str, content: &str| json!({ "output_type": "display_data", "data": { mime: content } });
    let outputs = [
        json!({ "output_type": "error", "ename": "ValueError", "evalue": "odd", "traceback": ["hidden"] }),
        json!({ "output_type": "execute_result", "data": { "text/plain": ["a\n", "b"], "text/html": "<hidden>" } }),
        json!({ "output_type": "stream", "name": "stderr", "text": "warning" }),
        data("image/svg+xml", "aGlkZGVu"),
        data("image/png", "not base64"),
        data("image/jpeg", "aW1h\nZ2U="),
        data("image/gif", "aW1hZ2U="),
        data("image/webp", "aW1hZ2U="),
    ];
    world.write("a.ipynb", notebook(&cell_with(&outputs), 5));
    let output = world.tools.call("read_file", json!({ "path": "a.ipynb" })).await.unwrap();
    let shown = "`a.ipynb`, cells 1-1 of 1\n[cell 1, `a`, code]\n\
                 [output of cell 1]\n     1\tValueError: odd\n\
                 [output of cell 1]\n     1\ta\n     2\tb\n\
                 [output of cell 1]\n     1\twarning\n\
                 [output of cell 1]\n[output of cell 1]\n\
                 [image 1 of the result]\n[output of cell 1]\n\
                 [image 2 of the result]\n[output of cell 1]\n\
                 [image 3 of the result]\n[output of cell 1]\n";
    let image = |mime: &str| Content::image(b"image", mime);
    let expected = [Content::text(shown), image("image/jpeg"), image("image/gif"), image("image/webp")];
    assert_eq!(output.content().to_vec(), expected);

    world.write("a.ipynb", notebook(&cell_with(&vec![data("image/png", "aW1hZ2U="); 25]), 5));
    let output = world.tools.call("read_file", json!({ "path": "a.ipynb" })).await.unwrap();
    assert_eq!(output.content().len(), 1 + 20);
    let text = output.content()[0].as_text().unwrap().to_owned();
    assert!(text.contains("[image 20 of the result]") && !text.contains("[image 21"), "{text}");
}

// R16, R18
#[tokio::test]
async fn a_notebook_that_is_not_shown_to_its_end_is_not_known_in_full() {
    let world = World::new();
    let source = |chars: usize| json!({ "cell_type": "code", "source": "x".repeat(chars) }).to_string();
    let read = json!({ "path": "a.ipynb" });
    let range = |offset: u64, limit: u64| json!({ "path": "a.ipynb", "offset": offset, "limit": limit });
    let small = vec![source(1); 4].join(",");
    let outputs = vec![json!({ "output_type": "stream", "text": "x".repeat(10_000) }); 30];
    for (cells, arguments, title, is_known) in [
        (small.clone(), read.clone(), "cells 1-4 of 4", true),
        (small.clone(), range(1, 4), "cells 1-4 of 4", true),
        (small.clone(), range(1, 3), "cells 1-3 of 4; continue with `offset` 4", false),
        (small.clone(), range(2, 9), "cells 2-4 of 4", false),
        (small, range(4, 1), "cells 4-4 of 4", false),
        // A page ends after 256 KiB, which two cells have with their titles and the number of a line.
        (vec![source(131_039); 4].join(","), read.clone(), "cells 1-2 of 4; continue with `offset` 3", false),
        (cell_with(&outputs), read, "cells 1-1 of 1", false),
    ] {
        world.write("a.ipynb", notebook(&cells, 4));
        let page = world.call("read_file", arguments.clone()).await.unwrap();
        assert!(page.starts_with(&format!("`a.ipynb`, {title}\n")), "{arguments}: {}", &page[..60]);
        let left_out = "[the other outputs of this cell left out: too long, or not readable; search the file with `grep`]\n";
        assert_eq!(page.ends_with(left_out), cells.contains("outputs"));
        let written = world.write_file("a.ipynb", "{}").await;
        assert_eq!(written.is_ok(), is_known, "{arguments}: {written:?}");
    }
    for (count, offset) in [(4, 5), (1, 2)] {
        world.write("a.ipynb", notebook(&vec![source(1); count].join(","), 4));
        let expected = format!(
            "tool \"read_file\" failed: `offset` {offset} is past the end of `a.ipynb`, which has {count} cells; give an \
             `offset` from 1 to {count}"
        );
        assert_eq!(world.call("read_file", range(offset, 1)).await.unwrap_err(), expected);
    }
    world.write("a.ipynb", notebook("", 4));
    assert_eq!(world.read("a.ipynb").await.unwrap(), "`a.ipynb` has no cells\n");
}

// R16: the values of a source are counted by their commas, which a text may have, too.
#[tokio::test]
async fn a_source_of_more_than_200000_values_is_left_out() {
    let world = World::new();
    for (commas, is_shown) in [(200_000, true), (200_001, false)] {
        let cell = json!({ "cell_type": "code", "source": ",".repeat(commas) }).to_string();
        world.write("a.ipynb", notebook(&cell, 4));
        let text = world.read("a.ipynb").await.unwrap();
        assert_eq!(text.contains(",,,"), is_shown, "{commas}");
        assert_eq!(text.contains("[the source of this cell left out"), !is_shown, "{commas}");
    }
}

// R09, R18
#[cfg(unix)]
#[tokio::test]
async fn a_notebook_behind_a_link_is_not_edited_as_text() {
    let world = World::new();
    world.write("a.ipynb", notebook(A, 5));
    std::os::unix::fs::symlink("a.ipynb", world.path("link.txt")).unwrap();
    world.read("link.txt").await.unwrap();
    let error = world.edit("link.txt", "\"1\"", "\"2\"").await.unwrap_err();
    assert!(error.ends_with("`link.txt` is a notebook; edit its cells with a tool for notebooks"), "{error}");
    let edit = json!({ "path": "link.txt", "cell_id": "a", "new_source": "2" });
    assert!(world.call("notebook_edit", edit).await.is_ok());
}
