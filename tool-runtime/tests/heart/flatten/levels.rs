//! Maps beside enums, enums within enums, and types that no schema can describe.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tool_runtime::{builder::InvalidTool, prelude::*};

use super::{External, OrNothing, Tagged, agree, id, objects, registry, tagged, tool, unknown, x};

// B18, B20
#[test]
fn a_flattened_map_takes_properties_that_an_enum_leaves() {
    #[tool_args]
    #[derive(Debug)]
    struct Anything {
        id: u8,
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    let counts = agree::<Anything>(&[id(), tagged(), unknown()].concat());
    assert_eq!(counts.admitted, counts.decoded, "nothing is ignored");
    #[tool_args]
    #[derive(Debug)]
    struct Numbers {
        #[serde(flatten)]
        rest: BTreeMap<String, u8>,
        #[serde(flatten)]
        external: Option<External>,
    }
    let words = [("One", json!([1, "x"])), ("Unit", json!([null, 1])), ("unknown", json!([1, "x"]))];
    let tools = registry::<Numbers>();
    for object in objects(&words) {
        let value = Value::Object(object);
        let fits = tools.check("tool", &value).is_ok();
        // The map is the first field here, and also sees the property of the variant.
        let decodes = serde_json::from_value::<Numbers>(value.clone()).is_ok();
        assert!(fits || !decodes, "{value}");
        assert!(fits != (value["unknown"] == "x" || value["One"] == "x"), "{value}");
    }
}

// B18, B20
#[test]
fn an_enum_may_be_flattened_through_several_levels() {
    #[tool_args]
    #[derive(Debug)]
    struct Outer {
        id: u8,
        #[serde(flatten)]
        middle: Middle,
        #[serde(flatten)]
        or_nothing: OrNothing,
    }
    #[tool_args]
    #[derive(Debug)]
    struct Middle {
        id: u8,
        name: Option<String>,
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        external: External,
    }
    let schema = registry::<Outer>().definitions()[0].input_schema().as_value().clone();
    for form in schema["anyOf"].as_array().unwrap() {
        let names: Vec<_> = form["required"].as_array().unwrap().iter().collect();
        let unique: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "{form}");
        assert_eq!(form["additionalProperties"], false, "{form}");
    }
    #[tool_args]
    #[derive(Debug)]
    struct Through {
        #[serde(flatten)]
        deep: Deep,
    }
    #[tool_args]
    #[derive(Debug)]
    #[serde(tag = "deep", rename_all = "lowercase")]
    enum Deep {
        Own {
            name: u8,
            #[serde(flatten)]
            external: External,
        },
        Of(Inner),
        Open {
            #[serde(flatten)]
            all: BTreeMap<String, Value>,
        },
    }
    #[tool_args]
    #[derive(Debug)]
    struct Inner {
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        or_nothing: OrNothing,
    }
    let deep = vec![("deep", json!(["own", "of", "open"])), ("name", json!([1])), ("One", json!([1]))];
    let counts = agree::<Through>(&[deep, tagged(), x()].concat());
    // own; (circle, empty, at) with (x, nothing); anything of the other properties
    let open = 2 * 2 * 5 * 3 * 2 * 2;
    assert_eq!(counts.admitted, 1 + 3 * 2 + open);
}

// B18: types that no schema can describe are an error of `build()`, with their place.
#[test]
fn fields_that_cannot_be_merged_are_a_build_error() {
    #[tool_args]
    #[derive(Debug)]
    struct Twice {
        street: u8,
        #[serde(flatten)]
        tagged: Tagged,
    }
    #[tool_args]
    #[derive(Debug)]
    struct Args {
        inner: Vec<Twice>,
    }
    #[tool_args]
    #[derive(Debug)]
    #[serde(tag = "kind")]
    enum Other {
        Square { side: u8 },
    }
    #[tool_args]
    #[derive(Debug)]
    struct Never {
        #[serde(flatten)]
        tagged: Tagged,
        #[serde(flatten)]
        other: Other,
    }
    #[tool_args]
    #[derive(Debug)]
    struct Node {
        value: u8,
        #[serde(flatten)]
        more: More,
    }
    #[tool_args]
    #[derive(Debug)]
    #[serde(untagged)]
    enum More {
        Child(Box<Node>),
        Nothing {},
    }
    /// Returns its arguments.
    #[tool(register = false)]
    fn never(_a: u8, args: Vec<Never>) -> String {
        format!("{args:?}")
    }
    let error = Registry::builder().tool::<never>().build().unwrap_err().to_string();
    assert!(error.starts_with("the tools cannot be used: tool `never` ("), "{error}");
    assert!(error.ends_with("): in `args`, no object fits all that is flattened into it"), "{error}");
    let said = |error: InvalidTool| error.to_string();
    assert_eq!(
        said(tool::<Args>().err().unwrap()),
        "tool \"tool\": in `inner`, two parts of this object describe the property `street` in different \
         ways; rename one of them"
    );
    assert_eq!(
        said(tool::<Never>().err().unwrap()),
        "tool \"tool\": no object fits all that is flattened into it"
    );
    assert_eq!(
        said(tool::<Node>().err().unwrap()),
        "tool \"tool\": a type that contains itself is flattened beside other properties; make it a property"
    );
}

// B20: if unknown properties are ignored, a second variant is, too; `serde` takes the first.
#[test]
fn properties_of_another_variant_are_ignored_like_unknown_properties() {
    #[tool_args]
    #[derive(Debug)]
    struct Args {
        id: u8,
        #[serde(flatten)]
        external: External,
    }
    /// Returns its arguments.
    #[tool(register = false, unknown_fields = "ignore")]
    fn show(#[args] args: Args) -> String {
        format!("{args:?}")
    }
    let tools = || Registry::builder().tool::<show>();
    let text = crate::text(tools(), "show", r#"{"id":1,"One":2,"Unit":null,"more":3}"#);
    assert_eq!(text, "Args { id: 1, external: One(2) }");
    assert!(crate::call(tools(), "show", r#"{"id":1,"more":3}"#).is_err());
}
