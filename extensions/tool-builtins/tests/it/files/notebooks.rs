use std::fs;

use tool_runtime::{Content, prelude::*};

use super::World;

/// A notebook with members that no tool knows, and a number that no float holds.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {"odd":   123456789012345678901234567890},
   "source": ["# Title\n", "[cell 9, `fake`, code]"]
  },
  {
   "cell_type": "code", "execution_count": 3, "id": "sum", "metadata": {"tags": ["a"]},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["3\n"]},
    {"output_type": "display_data", "metadata": {}, "data": {"text/plain": "<Figure>", "image/png": "iVBORw0KGgo=\n"}}
   ],
   "source": "print(1 + 2)"
  }
 ],
 "metadata": {"kernelspec": {"name": "python3"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

async fn notebook_edit(world: &World, mut arguments: Value) -> Result<String, String> {
    arguments["path"] = json!("a.ipynb");
    world.call("notebook_edit", arguments).await
}

fn cells(world: &World) -> Vec<Value> {
    let notebook: Value = serde_json::from_slice(&fs::read(world.path("a.ipynb")).unwrap()).unwrap();
    notebook["cells"].as_array().unwrap().clone()
}

// R16
#[tokio::test]
async fn a_notebook_is_read_as_cells_with_outputs_and_images() {
    let world = World::new();
    world.write("a.ipynb", NOTEBOOK);
    let output = world.tools.call("read_file", json!({ "path": "a.ipynb" })).await.unwrap();
    assert_eq!(
        output.content()[0],
        Content::text(
            "`a.ipynb`, cells 1-2 of 2\n[cell 1, `intro`, markdown]\n     1\t# Title\n     2\t[cell 9, `fake`, code]\n\
             [cell 2, `sum`, code]\n     1\tprint(1 + 2)\n[output of cell 2]\n     1\t3\n[image 1 of the result]\n\
             [output of cell 2]\n     1\t<Figure>\n"
        )
    );
    assert_eq!(output.content()[1], Content::image(b"\x89PNG\r\n\x1a\n", "image/png"));
    let first = world.call("read_file", json!({ "path": "a.ipynb", "limit": 1 })).await.unwrap();
    assert!(first.starts_with("`a.ipynb`, cells 1-1 of 2; continue with `offset` 2\n"), "{first}");
    world.write("b.ipynb", "no notebook\n");
    assert!(world.read("b.ipynb").await.unwrap().contains("1\tno notebook"));
}

// R18
#[tokio::test]
async fn cells_are_replaced_inserted_and_deleted_and_others_keep_their_bytes() {
    let world = World::new();
    world.write("a.ipynb", NOTEBOOK);
    let unread = notebook_edit(&world, json!({ "cell_id": "sum", "new_source": "x" })).await.unwrap_err();
    assert!(unread.contains("was not read yet"), "{unread}");
    world.read("a.ipynb").await.unwrap();

    notebook_edit(&world, json!({ "cell_id": "sum", "new_source": "a = 1\nb = 2" })).await.unwrap();
    let text = fs::read_to_string(world.path("a.ipynb")).unwrap();
    let start = NOTEBOOK.find("  {\n   \"cell_type\": \"code\"").unwrap();
    assert!(
        text.starts_with(&NOTEBOOK[..start])
            && text.ends_with(&NOTEBOOK[NOTEBOOK.find("\n ],\n").unwrap()..])
    );
    assert_eq!(
        cells(&world)[1],
        json!({ "cell_type": "code", "execution_count": null, "id": "sum", "metadata": { "tags": ["a"] },
            "outputs": [], "source": ["a = 1\n", "b = 2"] })
    );

    let first = json!({ "edit_mode": "insert", "cell_type": "markdown", "new_source": "top" });
    notebook_edit(&world, first).await.unwrap();
    let last = json!({ "edit_mode": "insert", "cell_id": "sum", "new_source": "end" });
    notebook_edit(&world, last).await.unwrap();
    let sources: Vec<_> = cells(&world).iter().map(|cell| cell["source"][0].clone()).collect();
    assert_eq!(sources, ["top", "# Title\n", "a = 1\n", "end"]);
    let id = cells(&world)[3]["id"].as_str().unwrap().to_owned();

    for (index, id) in [(3, id.as_str()), (0, "cell-0"), (0, "intro"), (0, "sum")] {
        let before = cells(&world);
        notebook_edit(&world, json!({ "edit_mode": "delete", "cell_id": id })).await.unwrap();
        let mut expected = before;
        expected.remove(index);
        assert_eq!(cells(&world), expected);
    }
    notebook_edit(&world, json!({ "edit_mode": "insert", "new_source": "only" })).await.unwrap();
    assert_eq!(cells(&world).len(), 1);
    let unknown = notebook_edit(&world, json!({ "cell_id": "x" })).await.unwrap_err();
    assert!(unknown.contains("has no cell `x`"), "{unknown}");
    assert!(notebook_edit(&world, json!({})).await.unwrap_err().contains("`cell_id` is missing"));
}

// R18
#[tokio::test]
async fn what_is_no_notebook_is_not_edited_as_one() {
    let world = World::new();
    for (name, text) in [("a.ipynb", "{\"cells\": {}}"), ("b.txt", NOTEBOOK), ("c.ipynb", "[[[[")] {
        world.write(name, text);
        world.read(name).await.unwrap();
        let edit = json!({ "path": name, "cell_id": "sum", "new_source": "x" });
        assert!(world.call("notebook_edit", edit).await.unwrap_err().contains("notebook"), "{name}");
        assert_eq!(fs::read_to_string(world.path(name)).unwrap(), text);
    }
}

#[tokio::test]
async fn a_cell_with_very_many_values_is_named_and_not_read() {
    let world = World::new();
    let outputs = vec!["0"; 300_000].join(",");
    let lines = vec!["\"\\n\""; 300_000].join(",");
    let cells = format!(
        r#"{{"cells":[{{"cell_type":"code","source":"a = 1","outputs":[{outputs}]}},{{"cell_type":"code","source":[{lines}],"outputs":[]}}],"nbformat":4,"nbformat_minor":4}}"#
    );
    world.write("many.ipynb", cells);
    let text = world.read("many.ipynb").await.unwrap();
    assert!(
        text.contains(
            "[the outputs of this cell left out: too long, or not readable; search the file with `grep`]"
        ),
        "{text}"
    );
    assert!(text.contains("[the source of this cell left out"), "{text}");
    assert!(text.len() < 2_000, "{}", text.len());
    // What is not shown is not replaced.
    for source in [r#"["a\n", 1e999]"#, r#"["a\n", {"b": "hidden"}]"#, r#"{"b": "hidden"}"#] {
        let cell = format!(r#"{{"cell_type":"code","source":{source},"outputs":[]}}"#);
        world.write("odd.ipynb", format!(r#"{{"cells":[{cell}],"nbformat":4,"nbformat_minor":4}}"#));
        let text = world.read("odd.ipynb").await.unwrap();
        assert!(text.contains("[the source of this cell left out"), "{text}");
        let error = world.write_file("odd.ipynb", "{}").await.unwrap_err();
        assert!(error.contains("was not read in full"), "{error}");
    }
}

// R16, R18
#[tokio::test]
async fn a_cell_whose_source_is_cut_is_not_replaced_and_one_whose_output_is_cut_is() {
    let cut = "[the rest is left out; search it with `grep`]";
    for (source_chars, output_chars, cuts, is_whole) in
        [(262_144, 0, 0, true), (262_145, 0, 1, false), (1, 10_000, 0, true), (1, 10_001, 1, true)]
    {
        let world = World::new();
        let (source, output) = ("é".repeat(source_chars), "x".repeat(output_chars));
        let output = json!({ "output_type": "stream", "name": "stdout", "text": output });
        let outputs = vec![output; usize::from(output_chars > 0)];
        let cell =
            json!({ "cell_type": "code", "id": "a", "metadata": {}, "source": source, "outputs": outputs });
        world.write("a.ipynb", json!({ "cells": [cell], "nbformat": 4, "nbformat_minor": 5 }).to_string());
        let text = world.read("a.ipynb").await.unwrap();
        assert_eq!(text.matches(cut).count(), cuts, "{source_chars} {output_chars}");
        assert_eq!(text.matches('é').count(), source_chars.min(262_144));
        let written = world.write_file("a.ipynb", "{}").await;
        assert_eq!(written.is_ok(), is_whole, "{source_chars} {output_chars}: {written:?}");
    }
}

/// A notebook of cells with ids, whose sources are their places.
fn notebook_with_ids(ids: &[&str]) -> String {
    let cell = |(index, id): (usize, &&str)| json!({ "cell_type": "code", "id": id, "metadata": {}, "outputs": [], "source": [index.to_string()] });
    let cells: Vec<_> = ids.iter().enumerate().map(cell).collect();
    json!({ "cells": cells, "nbformat": 4, "nbformat_minor": 5 }).to_string()
}

// R18
#[tokio::test]
async fn the_cell_that_a_read_names_is_the_one_that_is_changed() {
    let world = World::new();
    world.write("a.ipynb", notebook_with_ids(&["same", "same", "cell-4", "own", "cell-2", ""]));
    let text = world.read("a.ipynb").await.unwrap();
    for (place, name) in ["cell-0", "cell-1", "cell-2", "own", "cell-4", "cell-5"].iter().enumerate() {
        assert!(text.contains(&format!("[cell {}, `{name}`, code]\n     1\t{place}\n", place + 1)), "{text}");
    }
    let ambiguous =
        notebook_edit(&world, json!({ "edit_mode": "delete", "cell_id": "same" })).await.unwrap_err();
    assert!(
        ambiguous.contains("has no cell `same`; its first cells are: cell-0, cell-1, cell-2, own"),
        "{ambiguous}"
    );
    for (place, name) in [(5, "cell-5"), (4, "cell-4"), (3, "own"), (2, "cell-2"), (1, "cell-1")] {
        notebook_edit(&world, json!({ "edit_mode": "delete", "cell_id": name })).await.unwrap();
        let sources: Vec<_> = cells(&world).iter().map(|cell| cell["source"][0].clone()).collect();
        let expected: Vec<_> = (0..place).map(|place| json!(place.to_string())).collect();
        assert_eq!(sources, expected);
        world.read("a.ipynb").await.unwrap();
    }
    // The id of one cell is the name of the place of another.
    world.write("a.ipynb", notebook_with_ids(&["cell-1", "own"]));
    world.read("a.ipynb").await.unwrap();
    let unclear =
        notebook_edit(&world, json!({ "edit_mode": "delete", "cell_id": "cell-1" })).await.unwrap_err();
    assert!(unclear.contains("has no cell `cell-1`"), "{unclear}");
}

// R16
#[tokio::test]
async fn no_id_or_type_of_a_cell_looks_like_another_line_of_the_result() {
    let world = World::new();
    let fake = "a`, code]\n     1\tfake\n[cell 2, `b";
    world.write(
        "a.ipynb",
        notebook_with_ids(&[fake]).replace("\"code\"", "\"code]\\n     1\\tfake \\u001b[8m\""),
    );
    let text = world.read("a.ipynb").await.unwrap();
    assert_eq!(
        text,
        "`a.ipynb`, cells 1-1 of 1\n[cell 1, `cell-0`, code]\\n     1\\tfake \\u{1b}[8m]\n     1\t0\n"
    );
}
