//! Swagger 2.0 as OpenAPI 3.0.
//!
//! Only what has another shape is converted: servers, security schemes, and each operation's parameters, body and
//! responses. Schemas stay where they are, and the converted operations refer to them, so that a diagnostic has the pointer into
//! the document as it was written. The conversion works on a value, as the import does: a typed model refuses the documents that
//! have mistakes.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{DocumentPlace, Documents, MAX_PARAMETERS, UnresolvedReference, pointer_token};

/// The methods of a path item of version 2.0.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// The members of an operation that have the same shape in version 3.0.
const UNCHANGED_MEMBERS: [&str; 6] =
    ["operationId", "summary", "description", "tags", "deprecated", "security"];

/// A converted document.
pub(super) struct SwaggerConversion {
    pub(super) root: Value,
    /// The places of the original by pointers of the converted document.
    pub(super) moved: HashMap<String, DocumentPlace>,
    /// References that lead nowhere.
    pub(super) broken: HashMap<String, UnresolvedReference>,
}

/// Converts the document at `main`. `scheme` is the one of the URL that it was fetched from.
pub(super) fn convert_swagger(documents: &Documents, main: usize, scheme: Option<&str>) -> SwaggerConversion {
    let root = documents.get(&DocumentPlace::new(main, "")).unwrap_or(&Value::Null);
    let (moved, broken) = (HashMap::new(), HashMap::new());
    let mut converter = SwaggerConverter { documents, root, main, scheme, moved, broken };
    let paths = converter.convert_paths();
    let mut new = Map::new();
    new.insert("openapi".to_owned(), Value::from("3.0.4"));
    for key in ["info", "security", "tags"] {
        new.extend(root.get(key).map(|it| (key.to_owned(), it.clone())));
    }
    new.insert("servers".to_owned(), converter.convert_servers(root.get("schemes")));
    new.insert("paths".to_owned(), paths);
    let schemes = converter.convert_security_schemes();
    new.insert("components".to_owned(), json!({ "securitySchemes": schemes }));
    SwaggerConversion { root: Value::Object(new), moved: converter.moved, broken: converter.broken }
}

/// The reference of a converted document to `place`.
fn reference_to(place: &DocumentPlace) -> Value {
    json!({ "$ref": format!("{}:#{}", place.file, place.pointer.replace('%', "%25")) })
}

struct SwaggerConverter<'d> {
    documents: &'d Documents,
    root: &'d Value,
    main: usize,
    scheme: Option<&'d str>,
    moved: HashMap<String, DocumentPlace>,
    broken: HashMap<String, UnresolvedReference>,
}

/// A parameter in its document.
#[derive(Clone)]
struct SwaggerParameter<'d> {
    place: DocumentPlace,
    value: &'d Value,
}

impl<'d> SwaggerParameter<'d> {
    fn text_member_or_empty(&self, key: &str) -> &'d str {
        self.value.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn is_body(&self) -> bool {
        self.text_member_or_empty("in") == "body"
    }

    fn is_required(&self) -> bool {
        self.value.get("required") == Some(&Value::Bool(true))
    }

    fn is_list(&self) -> bool {
        self.text_member_or_empty("type") == "array"
    }

    /// The style of a list in a query or a form, and whether its items are repeated.
    fn list_style_and_explode(&self) -> (&'static str, bool) {
        match (self.text_member_or_empty("in"), self.text_member_or_empty("collectionFormat")) {
            ("path" | "header", "" | "csv" | "multi") => ("simple", false),
            (_, "" | "csv") => ("form", false),
            (_, "multi") => ("form", true),
            (_, "ssv") => ("spaceDelimited", false),
            (_, "pipes") => ("pipeDelimited", false),
            _ => ("tabDelimited", false),
        }
    }

    /// The schema: the members of the parameter that are keywords.
    fn parameter_schema(&self) -> Value {
        const OTHERS: [&str; 6] =
            ["name", "in", "required", "description", "collectionFormat", "allowEmptyValue"];
        if self.value.get("schema").is_some() {
            return reference_to(&self.place.at("schema"));
        }
        // The items of a list may refer to a schema, relative to the file of the parameter.
        if has_reference(self.value) {
            return reference_to(&self.place);
        }
        let is_keyword =
            |key: &str| !OTHERS.contains(&key) && (!key.starts_with("x-") || key == "x-nullable");
        let members = self.value.as_object().into_iter().flatten().filter(|(key, _)| is_keyword(key));
        Value::Object(members.map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

fn has_reference(value: &Value) -> bool {
    value.as_object().is_some_and(|it| {
        it.get("$ref").is_some_and(Value::is_string) || it.get("items").is_some_and(has_reference)
    })
}

fn string_items(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

impl<'d> SwaggerConverter<'d> {
    fn convert_servers(&self, schemes: Option<&Value>) -> Value {
        let text = |key: &str| self.root.get(key).and_then(Value::as_str).unwrap_or_default();
        let base = text("basePath").trim_matches('/');
        let base = if base.is_empty() { String::new() } else { format!("/{base}") };
        let host = text("host").trim_end_matches('/');
        if host.is_empty() {
            return json!([{ "url": if base.is_empty() { "/" } else { &*base } }]);
        }
        // Commonly written, though `host` has no scheme.
        if host.contains("://") {
            return json!([{ "url": format!("{host}{base}") }]);
        }
        let mut schemes: Vec<_> =
            string_items(schemes).into_iter().filter(|it| it.starts_with("http")).collect();
        if schemes.is_empty() {
            schemes.push(self.scheme.unwrap_or("https"));
        }
        schemes.sort_by_key(|it| *it != "https");
        schemes.into_iter().map(|scheme| json!({ "url": format!("{scheme}://{host}{base}") })).collect()
    }

    fn convert_security_schemes(&mut self) -> Value {
        let all = self.root.get("securityDefinitions").and_then(Value::as_object);
        let place = DocumentPlace::new(self.main, "/securityDefinitions");
        self.moved.insert("/components/securitySchemes".to_owned(), place);
        let converted = all.into_iter().flatten().map(|(name, scheme)| {
            let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
            let converted = match text("type") {
                "basic" => json!({ "type": "http", "scheme": "basic" }),
                "oauth2" => {
                    let flow = match text("flow") {
                        "application" => "clientCredentials",
                        "accessCode" => "authorizationCode",
                        other => other,
                    };
                    let mut members = Map::new();
                    for key in ["authorizationUrl", "tokenUrl", "scopes"] {
                        members.extend(scheme.get(key).map(|it| (key.to_owned(), it.clone())));
                    }
                    json!({ "type": "oauth2", "flows": { flow: members } })
                }
                _ => scheme.clone(),
            };
            (name.clone(), converted)
        });
        Value::Object(converted.collect())
    }

    fn convert_paths(&mut self) -> Value {
        let (place, mut new) = (DocumentPlace::new(self.main, "/paths"), Map::new());
        let paths = self.root.get("paths").and_then(Value::as_object);
        for (path, item) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
            let at = format!("/paths/{}", pointer_token(path));
            let (item_place, item) = match self.documents.follow_references(place.at(path), item) {
                Ok(resolved) => resolved,
                Err(reason) => {
                    new.insert(path.clone(), self.record_broken_reference(item, reason));
                    continue;
                }
            };
            let mut converted = Map::new();
            for method in METHODS {
                let Some(operation) = item.get(method) else { continue };
                let at = format!("{at}/{method}");
                let operation =
                    self.convert_operation(&at, &item_place, item, &item_place.at(method), operation);
                converted.insert(method.to_owned(), operation);
            }
            self.moved.insert(at, item_place);
            new.insert(path.clone(), Value::Object(converted));
        }
        Value::Object(new)
    }

    /// A reference that leads nowhere, also in the converted document.
    fn record_broken_reference(&mut self, value: &Value, reason: UnresolvedReference) -> Value {
        let reference = value.get("$ref").and_then(Value::as_str).unwrap_or_default();
        if let Some(name) = reference.split('#').next().filter(|it| !it.is_empty()) {
            self.broken.insert(name.to_owned(), reason);
        }
        json!({ "$ref": reference })
    }

    fn convert_operation(
        &mut self,
        at: &str,
        item_place: &DocumentPlace,
        item: &'d Value,
        place: &DocumentPlace,
        operation: &'d Value,
    ) -> Value {
        self.moved.insert(at.to_owned(), place.clone());
        let Value::Object(members) = operation else { return operation.clone() };
        let mut new = Map::new();
        for key in UNCHANGED_MEMBERS {
            new.extend(members.get(key).map(|it| (key.to_owned(), it.clone())));
        }
        if let Some(schemes) = members.get("schemes").filter(|_| self.root.get("host").is_some()) {
            new.insert("servers".to_owned(), self.convert_servers(Some(schemes)));
        }
        let (mut parameters, mut broken) = (Vec::new(), Vec::new());
        for (place, owner) in [(item_place, item), (place, operation)] {
            match owner.get("parameters") {
                None | Some(Value::Null) => {}
                Some(Value::Array(list)) if list.len() <= MAX_PARAMETERS => {
                    self.add_or_replace_parameters(
                        &place.at("parameters"),
                        list,
                        &mut parameters,
                        &mut broken,
                    );
                }
                // The import reports that this is not a list, or too long.
                Some(other) => {
                    new.insert("parameters".to_owned(), other.clone());
                    return Value::Object(new);
                }
            }
        }
        let (fields, others): (Vec<_>, Vec<_>) = parameters
            .into_iter()
            .partition(|it| it.is_body() || it.text_member_or_empty("in") == "formData");
        let consumes = string_items(members.get("consumes").or_else(|| self.root.get("consumes")));
        if !fields.is_empty() {
            new.insert("requestBody".to_owned(), self.convert_body(at, &fields, &consumes));
        }
        for parameter in others {
            let at = format!("{at}/parameters/{}", broken.len());
            broken.push(self.convert_parameter(&at, &parameter));
        }
        new.insert("parameters".to_owned(), Value::Array(broken));
        let produces = string_items(members.get("produces").or_else(|| self.root.get("produces")));
        if let Some(Value::Object(responses)) = members.get("responses") {
            let responses = self.convert_responses(at, &place.at("responses"), responses, &produces);
            new.insert("responses".to_owned(), responses);
        }
        Value::Object(new)
    }

    /// Adds the parameters of a list; one of the operation replaces one of its path.
    fn add_or_replace_parameters(
        &mut self,
        place: &DocumentPlace,
        list: &'d [Value],
        all: &mut Vec<SwaggerParameter<'d>>,
        broken: &mut Vec<Value>,
    ) {
        let inherited = all.len();
        for (at, value) in list.iter().enumerate() {
            let (place, value) = match self.documents.follow_references(place.at(&at.to_string()), value) {
                Ok(resolved) => resolved,
                Err(reason) => {
                    broken.push(self.record_broken_reference(value, reason));
                    continue;
                }
            };
            let new = SwaggerParameter { place, value };
            let is_same = |it: &SwaggerParameter<'_>| {
                it.text_member_or_empty("in") == new.text_member_or_empty("in")
                    && (new.is_body() || it.text_member_or_empty("name") == new.text_member_or_empty("name"))
            };
            match all.iter_mut().take(inherited).find(|it| is_same(it)) {
                Some(shared) => *shared = new,
                None => all.push(new),
            }
        }
    }

    fn convert_parameter(&mut self, at: &str, parameter: &SwaggerParameter<'d>) -> Value {
        self.moved.insert(at.to_owned(), parameter.place.clone());
        self.moved.insert(format!("{at}/schema"), parameter.place.clone());
        let mut new = Map::new();
        for key in ["name", "in", "required", "description", "allowEmptyValue"] {
            new.extend(parameter.value.get(key).map(|it| (key.to_owned(), it.clone())));
        }
        new.insert("schema".to_owned(), parameter.parameter_schema());
        if parameter.is_list() {
            let (style, explode) = parameter.list_style_and_explode();
            new.insert("style".to_owned(), Value::from(style));
            new.insert("explode".to_owned(), Value::from(explode));
        }
        Value::Object(new)
    }

    /// The request body: the parameter in the body, or else the fields of a form.
    fn convert_body(&mut self, at: &str, fields: &[SwaggerParameter<'d>], consumes: &[&str]) -> Value {
        let at = format!("{at}/requestBody");
        let Some(body) = fields.iter().find(|it| it.is_body()) else {
            return self.convert_form(&at, fields, consumes);
        };
        self.moved.insert(at, body.place.clone());
        let media_types = if consumes.is_empty() { &["application/json"] } else { consumes };
        let schema = body.parameter_schema();
        let content: Map<_, _> =
            media_types.iter().map(|it| ((*it).to_owned(), json!({ "schema": schema }))).collect();
        json!({ "description": body.text_member_or_empty("description"), "required": body.is_required(), "content": content })
    }

    fn convert_form(&mut self, at: &str, fields: &[SwaggerParameter<'d>], consumes: &[&str]) -> Value {
        const FORMS: [&str; 2] = ["multipart/form-data", "application/x-www-form-urlencoded"];
        let has_file = fields.iter().any(|it| it.text_member_or_empty("type") == "file");
        let known: Vec<_> = consumes.iter().filter(|it| FORMS.contains(it)).copied().collect();
        let media_types = match (&*known, has_file) {
            (_, true) => vec![FORMS[0]],
            ([], false) => vec![FORMS[1]],
            (known, false) => known.to_vec(),
        };
        let (mut properties, mut encoding, mut required) = (Map::new(), Map::new(), Vec::new());
        for field in fields {
            let mut schema = field.parameter_schema();
            if let (Value::Object(schema), Some(text)) = (&mut schema, field.value.get("description")) {
                schema.insert("description".to_owned(), text.clone());
            }
            let name = field.text_member_or_empty("name").to_owned();
            if field.is_list() {
                let (style, explode) = field.list_style_and_explode();
                encoding.insert(name.clone(), json!({ "style": style, "explode": explode }));
            }
            if field.is_required() {
                required.push(Value::from(&*name));
            }
            for media_type in &media_types {
                let media_type = pointer_token(media_type);
                let at = format!("{at}/content/{media_type}/schema/properties/{}", pointer_token(&name));
                self.moved.insert(at, field.place.clone());
            }
            properties.insert(name, schema);
        }
        let is_required = !required.is_empty();
        let content = json!({
            "schema": { "type": "object", "properties": properties, "required": required },
            "encoding": encoding,
        });
        let content: Map<_, _> = media_types.into_iter().map(|it| (it.to_owned(), content.clone())).collect();
        json!({ "required": is_required, "content": content })
    }

    fn convert_responses(
        &mut self,
        at: &str,
        place: &DocumentPlace,
        responses: &'d Map<String, Value>,
        produces: &[&str],
    ) -> Value {
        let media_types = if produces.is_empty() { &["application/json"] } else { produces };
        let mut new = Map::new();
        for (status, response) in responses {
            let (place, response) = match self.documents.follow_references(place.at(status), response) {
                Ok(resolved) => resolved,
                Err(reason) => {
                    new.insert(status.clone(), self.record_broken_reference(response, reason));
                    continue;
                }
            };
            let mut converted = Map::new();
            if let Some(schema) = response.get("schema") {
                let is_file = schema.get("type").is_some_and(|it| it == "file");
                let schema = reference_to(&place.at("schema"));
                let content: Map<_, _> = match is_file {
                    true => [("application/octet-stream".to_owned(), json!({}))].into_iter().collect(),
                    false => {
                        media_types.iter().map(|it| ((*it).to_owned(), json!({ "schema": schema }))).collect()
                    }
                };
                converted.insert("content".to_owned(), Value::Object(content));
            }
            self.moved.insert(format!("{at}/responses/{}", pointer_token(status)), place);
            new.insert(status.clone(), Value::Object(converted));
        }
        Value::Object(new)
    }
}
