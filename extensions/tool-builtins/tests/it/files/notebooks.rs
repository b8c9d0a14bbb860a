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
    let odd = r#"{"cells":[{"cell_type":"code","source":["a\n", 1e999],"outputs":[]}],"nbformat":4,"nbformat_minor":4}"#;
    world.write("odd.ipynb", odd);
    let text = world.read("odd.ipynb").await.unwrap();
    assert!(text.contains("[the source of this cell left out"), "{text}");
}
