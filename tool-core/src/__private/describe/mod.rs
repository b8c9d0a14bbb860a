//! The input schema of a function, from its slots and the table of its parameters.

#[cfg(test)]
#[allow(clippy::panic, clippy::unwrap_used, reason = "a test may")]
mod tests;

use std::collections::HashSet;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tool_schema::__private::{
    ALIASES, Closing, FILLS, Flat, Limits, Purpose, Row, WrittenValue, canonical_output, input_generator,
    output_generator, with_definitions,
};

use super::{
    Constraint, Parameter, Source, Spec,
    slot::{ModelParameter, SlotList},
    type_probe::{Described, ResultSchema, TypeProbe},
};
use crate::{Dependency, InputSchema, OutputSchema, SchemaError};

/// The parameters of a function: those of the model and those of the program.
pub(crate) struct Description {
    pub(crate) input_schema: InputSchema,
    /// `true` if the schema has exactly the parameters of the model as properties, in order.
    pub(crate) is_flat: bool,
    /// A bit for each parameter filled by the model; at most 16.
    pub(crate) filled_by_model: u32,
    pub(crate) needs: Vec<Dependency>,
}

/// Describes a function by its `slots`, which are in the order of the parameters in `spec`.
pub(crate) fn describe(spec: &'static Spec, slots: SlotList<'_, '_>) -> Result<Description, SchemaError> {
    let mut needs: Vec<_> = spec.needs.iter().map(|needed| needed()).collect();
    let mut arguments = Vec::with_capacity(slots.len());
    let mut filled_by_model = 0;
    for (at, (slot, parameter)) in slots.iter().zip(spec.parameters).enumerate() {
        match slot.source() {
            Source::Call => {}
            Source::Program(needed) => needs.push(needed),
            Source::Model(argument) => {
                filled_by_model |= 1 << at;
                arguments.push((parameter, argument));
            }
        }
    }
    let mut seen = Vec::with_capacity(needs.len());
    needs.retain(|needed| {
        !seen.contains(needed) && {
            seen.push(*needed);
            true
        }
    });
    let (input_schema, is_flat) = match flat_schema(spec, &arguments) {
        Some(flat) => (InputSchema::flat(flat), true),
        None => (input_schema(spec, arguments)?, false),
    };
    Ok(Description { input_schema, is_flat, needs, filled_by_model })
}

/// Returns the schema of parameters that all have constant schemas.
fn flat_schema(spec: &Spec, arguments: &[(&'static Parameter, ModelParameter)]) -> Option<Flat> {
    if spec.input_override.is_some() || spec.ignore_unknown {
        return None;
    }
    let row = |(parameter, argument): &(&'static Parameter, ModelParameter)| {
        let has_default = argument.default.is_some() || argument.fills.is_some();
        let plain = argument.plain.filter(|_| !has_default && parameter.aliases.is_empty())?;
        let mut limits = Limits::default();
        let mut constraints = parameter.constraints.iter();
        constraints.try_for_each(|constraint| constraint.set_limit(plain, &mut limits))?;
        // The canonical form of the schema is an error, which names the bounds.
        if plain.admits_none(&limits) {
            return None;
        }
        let required = !argument.optional || parameter.constraints.iter().any(Constraint::is_required);
        Some(Row { name: parameter.name, description: parameter.description, plain, limits, required })
    };
    // A collected option would grow, and be copied.
    let mut rows = Vec::with_capacity(arguments.len());
    for argument in arguments {
        rows.push(row(argument)?);
    }
    Flat::new(rows)
}

/// Returns the schema of any other parameters.
fn input_schema(
    spec: &Spec,
    arguments: Vec<(&Parameter, ModelParameter)>,
) -> Result<InputSchema, SchemaError> {
    let mut generator = input_generator();
    let mut list = PropertyList::default();
    let mut whole = None;
    for (parameter, ModelParameter { schema, plain: _, optional, default, fills }) in arguments {
        let mut schema = schema(&mut generator);
        if parameter.whole {
            whole = Some(schema);
            continue;
        }
        list.check_name_is_new(parameter)?;
        if let Some(fills) = fills {
            schema.insert(FILLS.to_owned(), fills.into());
        }
        list.add(parameter, schema, optional, default);
    }
    let closing = if spec.ignore_unknown { Closing::Open } else { Closing::Closed };
    match (spec.input_override, whole) {
        (Some(make), _) => InputSchema::new(make().map_err(SchemaError::new)?),
        (None, Some(mut schema)) => {
            // A struct that is a tool has one doc comment for both.
            if schema.get("description").is_some_and(|said| said == spec.description) {
                schema.remove("description");
            }
            InputSchema::canonical(with_definitions(schema.to_value(), generator), closing, Vec::new())
        }
        (None, None) => {
            let given = std::mem::take(&mut list.written_values);
            InputSchema::canonical(with_definitions(list.into_root(), generator), closing, given)
        }
    }
}

/// The schema of a function's result.
pub struct Returned {
    pub schema: Option<OutputSchema>,
    pub is_stream: bool,
}

impl Returned {
    /// Creates the schema of a result that `describe` describes.
    pub fn described(describe: impl FnOnce(&mut Generator) -> Described) -> Self {
        let mut generator = Generator::default();
        let Described { schema, is_stream } = describe(&mut generator);
        let schema = match schema {
            None => None,
            Some(ResultSchema::Plain(plain)) => Some(OutputSchema::plain(plain)),
            Some(ResultSchema::Made(schema)) => {
                let value =
                    canonical_output(with_definitions(schema.to_value(), generator.into_schema_generator()));
                is_informative_schema(&value).then(|| OutputSchema::derived(value))
            }
        };
        Self { schema, is_stream }
    }
}

impl Returned {
    /// Creates the schema of a result that is serialised as a `T`.
    #[must_use]
    pub fn value<T: JsonSchema>() -> Self {
        Self::described(|generator| {
            TypeProbe::<T>::new()
                .describe_as(Some(ResultSchema::Made(generator.schema_generator().subschema_for::<T>())))
        })
    }
}

/// Returns `false` if the schema permits any value, or if there is no result.
fn is_informative_schema(schema: &Value) -> bool {
    *schema != true && *schema != json!({}) && *schema != json!({ "type": "null" })
}

/// The generator of the schemas of results, made on first use.
#[derive(Default)]
pub struct Generator(Option<SchemaGenerator>);

impl Generator {
    pub(super) fn schema_generator(&mut self) -> &mut SchemaGenerator {
        self.0.get_or_insert_with(output_generator)
    }

    fn into_schema_generator(self) -> SchemaGenerator {
        self.0.unwrap_or_else(output_generator)
    }
}

/// Describes the result of the function of `spec`.
pub(crate) fn describe_result(spec: &Spec) -> Result<Returned, SchemaError> {
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
struct PropertyList {
    names: HashSet<&'static str>,
    properties: Map<String, Value>,
    required: Vec<Value>,
    written_values: Vec<WrittenValue>,
}

impl PropertyList {
    /// Rejects duplicate names; the macro cannot detect them for constants.
    fn check_name_is_new(&mut self, parameter: &Parameter) -> Result<(), SchemaError> {
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
                self.written_values.push(WrittenValue { parameter: parameter.name, purpose, value });
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
        let mut root = Map::new();
        root.insert("type".to_owned(), "object".into());
        root.insert("properties".to_owned(), self.properties.into());
        if !self.required.is_empty() {
            root.insert("required".to_owned(), self.required.into());
        }
        Value::Object(root)
    }
}
