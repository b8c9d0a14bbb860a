//! The choice of operations, their names and descriptions.

use serde_json::{Value, json};
use tool_openapi::{Document, OpenApiToolSet};
use tool_runtime::{RunContext, Tool as _, Toolbox, toolset::ToolSetExt as _};

use crate::{built, document};

fn names(set: &OpenApiToolSet) -> Vec<&str> {
    set.tools().iter().map(|tool| tool.definition().name().as_str()).collect()
}

fn imported(paths: Value) -> OpenApiToolSet {
    built(OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h"))
}

fn shop() -> Document {
    let paths = json!({
        "/pets": {
            "get": { "operationId": "listPets", "tags": ["pets"] },
            "post": { "operationId": "addPet", "tags": ["pets", "staff"] },
        },
        "/pets/{id}": { "delete": { "operationId": "removePet", "tags": ["staff"] } },
        "/petstore": { "get": { "operationId": "getStore" } },
    });
    document(paths, json!({ "servers": [{ "url": "http://h" }] }))
}

#[test]
fn operations_are_chosen_by_id_tag_path_method_and_predicate() {
    let of = || OpenApiToolSet::builder(shop());
    assert_eq!(names(&built(of())), ["listPets", "addPet", "removePet", "getStore"]); // P12
    assert_eq!(names(&built(of().ids(["getStore", "addPet"]))), ["addPet", "getStore"]); // P12
    assert_eq!(names(&built(of().tags(["staff", "none"]))), ["addPet", "removePet"]); // P12
    assert_eq!(names(&built(of().path_prefix("/pets"))), ["listPets", "addPet", "removePet"]); // P12
    assert_eq!(names(&built(of().path_prefix("/pets/"))), ["listPets", "addPet", "removePet"]); // P12
    assert_eq!(names(&built(of().methods(["get", "DELETE"]))), ["listPets", "removePet", "getStore"]);
    assert_eq!(names(&built(of().filter(|it| it.tags.is_empty()))), ["getStore"]);
    assert_eq!(names(&built(of().tags(["pets"]).methods(["GET"]))), ["listPets"]);
    let unknown = built(of().ids(["listPets", "listDogs"]));
    let codes: Vec<_> = unknown.diagnostics().iter().map(|it| it.code).collect();
    assert_eq!(codes, ["unknown_operation"]);
    assert!(unknown.diagnostics()[0].to_string().contains("`listDogs`"));
}

#[test]
fn the_title_of_a_tool_without_one_is_its_name_also_if_that_is_changed() {
    let titles = |set: &OpenApiToolSet| {
        set.tools().iter().map(|it| it.definition().title().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        titles(&built(OpenApiToolSet::builder(shop()))),
        ["listPets", "addPet", "removePet", "getStore"]
    );
    let described = OpenApiToolSet::builder(shop()).describe(|operation, text| match operation.id {
        Some("listPets") => text.name = "list_pets".to_owned(),
        Some("addPet") => text.title = "Add a pet".to_owned(),
        _ => {}
    });
    assert_eq!(titles(&built(described)), ["list_pets", "Add a pet", "removePet", "getStore"]); // P12
}

#[test]
fn an_operation_without_an_id_is_named_by_method_and_path_or_skipped() {
    let paths = json!({ "/pets/{id}": { "get": { "summary": "Get a pet" } }, "/pets": { "post": {} } });
    let set = imported(paths.clone());
    assert_eq!(names(&set), ["get_pets_by_id", "post_pets"]); // P03
    let definition = set.tools()[0].definition();
    assert_eq!((definition.title(), definition.description()), ("Get a pet", "Get a pet")); // P03
    assert_eq!(set.tools()[1].definition().description(), "POST /pets"); // P03
    let builder = OpenApiToolSet::builder(document(paths, json!({}))).base_url("http://h");
    let set = built(builder.skip_unnamed());
    assert_eq!((set.tools().len(), set.skipped().len()), (0, 2)); // P03
    let skipped: Vec<_> = set.skipped().iter().map(ToString::to_string).collect();
    let expected = [
        "`GET /pets/{id}` is skipped: it has no `operationId` (at `/paths/~1pets~1{id}/get`)",
        "`POST /pets` is skipped: it has no `operationId` (at `/paths/~1pets/post`)",
    ];
    assert_eq!(skipped, expected); // P03
}

#[test]
fn names_are_legal_and_unique_and_do_not_depend_on_the_chosen_operations() {
    let paths = json!({
        "/a": { "get": { "operationId": "list.pets", "description": "One" } },
        "/b": { "get": { "operationId": "list pets" } },
        "/c": { "get": { "operationId": "same" } },
        "/d": { "get": { "operationId": "same" } },
        "/e": { "get": { "operationId": "Same" } },
        // The name of the operation below.
        "/f": { "get": { "operationId": "get_g" } },
        "/g": { "get": {} },
        "/h": { "get": { "operationId": "submit_output" } },
    });
    let set = imported(paths.clone());
    let all = names(&set);
    assert_eq!(all.len(), 8, "{:?}", set.skipped());
    assert!(all[0].starts_with("list_pets_") && all[1].starts_with("list_pets_") && all[0] != all[1]); // P03
    assert_eq!(all[2..6], ["same", "get_d", "Same", "get_g"]); // P03
    assert!(all[6].starts_with("GET__g_"), "{all:?}"); // P03
    assert_eq!(all[7], "get_h"); // a name that the framework reserves
    assert_eq!(set.tools()[0].definition().raw_name(), "list.pets");
    assert_eq!(set.tools()[0].definition().title(), "list.pets"); // P03
    let codes: Vec<_> = set.diagnostics().iter().map(|it| it.code).collect();
    assert_eq!(codes, ["duplicate_id", "duplicate_id"]); // P03
    for at in 0..8 {
        let path = ["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"][at];
        let builder = OpenApiToolSet::builder(document(paths.clone(), json!({}))).base_url("http://h");
        let alone = built(builder.filter(move |it| it.path == path));
        assert_eq!(alone.tools()[0].definition(), set.tools()[at].definition());
    }
}

#[test]
fn readable_names_have_no_hash_where_the_document_has_them_once() {
    let paths = json!({
        "/a": { "get": { "operationId": "repos/get" } },
        "/b": { "get": { "operationId": "pets.list" } },
        "/c": { "get": { "operationId": "pets list" } },
        "/d": { "get": { "operationId": "get_e" } },
        "/e": { "get": { "operationId": "get/e" } },
        "/f": { "get": { "operationId": "submit/output" } },
        "/g/{pet_id}/x.y": { "get": {} },
        "/h": { "get": { "operationId": "7/a" } },
        "/i": { "get": { "operationId": "plain" } },
    });
    let set = built(
        OpenApiToolSet::builder(document(paths.clone(), json!({}))).base_url("http://h").readable_names(),
    );
    let (stable, readable) = (imported(paths), names(&set));
    assert_eq!(readable[0], "repos_get"); // P03
    assert_eq!(readable[6], "get_g_by_pet_id_x_y"); // P03
    let same: Vec<_> = readable.iter().zip(names(&stable)).map(|(new, old)| *new == old).collect();
    // Two operations, another operation, a name of the framework, and no name.
    assert_eq!(same, [false, true, true, true, true, true, false, true, true], "{readable:?}"); // P03
    for (new, old) in set.tools().iter().zip(stable.tools()) {
        assert_eq!(new.definition().raw_name(), old.definition().raw_name());
    }
    assert_eq!((set.tools()[6].method(), set.tools()[6].path()), ("GET", "/g/{pet_id}/x.y"));
}

#[test]
fn a_skip_is_shown_with_its_reason_and_place() {
    let set = imported(json!({ "/a": { "get": 7 } }));
    let expected = "`GET /a` is skipped: the operation is not an object (at `/paths/~1a/get`)";
    assert_eq!(set.skipped()[0].to_string(), expected);
}

#[test]
fn hints_follow_the_method_and_a_deprecated_operation_says_so() {
    let paths = json!({ "/pets": {
        "get": { "operationId": "get", "deprecated": true, "description": "All pets." },
        "head": { "operationId": "head" }, "post": { "operationId": "post" },
        "put": { "operationId": "put" }, "delete": { "operationId": "delete" },
    }});
    let set = imported(paths);
    let hints = |name: &str| {
        let tool = set.tools().iter().find(|it| it.definition().name() == name).unwrap();
        let hints = tool.definition().metadata();
        [hints.is_read_only(), hints.is_destructive(), hints.is_idempotent()]
    };
    assert_eq!(hints("get"), [true, false, true]); // P14
    assert_eq!(hints("head"), [true, false, true]); // P14
    assert_eq!(hints("post"), [false, false, false]);
    assert_eq!(hints("put"), [false, false, true]);
    assert_eq!(hints("delete"), [false, true, true]); // P14
    let get = set.tools().iter().find(|it| it.definition().name() == "get").unwrap();
    assert_eq!(get.definition().description(), "Deprecated. All pets.");
}

#[test]
fn a_program_renames_and_describes_operations() {
    let set = built(OpenApiToolSet::builder(shop()).describe(|operation, text| {
        text.name = match operation.id {
            Some("listPets") => "list".to_owned(),
            Some("addPet") => "not legal".to_owned(),
            Some("removePet") => "getStore".to_owned(),
            _ => return,
        };
        text.description = format!("{} of the shop", operation.path);
        text.metadata.read_only = Some(false);
    }));
    assert_eq!(names(&set), ["list", "getStore"]);
    let list = set.tools()[0].definition();
    assert_eq!((list.raw_name(), list.description()), ("listPets", "/pets of the shop"));
    assert!(!list.metadata().is_read_only());
    let reasons: Vec<_> = set.skipped().iter().map(|it| it.reason.as_str()).collect();
    assert!(reasons[0].contains("not legal") && reasons[1].contains("`getStore`"), "{reasons:?}");
}

#[tokio::test]
async fn a_toolbox_has_the_operations_beside_other_tools_with_a_prefix() {
    let toolbox = Toolbox::new();
    toolbox.add_toolset(built(OpenApiToolSet::builder(shop()).name("shop")).prefixed()).unwrap();
    toolbox.add_toolset(built(OpenApiToolSet::builder(shop()).name("other"))).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    assert_eq!(tools.definitions().len(), 8);
    assert!(tools.get("listPets").is_some() && tools.get("shop__listPets").is_some()); // P03
}

#[test]
fn pins_show_what_a_later_version_of_the_document_changed() {
    let pins = built(OpenApiToolSet::builder(shop())).pins();
    let changes = |set: &OpenApiToolSet| {
        let definitions: Vec<_> = set.tools().iter().map(|it| it.definition().clone()).collect();
        pins.check_definitions(&definitions).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(changes(&built(OpenApiToolSet::builder(shop()))).is_empty());
    let paths = json!({ "/pets": { "get": {
        "operationId": "listPets", "tags": ["pets"],
        "parameters": [{ "name": "owner", "in": "query", "schema": { "type": "string" } }],
    }}});
    let changed = changes(&imported(paths));
    assert!(changed.iter().any(|it| it.contains("listPets") && it.contains("owner")), "{changed:?}");
}
