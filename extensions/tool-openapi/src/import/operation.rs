//! One operation as a tool.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use reqwest::{Method, Url};
use serde_json::{Map, Value, json};
use tool_runtime::{
    ToolDefinition, ToolName,
    definition::Metadata,
    schema::{InputSchema, OutputSchema},
};

use super::{
    Problem, Report, body, hint,
    input::Inputs,
    parameter, response,
    schema::{Components, Direction},
    security::{self, Remarks},
    server, text,
};
use crate::{
    OpenApiError, OperationInfo,
    auth::Granted,
    client::Access,
    document::{Documents, Fetched, Place, kind},
    request::{Fields, PathTemplate, Plan},
    response::{Shapes, View},
    settings::Settings,
};

/// The methods of a path item, in the order of the specification.
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// The maximum length of a path, in bytes: each name, pointer and message of its operations has it.
const LONGEST_PATH: usize = 1 << 10;

/// The maximum number of methods of a path that have no member of their own.
const MOST_OTHERS: usize = 16;

/// An operation in its document.
pub(super) struct Found<'d> {
    pub(super) method: String,
    pub(super) path: &'d str,
    pub(super) place: Place,
    pub(super) value: &'d Value,
    pub(super) item: &'d Value,
    pub(super) item_place: Place,
}

impl Found<'_> {
    pub(super) fn id(&self) -> Option<&str> {
        text(self.value, "operationId")
    }

    /// The id, or else method and path.
    pub(super) fn label(&self) -> String {
        self.id().map_or_else(|| format!("{} {}", self.method, self.path), str::to_owned)
    }

    pub(super) fn described(&self) -> OperationInfo<'_> {
        let tags = self.value.get("tags").and_then(Value::as_array);
        OperationInfo {
            id: self.id(),
            method: &self.method,
            path: self.path,
            tags: tags.into_iter().flatten().filter_map(Value::as_str).collect(),
            deprecated: self.value.get("deprecated") == Some(&Value::Bool(true)),
        }
    }
}

/// Returns the operations of a document.
pub(super) fn all<'d>(documents: &'d Documents, report: &mut Report) -> Vec<Found<'d>> {
    let place = Place::new(0, "/paths");
    let mut found = Vec::new();
    let paths = documents.root().get("paths");
    if let Some(paths) = paths.filter(|it| !it.is_object()) {
        let message = format!("`paths` is {}, and not an object: there are no operations", kind(paths));
        report.warn("paths", "", &place, message);
    }
    let paths = paths.and_then(Value::as_object);
    for (path, item) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
        let (item_place, item) = match item_of(documents, &place, path, item) {
            Ok(resolved) => resolved,
            Err(reason) => {
                report.skip_value(beginning(path), &place.at(beginning(path)), reason);
                continue;
            }
        };
        let mut add = |method: &str, place: Place, value: &'d Value| {
            let method = method.to_owned();
            found.push(Found { method, path, place, value, item, item_place: item_place.clone() });
        };
        for method in METHODS {
            if let Some(value) = item.get(method) {
                add(&method.to_ascii_uppercase(), item_place.at(method), value);
            }
        }
        // Version 3.2: methods that have no member of their own.
        let others = item.get("additionalOperations").and_then(Value::as_object);
        let place = item_place.at("additionalOperations");
        for (method, value) in others.into_iter().flatten().take(MOST_OTHERS) {
            add(method, place.at(method), value);
        }
        if let Some(more) = others.map_or(0, Map::len).checked_sub(MOST_OTHERS).filter(|more| *more > 0) {
            let reason = format!("{more} more methods of the path; at most {MOST_OTHERS} are carried");
            report.skip_value(path, &place, reason);
        }
    }
    found
}

/// The path item of `path`; an error is the reason why it has no operations.
fn item_of<'d>(
    documents: &'d Documents,
    paths: &Place,
    path: &str,
    item: &'d Value,
) -> Result<(Place, &'d Value), String> {
    if path.len() > LONGEST_PATH {
        return Err(format!("the path has {} bytes; at most {LONGEST_PATH} are carried", path.len()));
    }
    let (place, item) = documents.resolved(paths.at(path), item).map_err(|reason| reason.to_string())?;
    if !item.is_object() {
        return Err(format!("the path item is {}, and not an object", kind(item)));
    }
    Ok((place, item))
}

/// The path, or its beginning if it is too long.
fn beginning(path: &str) -> &str {
    const BEGINNING: usize = 200;
    if path.len() <= LONGEST_PATH {
        return path;
    }
    let end = (0..=BEGINNING).rev().find(|at| path.is_char_boundary(*at)).unwrap_or(0);
    &path[..end]
}

/// The document, the settings and the components that the import of an operation reads.
pub(super) struct Reading<'d> {
    pub(super) documents: &'d Documents,
    pub(super) settings: &'d Settings,
    fetched: Option<Fetched>,
    /// The first absolute server of the document, which relative ones belong to.
    absolute_server: Option<Url>,
    granted: Granted,
    remarks: RefCell<Remarks>,
    requests: RefCell<Components<'d>>,
    responses: RefCell<Components<'d>>,
    inputs: RefCell<Inputs>,
    /// Output schemas by their text. Operations often have the same.
    outputs: RefCell<HashMap<String, Output>>,
    shapes: Arc<Shapes>,
}

/// The text of an output schema before components are added, and the size of these, in bytes of JSON.
#[derive(Clone)]
struct Output {
    text: Arc<str>,
    bytes: usize,
}

/// An operation that was read.
pub(crate) struct Read {
    pub(crate) definition: ToolDefinition,
    pub(crate) path: Box<str>,
    pub(crate) plan: Plan,
    pub(crate) access: Access,
    /// The declared schema of its responses.
    pub(crate) shape: Option<OutputSchema>,
    pub(crate) view: Option<View>,
}

/// A property of a tool's arguments.
pub(super) struct Property {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) required: bool,
}

impl<'d> Reading<'d> {
    pub(super) fn new(
        documents: &'d Documents,
        settings: &'d Settings,
        fetched: Option<Fetched>,
        granted: Granted,
        shapes: Arc<Shapes>,
    ) -> Self {
        Self {
            documents,
            settings,
            fetched,
            absolute_server: server::absolute(settings, documents.root().get("servers")),
            granted,
            remarks: RefCell::default(),
            requests: RefCell::new(Components::new(
                documents,
                Direction::Request,
                settings.definitions_limit,
            )),
            responses: RefCell::new(Components::new(
                documents,
                Direction::Response,
                settings.definitions_limit,
            )),
            inputs: RefCell::new(Inputs::new(settings.definitions_limit)),
            outputs: RefCell::default(),
            shapes,
        }
    }

    /// Reports what is left out of the servers of the document.
    pub(super) fn warn_of_servers(&self, report: &mut Report) {
        let parents = (self.fetched.as_ref().map(|it| &it.url), self.absolute_server.as_ref());
        server::warn_document(self.settings, parents, self.documents.root().get("servers"), report);
    }

    /// Reports the remarks about credentials, and returns the components of output schemas.
    ///
    /// # Errors
    ///
    /// If a credential was given for no origin.
    pub(super) fn finish(self, report: &mut Report) -> Result<Components<'d>, OpenApiError> {
        self.remarks.into_inner().report(report);
        for remark in self.granted.finish()? {
            report.warn_document(remark.code, remark.clause);
        }
        Ok(self.responses.into_inner())
    }

    /// Reads the operation under the name `name`.
    pub(super) fn operation(
        &self,
        found: &Found<'d>,
        name: ToolName,
        report: &mut Report,
    ) -> Result<Read, Problem> {
        if !found.value.is_object() {
            return Err(Problem::new(&found.place, "the operation is not an object"));
        }
        let method = Method::from_bytes(found.method.as_bytes())
            .map_err(|_| Problem::new(&found.place, format!("`{}` is not a method of HTTP", found.method)))?;
        let tool = name.to_string();
        self.inputs.borrow_mut().begin();
        let mut requests = self.requests.borrow_mut();
        requests.begin(&Place::new(0, "/paths").at(found.path));
        let declared = parameter::all(self, found, &tool, report)?;
        let path = PathTemplate::parse(found.path, &parameter::path_names(&declared))
            .map_err(|reason| Problem::new(&found.place, reason))?;
        let body = body::read(self, found, &tool, report)?;
        let (mut parameters, mut properties) =
            parameter::named(self, declared, &path, body.is_some(), &mut requests, &tool, report)?;
        parameter::undeclared(found, &path, (&mut parameters, &mut properties), &tool, report);
        let body = match body {
            Some(body) => {
                let (body, property) = body.imported(self, &mut requests, &tool, report)?;
                properties.push(property);
                Some(body)
            }
            None => None,
        };
        let root = arguments(properties);
        let input = self.inputs.borrow_mut().schema(root, &requests);
        let input = input.map_err(|reason| Problem::new(&found.place, reason))?;
        drop(requests);
        let base = self.base(found, &tool, report)?;
        let scope = (self.documents, &self.granted);
        let authorization = security::read(scope, found, &tool, &base.url, &mut self.remarks.borrow_mut());
        security::note_replaced(&parameters, &authorization, &found.place, &tool, report);
        let mut metadata = self.metadata(found);
        hint::of_override(&mut metadata, &parameters, found, &tool, report);
        let server = self.settings.base_url.is_none().then_some(base.url.as_str());
        hint::of_request(&mut metadata, &method, found.path, server);
        let mut definition = self.described(found, name, input.schema, &metadata)?.with_metadata(metadata);
        hint::of_hidden(&definition, input.hides, found, report);
        let shape = self.output(found, &tool, report)?;
        // The document declares no schema of the members that a view leaves.
        let view = self.settings.calls.view(found.id(), &tool).cloned();
        if let (Some(shape), None) = (&shape, &view) {
            definition = definition.with_output_schema(shape.clone());
        }
        let access = Access { is_guarded: base.is_guarded, authorization };
        let plan = Plan { method, base: base.url, path, parameters, body };
        Ok(Read { definition, path: found.path.into(), plan, access, shape, view })
    }

    /// Adds the properties of a form, which each operation has for itself, to the size of its definition.
    pub(super) fn charge(&self, fields: &Fields, place: &Place) -> Result<(), Problem> {
        self.inputs.borrow_mut().charge(fields.bytes()).map_err(|reason| Problem::new(place, reason))
    }

    /// Adds an operation that was read to the sum of all definitions.
    pub(super) fn commit(&self) {
        self.inputs.borrow_mut().commit();
    }

    /// Returns the schema of the responses of the operation, which is made when it is first needed.
    fn output(
        &self,
        found: &Found<'d>,
        tool: &str,
        report: &mut Report,
    ) -> Result<Option<OutputSchema>, Problem> {
        let mut responses = self.responses.borrow_mut();
        responses.begin(&Place::new(0, "/paths").at(found.path));
        let Some(root) = response::read(self, found, &mut responses, tool, report)? else { return Ok(None) };
        let text = root.to_string();
        let mut outputs = self.outputs.borrow_mut();
        let output = outputs.entry(text).or_insert_with_key(|text| {
            let referred = responses.referred_root(&root);
            let text = referred.map_or_else(|| text.as_str().into(), |it| it.to_string().into());
            Output { bytes: responses.response_bytes(referred.unwrap_or(&root)), text }
        });
        let Output { text, bytes } = output.clone();
        let charged = self.inputs.borrow_mut().charge(text.len() + bytes);
        charged.map_err(|reason| Problem::new(&found.place, reason))?;
        let shapes = Arc::clone(&self.shapes);
        Ok(Some(OutputSchema::deferred(move || shapes.assembled(&text))))
    }

    /// Returns the definition with the title and the description of the operation, which other paths may share.
    fn described(
        &self,
        found: &Found<'d>,
        name: ToolName,
        input: InputSchema,
        metadata: &Metadata,
    ) -> Result<ToolDefinition, Problem> {
        let title = text(found.value, "summary").or_else(|| found.id()).unwrap_or_default();
        let description = description(found);
        let texts = metadata.custom.values().filter_map(Value::as_str).map(str::len);
        let texts = texts.chain(metadata.tags.iter().map(|it| it.len())).sum::<usize>();
        let charged = self.inputs.borrow_mut().charge(title.len() + description.len() + texts);
        charged.map_err(|reason| Problem::new(&found.place, reason))?;
        let definition = ToolDefinition::new(name, description, input);
        Ok(if title.is_empty() { definition } else { definition.with_title(title.to_owned()) })
    }

    fn base(&self, found: &Found<'d>, tool: &str, report: &mut Report) -> Result<server::Base, Problem> {
        let lists = [
            (found.place.at("servers"), found.value.get("servers")),
            (found.item_place.at("servers"), found.item.get("servers")),
            (Place::new(0, "/servers"), self.documents.root().get("servers")),
        ];
        let parents = (self.fetched.as_ref(), self.absolute_server.as_ref());
        server::base(self.settings, parents, lists, (tool, report))
    }

    /// Hints by the method ([RFC 9110, section 9.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2)).
    fn metadata(&self, found: &Found<'d>) -> Metadata {
        let is_safe = matches!(&*found.method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY");
        let is_idempotent = is_safe || matches!(&*found.method, "PUT" | "DELETE");
        let described = found.described();
        let mut custom = Map::new();
        if described.deprecated {
            custom.insert("deprecated".to_owned(), Value::Bool(true));
        }
        Metadata {
            read_only: Some(is_safe),
            // A method that changes something may destroy something, too.
            destructive: match &*found.method {
                "DELETE" => Some(true),
                _ => is_safe.then_some(false),
            },
            idempotent: Some(is_idempotent),
            open_world: Some(true),
            tags: described.tags.iter().map(|tag| (*tag).to_owned().into()).collect(),
            custom,
            ..Metadata::default()
        }
    }
}

fn description(found: &Found<'_>) -> String {
    let text = text(found.value, "description").or_else(|| text(found.value, "summary"));
    let text = text.map_or_else(|| format!("{} {}", found.method, found.path), str::to_owned);
    match found.described().deprecated {
        true => format!("Deprecated. {text}"),
        false => text,
    }
}

/// The schema of an object with `properties`.
fn arguments(properties: Vec<Property>) -> Value {
    let required: Vec<_> = properties.iter().filter(|it| it.required).map(|it| it.name.clone()).collect();
    let properties: Map<_, _> = properties.into_iter().map(|it| (it.name, it.schema)).collect();
    let mut root = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        root["required"] = json!(required);
    }
    root["additionalProperties"] = Value::Bool(false);
    root
}
