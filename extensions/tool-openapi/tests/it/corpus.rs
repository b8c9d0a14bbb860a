//! Public documents, as their authors publish them. The large ones are in the folder `TOOL_OPENAPI_DOCUMENTS`, which `.ci/run`
//! sets; without it, only the committed ones are imported.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;
use tool_openapi::{Document, OpenApiToolSet};
use tool_runtime::{Tool as _, ToolDefinition, ToolName};

use crate::{built, file, registry};

/// The documents of the repository, with the number of their operations.
const COMMITTED: [(&str, usize); 6] = [
    ("petstore-3.0.json", 20),
    ("petstore-3.0.yaml", 20),
    ("petstore-2.0.json", 20),
    ("uspto-3.0.yaml", 3),
    ("galaxy-3.1.yaml", 10),
    ("library-3.2.yaml", 6),
];

/// The operations that cannot be carried: paths with a parameter in their query.
const SKIPPED: [(&str, usize); 1] = [("medium", 5)];

struct Sample {
    name: String,
    path: PathBuf,
    folder: Option<PathBuf>,
    operations: usize,
}

impl Sample {
    fn document(&self) -> Document {
        let document =
            Document::from_file(&self.path).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        match &self.folder {
            Some(folder) => document.with_folder(folder),
            None => document,
        }
    }
}

fn samples() -> Vec<Sample> {
    let committed = COMMITTED.map(|(name, operations)| Sample {
        name: name.to_owned(),
        path: file(name),
        folder: None,
        operations,
    });
    let mut all = Vec::from(committed);
    let Some(folder) = env::var_os("TOOL_OPENAPI_DOCUMENTS") else { return all };
    let folder = Path::new(&folder);
    let index = fs::read(folder.join("index.json")).expect("`.ci/openapi/fetch` writes the documents");
    let index: Vec<Value> = serde_json::from_slice(&index).unwrap();
    assert!(index.len() >= 30, "{} documents", index.len());
    all.extend(index.iter().map(|it| {
        let name = it["name"].as_str().unwrap().to_owned();
        let is_several = it.get("folders").is_some();
        Sample {
            path: folder.join(it["file"].as_str().unwrap()),
            folder: is_several.then(|| folder.join(&name)),
            operations: usize::try_from(it["operations"].as_u64().unwrap()).unwrap(),
            name,
        }
    }));
    all
}

fn imported(document: Document) -> OpenApiToolSet {
    built(OpenApiToolSet::builder(document).base_url("http://127.0.0.1:1"))
}

fn definitions(set: &OpenApiToolSet) -> Vec<ToolDefinition> {
    set.tools().iter().map(|it| it.definition().clone()).collect()
}

/// Each reference in `schema`, without those in values.
fn references<'s>(schema: &'s Value, each: &mut impl FnMut(&'s str)) {
    let Value::Object(members) = schema else { return };
    for (key, value) in members {
        match (&**key, value) {
            ("$ref", Value::String(reference)) => each(reference),
            ("properties" | "$defs" | "patternProperties" | "dependentSchemas", Value::Object(all)) => {
                all.values().for_each(|it| references(it, each));
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(all)) => {
                all.iter().for_each(|it| references(it, each));
            }
            (
                "items"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                value,
            ) => references(value, each),
            _ => {}
        }
    }
}

/// As [`assert_valid`], of a document whose tools share definitions: each is validated once.
fn assert_valid_once(schema: &Value, known: &mut HashSet<String>, what: &str) {
    let mut root = schema.clone();
    let definitions = root.as_object_mut().and_then(|it| it.shift_remove("$defs"));
    for part in definitions.iter().filter_map(Value::as_object).flat_map(|it| it.values()).chain([&root]) {
        if known.insert(part.to_string())
            && let Err(error) = jsonschema::draft202012::meta::validate(part)
        {
            panic!("{what}: {error} at {} of {part}", error.instance_path());
        }
    }
    assert_no_dangling(schema, what);
}

/// A schema of JSON Schema 2020-12 whose references lead to one of its definitions.
pub(crate) fn assert_valid(schema: &Value, what: &str) {
    if let Err(error) = jsonschema::draft202012::meta::validate(schema) {
        panic!("{what}: {error} at {} of {schema}", error.instance_path());
    }
    assert_no_dangling(schema, what);
}

fn assert_no_dangling(schema: &Value, what: &str) {
    references(schema, &mut |reference| {
        let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{what}: `{reference}`"));
        assert!(schema.pointer(pointer).is_some(), "{what}: `{reference}` dangles in {schema}");
    });
}

/// A reason without what differs between operations.
fn kind(reason: &str) -> String {
    let parts: Vec<_> =
        reason.split('`').enumerate().map(|(at, it)| if at % 2 == 0 { it } else { ".." }).collect();
    parts.concat().chars().take(140).collect()
}

/// Checks everything that holds for each document, and returns a line about it.
fn check(sample: &Sample) -> String {
    let name = &sample.name;
    let document = sample.document();
    let set = imported(document.clone());
    let (tools, skipped) = (set.tools().len(), set.skipped().len());
    assert_eq!(tools + skipped, sample.operations, "{name}: {:?}", set.skipped()); // P01
    for skipped in set.skipped() {
        assert!(skipped.pointer.contains("/") && !skipped.reason.is_empty(), "{name}: {skipped:?}"); // P01
    }
    let (mut names, mut known) = (BTreeSet::new(), HashSet::new());
    for definition in definitions(&set) {
        let tool = definition.name();
        assert!(ToolName::new(tool.to_string()).is_ok() && names.insert(tool.clone()), "{name}: {tool}"); // P03
        assert!(!definition.description().is_empty() && !definition.title().is_empty(), "{name}: {tool}"); // P03
        assert_valid_once(
            definition.input_schema().as_value(),
            &mut known,
            &format!("{name}: input of {tool}"),
        );
        if let Some(output) = definition.output_schema() {
            assert_valid_once(output.as_value(), &mut known, &format!("{name}: output of {tool}"));
        }
    }
    assert_eq!(registry(&set).definitions().len(), tools, "{name}");
    let again = definitions(&imported(document.clone()));
    for (at, (definition, again)) in definitions(&set).iter().zip(&again).enumerate() {
        assert_eq!(definition.input_schema(), again.input_schema(), "{name}: imported again");
        // Output schemas are made at first use, which takes a while for all of them.
        assert!(at % 10 > 0 || definition == again, "{name}: imported again");
    }
    assert_eq!(again.len(), tools, "{name}: imported again");
    alone(sample, &document, &set);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    set.skipped().iter().for_each(|it| *reasons.entry(kind(&it.reason)).or_default() += 1);
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    set.diagnostics().iter().for_each(|it| *codes.entry(it.code).or_default() += 1);
    let known = SKIPPED.iter().find(|(it, _)| it == name).map_or(0, |it| it.1);
    assert_eq!(skipped, known, "{name}: {:?}", set.skipped());
    format!("{name}: {tools} tools, {skipped} skipped {reasons:?}; diagnostics {codes:?}")
}

/// Imports some operations alone: their definitions depend on no other operation.
fn alone(sample: &Sample, document: &Document, set: &OpenApiToolSet) {
    let of_all = definitions(set);
    // Each import reads the whole document.
    let count = (8_000_000 / fs::metadata(&sample.path).unwrap().len()).clamp(1, 6);
    let count = usize::try_from(count).unwrap();
    for definition in of_all.iter().step_by(of_all.len() / count + 1) {
        let id = definition.raw_name().to_owned();
        let builder = OpenApiToolSet::builder(document.clone()).base_url("http://127.0.0.1:1");
        let alone = builder
            .filter(move |it| it.id == Some(&*id) || it.id.is_none() && set_name(it.method, it.path, &id));
        let alone = built(alone);
        let same = alone.tools().iter().find(|it| it.definition().raw_name() == definition.raw_name());
        assert_eq!(same.map(|it| it.definition()), Some(definition), "{}", sample.name);
    }
}

/// Returns `true` if an operation without an id may have the raw name `name`.
fn set_name(method: &str, path: &str, name: &str) -> bool {
    let words = |it: &str| it.to_ascii_lowercase().replace(|it: char| !it.is_ascii_alphanumeric(), "");
    words(&format!("{method}{path}")).len() <= words(name).len()
        && name.to_ascii_lowercase().starts_with(&method.to_ascii_lowercase())
}

#[test]
fn every_operation_of_public_documents_is_a_tool_or_a_skip_with_its_reason() {
    let (samples, next, lines) = (samples(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(sample) = samples.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let started = std::time::Instant::now();
                    let line = check(sample);
                    println!("{line}; {:.1} s", started.elapsed().as_secs_f64());
                    lines.lock().unwrap().push(line);
                }
            });
        }
    });
    assert_eq!(lines.into_inner().unwrap().len(), samples.len());
}
