//! The command `openapi`: whole outputs. The test program starts itself as the program.

use std::{
    env, fs,
    io::Write as _,
    path::PathBuf,
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use test_support::http::{Answer, Recorder};
use tool_cli::Cli;
use tool_openapi::cli::OpenApi;

/// The variable with the arguments of the program, between unit separators.
const ARGUMENTS: &str = "TOOL_OPENAPI_ARGUMENTS";

/// Separates the output of the test harness from the output of the program.
const START: &str = "\u{2}start\n";

/// The program. As a test, it checks that it starts.
#[test]
fn the_command_is_part_of_a_program() {
    if let Ok(arguments) = env::var(ARGUMENTS) {
        std::io::stdout().write_all(START.as_bytes()).unwrap();
        let arguments = arguments.split('\u{1f}').filter(|_| !arguments.is_empty());
        let arguments = ["api", "openapi"].into_iter().chain(arguments);
        let exit = Cli::new().command(OpenApi).run(arguments);
        process::exit(exit.code().into());
    }
    let (code, out, err) = openapi(&["--help"]);
    assert_eq!((code, &*err), (0, ""));
    for option in
        ["--base-url <URL>", "--credential <SCHEME=SOURCE>", "--tag <TAG>", "[default: none is read]"]
    {
        assert!(out.contains(option), "{out}");
    }
}

/// The exit code, the standard output and the standard error of the command.
fn openapi(arguments: &[&str]) -> (i32, String, String) {
    let mut program = process::Command::new(env::current_exe().unwrap());
    program.args(["--exact", "command::the_command_is_part_of_a_program", "--nocapture", "--test-threads=2"]);
    program.env(ARGUMENTS, arguments.join("\u{1f}")).env("COLUMNS", "1000").env("API_KEY", "special-key");
    let output = program.stdin(process::Stdio::null()).current_dir(folder()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    // Programs of tests link other tools than those of the document, or none.
    let err: String = err
        .lines()
        .filter(|line| !line.contains("the program has no tools"))
        .map(|line| format!("{line}\n"))
        .collect();
    (output.status.code().unwrap(), out.split_once(START).unwrap().1.to_owned(), err)
}

/// The folder of the program.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("command");
    fs::create_dir_all(folder.join("more")).unwrap();
    folder
}

/// Writes a file of the folder at once, since other tests read it meanwhile.
fn write(name: &str, text: &str) {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let new = folder().join(format!("{}-{number}.new", process::id()));
    fs::write(&new, text).unwrap();
    fs::rename(new, folder().join(name)).unwrap();
}

/// Writes a document with an operation that is skipped, one with a warning, one with a note, one with a key, and one that
/// refers to another file.
fn api() -> &'static str {
    let parameter = |name: &str, place: &str, required: bool| json!([{ "name": name, "in": place, "required": required }]);
    let paths = json!({
        "/broken": { "get": { "operationId": "broken", "tags": ["a"], "parameters": parameter("x", "nowhere", true) } },
        "/odd": { "get": { "operationId": "odd", "summary": "Is odd.", "tags": ["a", "b"], "parameters": parameter("x", "nowhere", false) } },
        "/noted": { "get": { "operationId": "noted", "summary": "Is noted.", "tags": ["b"], "parameters": [
            { "name": "Accept", "in": "header", "schema": {} },
        ] } },
        "/split": { "get": { "operationId": "split", "summary": "Is split.", "tags": ["c"], "parameters": [
            { "name": "y", "in": "query", "schema": { "$ref": "y.json" } },
        ] } },
        "/keyed": { "get": { "operationId": "keyed", "summary": "Needs a key.", "tags": ["d"], "security": [{ "key": [] }] } },
    });
    let schemes = json!({ "key": { "type": "apiKey", "in": "header", "name": "X-Key" } });
    let root = json!({
        "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "servers": [{ "url": "http://127.0.0.1:9" }],
        "paths": paths, "components": { "securitySchemes": schemes },
    });
    write("y.json", r#"{"type": "integer"}"#);
    write("api.json", &root.to_string());
    "api.json"
}

const BROKEN: &str = "`broken` is skipped";
const SPLIT: &str = "`split` is skipped";
const ODD: &str = "note: `odd`: ";

// Each command says what it is about.
#[test]
fn remarks_are_about_the_operations_of_the_command() {
    let api = api();
    for (arguments, code, remarks) in [
        (&[api, "list"][..], 0, &[BROKEN, SPLIT][..]),
        (&[api, "show", "odd"], 0, &[ODD]),
        (&[api, "show", "noted"], 0, &[]),
        (&[api, "show", "broken"], 2, &[BROKEN]),
        (&[api, "show", "split"], 2, &[SPLIT]),
        (&["--folder", ".", api, "show", "split"], 0, &[]),
        (&[api, "call", "odd"], 1, &[ODD]),
        (&[api, "call", "noted"], 1, &[]),
        (&[api, "call", "broken"], 2, &[BROKEN]),
        (&[api, "lint"], 0, &[BROKEN, SPLIT, ODD]),
    ] {
        let (seen, _, err) = openapi(arguments);
        for remark in [BROKEN, SPLIT, ODD] {
            assert_eq!(err.contains(remark), remarks.contains(&remark), "{arguments:?} {remark}: {err}");
        }
        assert!(!err.contains("`noted`: ") || arguments.contains(&"call"), "{err}");
        assert_eq!(seen, code, "{arguments:?}: {err}");
    }
    let (_, _, err) = openapi(&[api, "show", "odd"]);
    assert!(err.ends_with("(at `/paths/~1odd/get/parameters/0`)\n"), "{err}");
    let (code, _, err) = openapi(&[api, "show", "none"]);
    assert!(code == 2 && err.contains("`api openapi api.json list` lists all tools"), "{err}");
}

/// The names in the list of tools.
fn names(arguments: &[&str]) -> Vec<String> {
    let (code, out, err) = openapi(&[arguments, &[api(), "list"]].concat());
    assert_eq!(code, 0, "{err}");
    let lines = out.lines().skip(1).filter(|line| !line.starts_with(' '));
    lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn tags_choose_operations() {
    api();
    assert_eq!(names(&[]), ["keyed", "noted", "odd"]);
    assert_eq!(names(&["--folder", "."]), ["keyed", "noted", "odd", "split"]);
    assert_eq!(names(&["--tag", "b"]), ["noted", "odd"]);
    assert_eq!(names(&["--tag", "a", "--tag", "d"]), ["keyed", "odd"]);
    // Each tag exists.
    let (code, _, err) = openapi(&["--tag", "a", "--tag", "z", "api.json", "list"]);
    let expected = "error: no operation has the tag `z`; the tags are `a`, `b`, `c`, `d`\n";
    assert_eq!((code, &*err), (2, expected));
    let (code, _, err) = openapi(&["--tag", "c", "api.json", "list"]);
    assert!(code == 4 && err.ends_with("error: the document has no operation that is a tool\n"), "{err}");
}

/// Writes a document of operations with these tags.
fn tagged(name: &str, tags: &[String]) {
    let operation = |(at, tag): (usize, &String)| {
        (format!("/{at}"), json!({ "get": { "operationId": format!("o{at}"), "tags": [tag] } }))
    };
    let mut paths: serde_json::Map<_, _> = tags.iter().enumerate().map(operation).collect();
    paths.insert("/plain".to_owned(), json!({ "get": { "operationId": "plain" } }));
    let root = json!({ "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "servers": [{ "url": "http://127.0.0.1:9" }], "paths": paths });
    write(name, &root.to_string());
}

#[test]
fn a_message_lists_a_limited_number_of_tags() {
    for (count, end) in [
        (0, "no operation has the tag `z`; no operation has tags\n".to_owned()),
        (1, "the tags are `t00`\n".to_owned()),
        (20, "`t18`, `t19`\n".to_owned()),
        (21, "`t18`, `t19`, and 1 more\n".to_owned()),
        (25, "`t18`, `t19`, and 5 more\n".to_owned()),
    ] {
        let tags: Vec<_> = (0..count).map(|at| format!("t{at:02}")).collect();
        let name = format!("tags-{count}.json");
        tagged(&name, &tags);
        let (code, _, err) = openapi(&["--tag", "z", &name, "list"]);
        assert!(code == 2 && err.ends_with(&end), "{count}: {err}");
    }
}

#[test]
fn a_mistake_is_answered_with_the_option_that_it_is_about() {
    let api = api();
    for (arguments, message) in [
        (
            &["--credential", "key", api, "list"][..],
            "`--credential` takes `SCHEME=SOURCE`, such as `api_key=env:KEY`",
        ),
        (
            &["--credential", "key=env:API_KEY", api, "list"],
            "`--credential` needs `--base-url`: the document must not decide which server receives the credential",
        ),
        (
            &["--base-url", "http://127.0.0.1:9", "--credential", "key=special-key", api, "list"],
            "the secret `key` must not be part of the command line; use env:NAME, @FILE, or - to enter it",
        ),
        (&["--header", "X-A", api, "list"], "`--header` takes `NAME: VALUE`, not `X-A`"),
        (&["ftp://h/a", "list"], "a document comes from a file, or by `http` or `https`, not by `ftp`"),
        (&["--folder", "absent", api, "list"], "`--folder`: there is no folder `absent`"),
    ] {
        let (code, out, err) = openapi(arguments);
        assert_eq!((code, &*out, err), (2, "", format!("error: {message}\n")), "{arguments:?}");
    }
    let (code, _, err) = openapi(&["absent.json", "list"]);
    assert!(code == 2 && err.starts_with("error: `absent.json` cannot be read"), "{err}");
    let (code, _, err) = openapi(&["--base-url", "ftp://h", api, "list"]);
    assert!(code == 2 && err.contains("the base URL is not an `http` or `https` URL"), "{err}");
    let (code, _, err) = openapi(&[api]);
    assert!(code == 2 && err.contains("Usage: "), "{err}");
    let (code, _, err) = openapi(&["list"]);
    assert!(code == 2 && err.contains("<DOCUMENT>") && !err.contains("cannot be read"), "{err}");
    let (code, _, err) = openapi(&[]);
    assert!(code == 2 && err.contains("Options stand before DOCUMENT."), "{err}");
}

#[test]
fn calls_have_the_headers_and_the_credential_of_the_command_line() {
    let api = api();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let server = runtime.block_on(Recorder::new(Answer::json(r#"{"a":1}"#)));
    let options = ["--base-url", &server.url, "--header", "X-Team:  tools ", "--header", "X-B:c"];
    let credential = ["--credential", "key=env:API_KEY"];
    let call = |options: &[&str], name| openapi(&[options, &[api, "call", name]].concat());
    let (code, out, err) = call(&[&options[..], &credential].concat(), "keyed");
    assert!(
        code == 0 && out.contains("200 OK") && !format!("{out}{err}").contains("special-key"),
        "{out}{err}"
    ); // E10
    let received = server.one();
    assert_eq!(received.target, "/keyed");
    assert_eq!(received.header("x-key"), Some("special-key"));
    assert_eq!((received.header("x-team"), received.header("x-b")), (Some("tools"), Some("c")));
    let (code, _, _) = call(&options, "keyed");
    assert_eq!((code, server.one().header("x-key")), (0, None));
}

#[test]
fn a_document_by_url_may_be_private_and_need_a_token() {
    let root = fs::read_to_string(folder().join(api())).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let server = runtime.block_on(Recorder::new(Answer::json(&root)));
    let url = format!("{}/api.json", server.url);
    let (code, _, err) = openapi(&[&url, "list"]);
    assert!(code == 2 && err.contains("`--allow-private`") && server.take().is_empty(), "{err}");
    let token = ["--allow-private", "--document-token", "env:API_KEY", &url, "list"];
    for (arguments, authorization) in
        [(&["--allow-private", &url, "list"][..], None), (&token, Some("Bearer special-key"))]
    {
        let (code, out, err) = openapi(arguments);
        assert!(code == 0 && out.contains("keyed"), "{err}");
        assert_eq!(server.one().header("authorization"), authorization);
    }
    // The server of the document is private, too.
    let (code, _, err) = openapi(&["--allow-private", &url, "call", "noted"]);
    assert!(code == 1 && err.contains("the server `http://127.0.0.1:9` cannot be reached"), "{err}");
}

#[test]
fn names_are_readable_on_request() {
    let paths = json!({ "/r": { "get": { "operationId": "repos/get", "summary": "Gets." } } });
    let root = json!({ "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "servers": [{ "url": "http://127.0.0.1:9" }], "paths": paths });
    write("names.json", &root.to_string());
    let (_, out, _) = openapi(&["--readable-names", "names.json", "list"]);
    assert!(out.contains("\nrepos_get (repos/get) ") || out.contains("\nrepos_get "), "{out}");
    let (_, out, _) = openapi(&["names.json", "list"]);
    assert!(!out.contains("\nrepos_get ") && out.contains("\nrepos_get_"), "{out}");
}
