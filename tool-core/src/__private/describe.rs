//! The input schema of a function, from its slots and the table of its parameters.

use std::collections::HashSet;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{
    Constraint, Parameter, Source, Spec,
    of::{Described, Of},
    slot::SlotList,
};
use crate::{
    Dependency, InputSchema, OutputSchema, SchemaError,
    schema::{ALIASES, Closing, FILLS, Given, Purpose, canonical_output, input_generator, with_definitions},
};

/// The parameters of a function: those of the model and those of the program.
pub(crate) struct Description {
    pub(crate) input_schema: InputSchema,
    pub(crate) needs: Vec<Dependency>,
}

/// Describes a function by its `slots`, which are in the order of the parameters in `spec`.
pub(crate) fn describe(spec: &Spec, slots: SlotList<'_, '_>) -> Result<Description, SchemaError> {
    let mut generator = input_generator();
    let mut needs: Vec<_> = spec.needs.iter().map(|needed| needed()).collect();
    let mut list = List::default();
    let mut whole = None;
    for (slot, parameter) in slots.iter().zip(spec.parameters) {
        match slot.source() {
            Source::Call => {}
            Source::Program(needed) => needs.push(needed),
            Source::Model { schema, .. } if parameter.whole => whole = Some(schema(&mut generator)),
            Source::Model { schema, optional, default, fills } => {
                let mut schema = schema(&mut generator);
                list.names_differ(parameter)?;
                if let Some(fills) = fills {
                    schema.insert(FILLS.to_owned(), fills.into());
                }
                list.add(parameter, schema, optional, default);
            }
        }
    }
    let closing = if spec.ignore_unknown { Closing::Open } else { Closing::Closed };
    let input_schema = match (spec.input_override, whole) {
        (Some(make), _) => InputSchema::new(make().map_err(SchemaError::new)?)?,
        (None, Some(mut schema)) => {
            // A struct that is a tool has one doc comment for both.
            if schema.get("description").is_some_and(|said| said == spec.description) {
                schema.remove("description");
            }
            InputSchema::canonical(with_definitions(schema.to_value(), generator), closing, Vec::new())?
        }
        (None, None) => {
            let given = std::mem::take(&mut list.given);
            InputSchema::canonical(with_definitions(list.into_root(), generator), closing, given)?
        }
    };
    let mut seen = HashSet::new();
    needs.retain(|needed| seen.insert(*needed));
    Ok(Description { input_schema, needs })
}

/// The schema of a function's result.
pub struct Returned {
    pub schema: Option<OutputSchema>,
    pub is_stream: bool,
}

impl Returned {
    /// Creates the schema of a result that `describe` describes.
    pub fn described(describe: impl FnOnce(&mut SchemaGenerator) -> Described) -> Self {
        let mut generator = crate::schema::output_generator();
        let Described { schema, is_stream } = describe(&mut generator);
        let value = schema.map(|schema| canonical_output(with_definitions(schema.to_value(), generator)));
        // The schema permits any value, or there is no result.
        let says_something =
            |value: &Value| *value != true && *value != json!({}) && *value != json!({ "type": "null" });
        Self { schema: value.filter(says_something).map(OutputSchema::derived), is_stream }
    }
}

impl Returned {
    /// Creates the schema of a result that is serialised as a `T`.
    #[must_use]
    pub fn value<T: JsonSchema>() -> Self {
        Self::described(|generator| Of::<T>::new().described(Some(generator.subschema_for::<T>())))
    }
}

/// Describes the result of the function of `spec`.
pub(crate) fn returned(spec: &Spec) -> Result<Returned, SchemaError> {
    let is_stream = spec.streams.is_some_and(|streams| streams());
    Ok(match (spec.output_override, spec.output) {
        (Some(make), _) => {
            let schema = OutputSchema::new(make().map_err(SchemaError::new)?)?;
            Returned { schema: Some(schema), is_stream }
        }
        (None, Some(describe)) => Returned::described(describe),
        (None, None) => Returned { schema: None, is_stream },
    })
}

/// The properties of a parameter list.
#[derive(Default)]
struct List {
    names: HashSet<&'static str>,
    properties: Map<String, Value>,
    required: Vec<Value>,
    given: Vec<Given>,
}

impl List {
    /// Rejects duplicate names; the macro cannot detect them for constants.
    fn names_differ(&mut self, parameter: &Parameter) -> Result<(), SchemaError> {
        let mut names = std::iter::once(parameter.name).chain(parameter.aliases.iter().copied());
        match names.find(|name| !self.names.insert(name)) {
            Some(name) => Err(SchemaError::new(format!("two properties are named `{name}`; rename one"))),
            None => Ok(()),
        }
    }

    fn add(&mut self, parameter: &Parameter, mut schema: Schema, optional: bool, default: Option<Value>) {
        if !parameter.description.is_empty() {
            schema.insert("description".to_owned(), parameter.description.into());
        }
        for constraint in parameter.constraints {
            constraint.apply(&mut schema);
        }
        let is_absence = |value: &Value| optional && value.is_null();
        let mut give = |purpose, value: Value| {
            if !is_absence(&value) {
                self.given.push(Given { parameter: parameter.name, purpose, value });
            }
        };
        parameter
            .constraints
            .iter()
            .filter_map(Constraint::example)
            .for_each(|it| give(Purpose::Example, it));
        if let Some(default) = default {
            if parameter.default_written {
                give(Purpose::DefaultValue, default.clone());
            }
            schema.insert("default".to_owned(), default);
        }
        if !optional || parameter.constraints.iter().any(|it| it.is_required()) {
            self.required.push(parameter.name.into());
        }
        if !parameter.aliases.is_empty() {
            schema.insert(ALIASES.to_owned(), parameter.aliases.into());
        }
        self.properties.insert(parameter.name.to_owned(), schema.to_value());
    }

    fn into_root(self) -> Value {
        let mut root = json!({ "type": "object", "properties": self.properties });
        if let (Some(root), false) = (root.as_object_mut(), self.required.is_empty()) {
            root.insert("required".to_owned(), self.required.into());
        }
        root
    }
}
