//! Functions with `#[resource]` whose URI has variables, and look-up by URI.

use std::{collections::BTreeMap, sync::Arc};

use tool_kit::{
    catalogue::{Catalogue, CatalogueChange},
    function::FunctionTemplate,
    resource,
    resource::{ReadableResource as _, ResourceTemplate as _, ResourceUri, StoredResource, UriTemplate},
};
use tool_runtime::{output::ResourceBody, prelude::*};

/// A value of the program.
struct Diary(&'static str);

#[tool_args]
#[serde(rename_all = "lowercase")]
enum Part {
    Morning,
    Evening,
}

/// A part of a day.
#[resource(uri = "diary://{year}/{day}?part={part}", register = false, handle = Entry)]
async fn entry(diary: &Diary, year: u16, day: &str, part: Part) -> Result<String, ToolError> {
    let part = match part {
        Part::Morning => "morning",
        Part::Evening => "evening",
    };
    match day {
        "never" => Err(ToolError::not_found("there is no such day")),
        day => Ok(format!("{year}|{day}|{part}|{}", diary.0)),
    }
}

/// A file of the program.
#[resource(uri = "files:///{+path}", mime_type = "text/x-own", register = false)]
fn file(path: String) -> String {
    path
}

/// Any text.
#[resource(uri = "files:///{name}", register = false)]
fn any(name: String) -> String {
    format!("any {name}")
}

/// A number.
#[resource(uri = "numbers:{number}.txt", register = false)]
fn number(number: i32) -> String {
    format!("{number}")
}

fn catalogue() -> Catalogue {
    let registry = Registry::builder().provide(Diary("Ada")).build().unwrap();
    let catalogue = Catalogue::new();
    catalogue.add_template(FunctionTemplate::of::<Entry>(&registry).unwrap()).unwrap();
    catalogue.add_template(FunctionTemplate::of::<file>(&registry).unwrap()).unwrap();
    catalogue.add_template(FunctionTemplate::of::<number>(&registry).unwrap()).unwrap();
    catalogue.add_resource(StoredResource::text("one", "stored").unwrap().with_uri("files:///one").unwrap());
    catalogue
}

async fn read(catalogue: &Catalogue, key: &str) -> Result<(String, String, String), ToolError> {
    let run = Arc::new(RunContext::new());
    let content = catalogue.snapshot(&run).await.unwrap().resource(key)?.read(&run).await?;
    match content.body {
        ResourceBody::Text(text) => Ok((content.uri, content.mime_type, text)),
        ResourceBody::Blob(_) => panic!("bytes"),
    }
}

#[tokio::test]
async fn a_uri_that_no_resource_has_is_read_by_the_template_that_matches() {
    let catalogue = catalogue();
    for (uri, mime_type, expected) in [
        ("diary://2026/1%20May?part=evening", "text/plain", "2026|1 May|evening|Ada"),
        ("DIARY://2026/May?part=morning", "text/plain", "2026|May|morning|Ada"),
        ("diary://2026/May?part=morning#builtin", "text/plain", "2026|May|morning|Ada"),
        ("files:///a/b%20c.md", "text/x-own", "a/b c.md"),
        ("files:///one", "text/plain", "stored"),
        ("numbers:-12.txt", "text/plain", "-12"),
    ] {
        let (read_uri, read_type, text) = read(&catalogue, uri).await.unwrap();
        assert_eq!((&*read_type, &*text), (mime_type, expected), "{uri}"); // U17
        assert_eq!(Some(&*read_uri), uri.split('#').next(), "{uri}");
    }
}

#[tokio::test]
async fn a_uri_that_no_template_matches_is_not_found_and_a_value_that_does_not_fit_is_an_error() {
    let catalogue = catalogue();
    for uri in [
        "diary://2026/May",
        "diary://2026/a/b?part=morning",
        "diary://2026/a%2Fb?part=morning",
        "diary://2026/a%5Cb?part=morning",
        "diary://2026/..%00?part=morning",
        "diary:///May?part=morning",
        "files:///a/%2E%2E/b",
        "files:///a%2f..",
        "files:///%ff",
        "files:///",
        "numbers:1.txt.gz",
        "other://1",
    ] {
        assert_eq!(read(&catalogue, uri).await.unwrap_err().kind(), ErrorKind::NotFound, "{uri}"); // U19
    }
    for (uri, expected) in [
        (
            "diary://20x6/May?part=morning",
            "the input of the resource `entry` does not fit: /year: expected an integer",
        ),
        ("diary://99999/May?part=morning", "/year"),
        ("diary://2026/May?part=noon", "/part"),
    ] {
        let error = read(&catalogue, uri).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().contains(expected)),
            (ErrorKind::BadParameter, true),
            "{error}"
        );
    }
    let error = read(&catalogue, "diary://2026/never?part=morning").await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("no such day")), (ErrorKind::NotFound, true));
    assert_eq!(read(&catalogue, "a b").await.unwrap_err().kind(), ErrorKind::BadParameter); // U17
}

#[tokio::test]
async fn templates_come_and_go_and_more_literal_text_counts_more() {
    let catalogue = Catalogue::new();
    let mut listener = catalogue.subscribe();
    let registry = Registry::default();
    let add = || catalogue.add_template(FunctionTemplate::of::<any>(&registry).unwrap());
    add().unwrap();
    assert_eq!(listener.next().await.unwrap().unwrap().change, CatalogueChange::Resources); // U06
    assert_eq!(add().unwrap_err().kind(), ErrorKind::Conflict); // U03
    catalogue.add_template(FunctionTemplate::of::<file>(&registry).unwrap()).unwrap();
    let snapshot = catalogue.snapshot(&Arc::new(RunContext::new())).await.unwrap();
    let texts: Vec<_> = snapshot.templates().iter().map(|it| it.uri_template().as_str().to_owned()).collect();
    assert_eq!(texts, ["files:///{+path}", "files:///{name}"]);
    catalogue.remove_template("files:///{+path}").unwrap();
    assert_eq!(read(&catalogue, "files:///a").await.unwrap().2, "any a");
    assert_eq!(catalogue.remove_template("files:///{+path}").unwrap_err().kind(), ErrorKind::NotFound); // U05
    // A snapshot keeps what it has.
    assert_eq!(snapshot.templates().len(), 2);
}

#[test]
fn a_template_describes_itself_and_completes_an_enum() {
    let registry = Registry::builder().provide(Diary("")).build().unwrap();
    let entry = FunctionTemplate::of::<Entry>(&registry).unwrap();
    assert_eq!(
        (entry.name(), entry.description(), entry.mime_type()),
        ("entry", Some("A part of a day."), "")
    );
    let variables: Vec<_> = entry.uri_template().variables().collect();
    assert_eq!(variables, ["year", "day", "part"]);
    assert_eq!(entry.candidates("part", "ev"), ["evening"]);
    assert!(entry.candidates("day", "").is_empty() && entry.candidates("other", "").is_empty());
}

#[test]
fn templates_with_one_reading_match_and_others_are_refused() {
    // The same URIs as in the test of `parse_uri_template` of `tool-macros`.
    let check = |template: &str, uri: &str, expected: Option<&[(&str, &str)]>| {
        let values =
            UriTemplate::parse(template).unwrap().matched_variables(&ResourceUri::parse(uri).unwrap());
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        assert_eq!(
            values,
            expected.map(|it| it.iter().map(owned).collect::<BTreeMap<_, _>>()),
            "{template} {uri}"
        );
    };
    check("notes://today", "notes://today", Some(&[]));
    check("notes://{day}", "notes://Monday", Some(&[("day", "Monday")]));
    check(
        "notes://{year}/{month}.md",
        "notes://2026/may.md.md",
        Some(&[("year", "2026"), ("month", "may.md")]),
    );
    check("files://{root}/{+path}.txt", "files://a/b/c.txt", Some(&[("root", "a"), ("path", "b/c")]));
    check("notes:{a}-x/{b_2}", "notes:1-x-x/2", Some(&[("a", "1-x"), ("b_2", "2")]));
    check("notes://a?day={day}&n={n}", "notes://a?day=1&n=2", Some(&[("day", "1"), ("n", "2")]));
    check("notes://a?day={day}&n={n}", "notes://a?day=1", None);
    for template in [
        "notes",
        "{scheme}://x",
        "1a:x",
        "notes://a b",
        "notes://ä",
        "notes://{day",
        "notes://day}",
        "notes://{}",
        "notes://{/day}",
        "notes://x{?day}",
        "notes://{day*}",
        "notes://{day:3}",
        "notes://{a,b}",
        "notes://{a}/{a}",
        "notes://{a}{b}",
        "notes://{a}-{b}",
        "notes://{+a}/{b}",
    ] {
        assert!(UriTemplate::parse(template).is_err(), "{template}");
    }
}
