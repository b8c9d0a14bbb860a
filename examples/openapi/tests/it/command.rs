//! The command `openapi`, on the petstore.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use super::run;

/// The server of `openapi-petstore`.
struct Petstore {
    url: String,
    child: Child,
}

impl Petstore {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_openapi-petstore"));
        let mut child = command.arg("serve").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { url: line.trim().to_owned(), child }
    }
}

impl Drop for Petstore {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A document of `tool-openapi`'s tests.
macro_rules! document {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../extensions/tool-openapi/tests/documents/", $name)
    };
}

const PETSTORE: &str = document!("petstore-3.0.yaml");

fn openapi(arguments: &[&str]) -> (i32, String, String) {
    run(
        env!("CARGO_BIN_EXE_openapi-command"),
        &[&["openapi"], arguments].concat(),
        &[("PETS_KEY", "special-key")],
    )
}

#[test]
fn the_operations_of_a_document_are_listed_and_shown() {
    let (code, out, _) = openapi(&[PETSTORE, "list"]);
    assert_eq!(code, 0);
    assert!(out.contains("getPetById (Find pet by ID)") && out.contains("read-only, idempotent"), "{out}");
    let (code, out, _) = openapi(&[PETSTORE, "show", "getPetById"]);
    assert!(code == 0 && out.contains("--petId"), "{out}");
    let (code, out, _) = openapi(&["--tag", "store", "--json-definitions", PETSTORE, "list"]);
    assert_eq!((code, out.contains("getPetById")), (2, false), "unknown options are refused");
    let (code, out, _) = openapi(&["--tag", "store", PETSTORE, "list"]);
    assert!(code == 0 && out.contains("placeOrder") && !out.contains("getPetById"), "{out}");
}

#[test]
fn operations_are_called_with_flags_or_json() {
    let store = Petstore::start();
    let call =
        |arguments: &[&str]| openapi(&[&["--base-url", &store.url, PETSTORE, "call"], arguments].concat());
    let (code, out, error) = call(&["addPet", r#"{"body":{"name":"Rex","photoUrls":[]}}"#]);
    assert!(code == 0 && out.contains(r#""id":1"#), "{out}{error}");
    let (code, out, error) = call(&["getPetById", "--petId", "1"]);
    assert!(code == 0 && out.contains("200 OK") && out.contains("Rex"), "{out}{error}");
    let (code, out, error) = call(&["getPetById", "--petId", "2"]);
    assert!(code == 0 && out.contains("404 Not Found"), "{out}{error}");
    let (code, out, error) = call(&["getPetById", "--petId", "one"]);
    assert!(code == 2 && out.is_empty() && error.contains("petId"), "{error}");
    let (code, _, error) = call(&["getPetByID", "--petId", "1"]);
    assert!(code == 2 && error.contains("did you mean `getPetById`?"), "{error}");
}

#[test]
fn a_mistake_in_the_command_line_is_explained() {
    let (code, _, error) = openapi(&["missing.yaml", "list"]);
    assert!(code == 2 && error.contains("`missing.yaml` cannot be read"), "{error}");
    let (code, _, error) = openapi(&["--base-url", "ftp://h", PETSTORE, "list"]);
    assert!(code == 2 && error.contains("not an `http` or `https` URL"), "{error}");
    let (code, _, error) = openapi(&["--header", "X-A", PETSTORE, "list"]);
    assert!(code == 2 && error.contains("NAME: VALUE"), "{error}");
    let (code, _, error) = openapi(&[PETSTORE]);
    assert!(code == 2 && error.contains("list"), "{error}");
    let (code, _, error) = openapi(&["--tag", "nosuch", PETSTORE, "list"]);
    assert!(code == 2 && error.contains("no operation has the tag `nosuch`; the tags are `pet`"), "{error}");
    let (code, _, error) = openapi(&["--folder", "nosuch", PETSTORE, "list"]);
    assert!(code == 2 && error.contains("there is no folder `nosuch`"), "{error}");
    let (code, _, error) = openapi(&["ftp://h/a", "list"]);
    assert!(code == 2 && error.contains("not by `ftp`"), "{error}");
}

#[test]
fn a_credential_comes_from_the_environment_and_goes_to_the_base_url_only() {
    let store = Petstore::start();
    let key = ["--credential", "api_key=env:PETS_KEY"];
    let call = [PETSTORE, "call", "getInventory"];
    let (code, out, error) = openapi(&[&["--base-url", &store.url][..], &key, &call].concat());
    assert!(code == 0 && out.contains("200 OK"), "{out}{error}");
    assert!(!format!("{out}{error}").contains("special-key"), "{out}{error}"); // E10
    let (code, out, error) = openapi(&[&["--base-url", &store.url][..], &call].concat());
    assert!(code == 0 && out.contains("401 Unauthorized"), "{out}{error}");
    let (code, _, error) = openapi(&[&key[..], &call].concat());
    assert!(code == 2 && error.contains("needs `--base-url`"), "{error}");
    let plain = ["--base-url", &store.url, "--credential", "api_key=special-key", PETSTORE, "list"];
    let (code, _, error) = openapi(&plain);
    assert!(code == 2 && !error.contains("special-key") && error.contains("env:NAME"), "{error}"); // E10
}

#[test]
fn a_document_by_url_is_refused_at_a_private_address_unless_allowed() {
    let store = Petstore::start();
    let url = store.url.replace("/v2", "/openapi.yaml");
    let (code, _, error) = openapi(&[&url, "list"]);
    assert!(code == 2 && error.contains("public") && error.contains("`--allow-private`"), "{error}");
    let (code, out, error) = openapi(&["--allow-private", &url, "list"]);
    assert!(code == 0 && out.contains("getPetById"), "{out}{error}");
}

#[test]
fn an_operation_is_found_by_the_id_in_its_document() {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/raw.json");
    let document = r#"{"openapi":"3.1.0","info":{"title":"a","version":"1"},"servers":[{"url":"http://127.0.0.1:9"}],
        "paths":{"/repos":{"get":{"operationId":"repos/list","summary":"List repositories"}}}}"#;
    std::fs::write(path, document).unwrap();
    let (code, out, error) = openapi(&[path, "show", "repos/list"]);
    assert!(
        code == 0 && out.contains("List repositories") && out.contains("Raw name: repos/list"),
        "{out}{error}"
    );
    let (code, _, error) = openapi(&[path, "call", "repos/list"]);
    assert!(code == 1 && error.contains("the server `http://127.0.0.1:9` cannot be reached"), "{error}");
}

#[test]
fn remarks_are_about_the_operation_of_the_command_and_files_below_the_folder_are_read() {
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/remarks");
    std::fs::create_dir_all(folder).unwrap();
    let path = format!("{folder}/api.json");
    // A skip, a warning of `odd` and a note of `noted`.
    let document = r#"{"openapi":"3.1.0","info":{"title":"a","version":"1"},"servers":[{"url":"http://127.0.0.1:9"}],"paths":{
        "/broken":{"get":{"operationId":"broken","parameters":[{"name":"x","in":"nowhere","required":true}]}},
        "/odd":{"get":{"operationId":"odd","parameters":[{"name":"x","in":"nowhere"}]}},
        "/noted":{"get":{"operationId":"noted/one","parameters":[{"name":"Accept","in":"header","schema":{}}]}},
        "/split":{"get":{"operationId":"split","parameters":[{"name":"y","in":"query","schema":{"$ref":"y.json"}}]}}}}"#;
    std::fs::write(&path, document).unwrap();
    std::fs::write(format!("{folder}/y.json"), r#"{"type":"integer"}"#).unwrap();
    let (code, out, error) = openapi(&[&path, "list"]);
    assert!(
        code == 0 && error.contains("`broken` is skipped") && error.contains("`split` is skipped"),
        "{error}"
    );
    assert!(out.contains("noted_one_"), "{out}");
    let (code, out, _) = openapi(&["--readable-names", &path, "list"]);
    assert!(code == 0 && out.contains("noted_one") && !out.contains("noted_one_"), "{out}");
    let (code, out, error) = openapi(&["--folder", folder, &path, "show", "split"]);
    assert!(code == 0 && out.contains("--y") && !error.contains("skipped"), "{out}{error}");
    let (code, _, error) = openapi(&["--readable-names", &path, "lint"]);
    assert!(code < 2 && error.contains("`odd`: ") && !error.contains("`noted_one`: "), "{error}");
}
