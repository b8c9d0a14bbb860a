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
    ImportProblem, ImportReport, body,
    found::FoundOperation,
    hint,
    input::InputSchemas,
    non_empty_text_member, parameter, response,
    response_schemas::ResponseSchemas,
    schema::{Components, Direction},
    security::{self, CredentialRemarks},
    server,
};
use crate::{
    OpenApiError,
    auth::ResolvedCredentials,
    client::OperationAccess,
    document::{DocumentPlace, Documents, FetchedLocation},
    request::{FormFields, PathTemplate, RequestPlan},
    settings::Settings,
    view::View,
};

/// The document, the settings and the components that the import of an operation reads.
pub(super) struct OperationReader<'d> {
    pub(super) documents: &'d Documents,
    pub(super) settings: &'d Settings,
    fetched: Option<FetchedLocation>,
    /// The first absolute server of the document, which relative ones belong to.
    absolute_server: Option<Url>,
    credentials: ResolvedCredentials,
    remarks: RefCell<CredentialRemarks>,
    requests: RefCell<Components<'d>>,
    responses: RefCell<Components<'d>>,
    inputs: RefCell<InputSchemas>,
    /// Output schemas by their text. Operations often have the same.
    outputs: RefCell<HashMap<String, OutputSchemaText>>,
    response_schemas: Arc<ResponseSchemas>,
}

/// The text of an output schema before components are added, and the size of these, in bytes of JSON.
#[derive(Clone)]
struct OutputSchemaText {
    text: Arc<str>,
    bytes: usize,
}

/// An operation that was read.
pub(crate) struct ImportedOperation {
    pub(crate) definition: ToolDefinition,
    pub(crate) path: Box<str>,
    pub(crate) plan: RequestPlan,
    pub(crate) access: OperationAccess,
    /// The declared schema of its responses.
    pub(crate) response_schema: Option<OutputSchema>,
    pub(crate) view: Option<View>,
}

/// A property of a tool's arguments.
pub(super) struct Property {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) required: bool,
}

impl<'d> OperationReader<'d> {
    pub(super) fn new(
        documents: &'d Documents,
        settings: &'d Settings,
        fetched: Option<FetchedLocation>,
        credentials: ResolvedCredentials,
        response_schemas: Arc<ResponseSchemas>,
    ) -> Self {
        Self {
            documents,
            settings,
            fetched,
            absolute_server: server::first_absolute_server(settings, documents.root_value().get("servers")),
            credentials,
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
            inputs: RefCell::new(InputSchemas::new(settings.definitions_limit)),
            outputs: RefCell::default(),
            response_schemas,
        }
    }

    /// Reports what is left out of the servers of the document.
    pub(super) fn warn_of_document_servers(&self, report: &mut ImportReport) {
        let parents = (self.fetched.as_ref().map(|it| &it.url), self.absolute_server.as_ref());
        server::warn_of_document_servers(
            self.settings,
            parents,
            self.documents.root_value().get("servers"),
            report,
        );
    }

    /// Reports the remarks about credentials, and returns the components of output schemas.
    ///
    /// # Errors
    ///
    /// If a credential was given for no origin.
    pub(super) fn into_output_components(
        self,
        report: &mut ImportReport,
    ) -> Result<Components<'d>, OpenApiError> {
        self.remarks.into_inner().report_remarks(report);
        for remark in self.credentials.into_final_remarks()? {
            report.warn_document(remark.code, remark.clause);
        }
        Ok(self.responses.into_inner())
    }

    /// Reads the operation under the name `name`.
    pub(super) fn read_operation(
        &self,
        found: &FoundOperation<'d>,
        name: ToolName,
        report: &mut ImportReport,
    ) -> Result<ImportedOperation, ImportProblem> {
        if !found.value.is_object() {
            return Err(ImportProblem::new(&found.place, "the operation is not an object"));
        }
        let method = Method::from_bytes(found.method.as_bytes()).map_err(|_| {
            ImportProblem::new(&found.place, format!("`{}` is not a method of HTTP", found.method))
        })?;
        let tool = name.to_string();
        self.inputs.borrow_mut().reset_pending_bytes();
        let mut requests = self.requests.borrow_mut();
        requests.set_current_path_item(&DocumentPlace::new(0, "/paths").at(found.path));
        let declared = parameter::declared_parameters(self, found, &tool, report)?;
        let path = PathTemplate::parse(found.path, &parameter::path_parameter_names(&declared))
            .map_err(|reason| ImportProblem::new(&found.place, reason))?;
        let body = body::declared_body(self, found, &tool, report)?;
        let (mut parameters, mut properties) = parameter::parameters_with_properties(
            self,
            declared,
            &path,
            body.is_some(),
            &mut requests,
            &tool,
            report,
        )?;
        parameter::add_undeclared_path_parameters(
            found,
            &path,
            (&mut parameters, &mut properties),
            &tool,
            report,
        );
        let body = match body {
            Some(body) => {
                let (body, property) = body.into_body_and_property(self, &mut requests, &tool, report)?;
                properties.push(property);
                Some(body)
            }
            None => None,
        };
        let root = arguments_schema(properties);
        let input = self.inputs.borrow_mut().input_schema_with_components(root, &requests);
        let input = input.map_err(|reason| ImportProblem::new(&found.place, reason))?;
        let base = self.base_url(found, &tool, report)?;
        let scope = (self.documents, &self.credentials);
        let authorization =
            security::read_authorization(scope, found, &tool, &base.url, &mut self.remarks.borrow_mut());
        security::note_replaced_parameters(&parameters, &authorization, &found.place, &tool, report);
        let mut metadata = self.metadata_of_method(found);
        hint::withdraw_overridable_method_hints(&mut metadata, &parameters, found, &tool, report);
        let server = self.settings.base_url.is_none().then_some(base.url.as_str());
        hint::record_request_in_metadata(&mut metadata, &method, found.path, server);
        let mut definition =
            self.definition_with_texts(found, name, input.schema, &metadata)?.with_metadata(metadata);
        hint::warn_of_hidden_characters(&definition, input.has_hidden_text, found, report);
        let response_schema = self.response_schema(found, &tool, report)?;
        // The document declares no schema of the members that a view leaves.
        let view = self.settings.calls.operation_view(found.id(), &tool).cloned();
        if let (Some(response_schema), None) = (&response_schema, &view) {
            definition = definition.with_output_schema(response_schema.clone());
        }
        let access = OperationAccess { is_guarded: base.is_guarded, authorization };
        let plan = RequestPlan { method, base: base.url, path, parameters, body };
        Ok(ImportedOperation { definition, path: found.path.into(), plan, access, response_schema, view })
    }

    /// Adds the properties of a form, which each operation has for itself, to the size of its definition.
    pub(super) fn add_size_of_form_fields(
        &self,
        fields: &FormFields,
        place: &DocumentPlace,
    ) -> Result<(), ImportProblem> {
        self.inputs
            .borrow_mut()
            .add_pending_bytes_within_limit(fields.memory_bytes())
            .map_err(|reason| ImportProblem::new(place, reason))
    }

    /// Adds an operation that was read to the sum of all definitions.
    pub(super) fn commit_pending_bytes(&self) {
        self.inputs.borrow_mut().commit_pending_bytes();
    }

    /// Returns the schema of the responses of the operation, which is made when it is first needed.
    fn response_schema(
        &self,
        found: &FoundOperation<'d>,
        tool: &str,
        report: &mut ImportReport,
    ) -> Result<Option<OutputSchema>, ImportProblem> {
        let mut responses = self.responses.borrow_mut();
        responses.set_current_path_item(&DocumentPlace::new(0, "/paths").at(found.path));
        let Some(root) = response::response_schema(self, found, &mut responses, tool, report)? else {
            return Ok(None);
        };
        let text = root.to_string();
        let mut outputs = self.outputs.borrow_mut();
        let output = outputs.entry(text).or_insert_with_key(|text| {
            let referred = responses.root_component_of_reference(&root);
            let text = referred.map_or_else(|| text.as_str().into(), |it| it.to_string().into());
            OutputSchemaText { bytes: responses.response_component_bytes(referred.unwrap_or(&root)), text }
        });
        let OutputSchemaText { text, bytes } = output.clone();
        let charged = self.inputs.borrow_mut().add_pending_bytes_within_limit(text.len() + bytes);
        charged.map_err(|reason| ImportProblem::new(&found.place, reason))?;
        let response_schemas = Arc::clone(&self.response_schemas);
        Ok(Some(OutputSchema::deferred(move || response_schemas.assemble_schema(&text))))
    }

    /// Returns the definition with the title and the description of the operation, which other paths may share.
    fn definition_with_texts(
        &self,
        found: &FoundOperation<'d>,
        name: ToolName,
        input: InputSchema,
        metadata: &Metadata,
    ) -> Result<ToolDefinition, ImportProblem> {
        let title = non_empty_text_member(found.value, "summary").or_else(|| found.id()).unwrap_or_default();
        let description = description_text(found);
        let texts = metadata.custom.values().filter_map(Value::as_str).map(str::len);
        let texts = texts.chain(metadata.tags.iter().map(|it| it.len())).sum::<usize>();
        let charged =
            self.inputs.borrow_mut().add_pending_bytes_within_limit(title.len() + description.len() + texts);
        charged.map_err(|reason| ImportProblem::new(&found.place, reason))?;
        let definition = ToolDefinition::new(name, description, input);
        Ok(if title.is_empty() { definition } else { definition.with_title(title.to_owned()) })
    }

    fn base_url(
        &self,
        found: &FoundOperation<'d>,
        tool: &str,
        report: &mut ImportReport,
    ) -> Result<server::ServerBase, ImportProblem> {
        let lists = [
            (found.place.at("servers"), found.value.get("servers")),
            (found.item_place.at("servers"), found.item.get("servers")),
            (DocumentPlace::new(0, "/servers"), self.documents.root_value().get("servers")),
        ];
        let parents = (self.fetched.as_ref(), self.absolute_server.as_ref());
        server::server_base(self.settings, parents, lists, (tool, report))
    }

    /// Hints by the method ([RFC 9110, section 9.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2)).
    fn metadata_of_method(&self, found: &FoundOperation<'d>) -> Metadata {
        let is_safe = matches!(&*found.method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY");
        let is_idempotent = is_safe || matches!(&*found.method, "PUT" | "DELETE");
        let described = found.operation_info();
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

fn description_text(found: &FoundOperation<'_>) -> String {
    let text = non_empty_text_member(found.value, "description")
        .or_else(|| non_empty_text_member(found.value, "summary"));
    let text = text.map_or_else(|| format!("{} {}", found.method, found.path), str::to_owned);
    match found.operation_info().deprecated {
        true => format!("Deprecated. {text}"),
        false => text,
    }
}

/// The schema of an object with `properties`.
fn arguments_schema(properties: Vec<Property>) -> Value {
    let required: Vec<_> = properties.iter().filter(|it| it.required).map(|it| it.name.clone()).collect();
    let properties: Map<_, _> = properties.into_iter().map(|it| (it.name, it.schema)).collect();
    let mut root = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        root["required"] = json!(required);
    }
    root["additionalProperties"] = Value::Bool(false);
    root
}
