use serde_json::{Value, json};

use super::{Document, DocumentPlace, Documents};

/// A document of version 2.0 that has each kind of member that is converted.
fn swagger() -> Documents {
    let limit = json!({ "name": "limit", "in": "query", "type": "string" });
    let item = json!({
        "parameters": [
            { "name": "id", "in": "path", "required": true, "type": "string" },
            { "$ref": "#/parameters/Limit" },
        ],
        "get": {
            "operationId": "get", "summary": "One", "description": "One pet.", "tags": ["pets"], "deprecated": true,
            "security": [], "schemes": ["http"], "produces": ["text/csv"], "x-own": 1,
            "parameters": [
                {
                    "name": "limit", "in": "query", "type": "integer", "description": "At most.",
                    "required": false, "allowEmptyValue": true, "x-nullable": true, "x-own": 1,
                },
                { "name": "ids", "in": "query", "type": "array", "items": { "$ref": "#/definitions/Id" }, "collectionFormat": "pipes" },
                { "name": "X-Ids", "in": "header", "type": "array", "items": { "type": "string" }, "collectionFormat": "csv" },
                { "$ref": "#/parameters/None" },
            ],
            "responses": {
                "200": { "description": "It.", "schema": { "type": "array" } },
                "404": { "$ref": "#/responses/Gone" },
                "410": { "$ref": "#/responses/None" },
                "default": { "schema": { "type": "file" } },
            },
        },
        "put": {
            "parameters": [{ "name": "pet", "in": "body", "description": "A pet.", "required": true, "schema": { "type": "object" } }],
        },
        "post": {
            "consumes": ["application/x-www-form-urlencoded", "text/plain"],
            "parameters": [
                { "name": "a/b", "in": "formData", "type": "string", "description": "The a.", "required": true },
                { "name": "tags", "in": "formData", "type": "array", "items": { "type": "string" }, "collectionFormat": "multi" },
            ],
        },
    });
    let root = json!({
        "swagger": "2.0",
        "info": { "title": "Shop", "version": "1" },
        "tags": [{ "name": "pets" }],
        "security": [{ "key": [] }],
        "host": "h.example/",
        "basePath": "/v1/",
        "schemes": ["ws", "http", "https"],
        "consumes": ["application/json", "application/xml"],
        "securityDefinitions": {
            "plain": { "type": "basic" },
            "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
            "app": { "type": "oauth2", "flow": "application", "tokenUrl": "https://h.example/token", "scopes": { "a": "A" }, "x-own": 1 },
            "code": { "type": "oauth2", "flow": "accessCode", "authorizationUrl": "https://h.example/a", "tokenUrl": "https://h.example/t" },
            "implicit": { "type": "oauth2", "flow": "implicit", "authorizationUrl": "https://h.example/a" },
        },
        "parameters": { "Limit": limit },
        "responses": { "Gone": { "description": "Gone." } },
        "definitions": { "Id": { "type": "integer" } },
        "paths": {
            "x-own": { "get": {} },
            "/pets/{id}": item,
            "/gone": { "$ref": "#/x-paths/None" },
        },
    });
    Documents::new(Document::from_value(root).unwrap())
}

#[test]
fn each_member_of_version_2_has_its_form_of_version_3() {
    let documents = swagger();
    let id = json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } });
    let limit = json!({
        "name": "limit", "in": "query", "required": false, "description": "At most.", "allowEmptyValue": true,
        "schema": { "type": "integer", "x-nullable": true },
    });
    let shared_limit = json!({ "name": "limit", "in": "query", "schema": { "type": "string" } });
    let schema_at =
        |pointer: &str| json!({ "schema": { "$ref": format!("1:#/paths/~1pets~1{{id}}/{pointer}") } });
    let pet = schema_at("put/parameters/0/schema");
    let get = json!({
        "operationId": "get", "summary": "One", "description": "One pet.", "tags": ["pets"], "deprecated": true,
        "security": [],
        "servers": [{ "url": "http://h.example/v1" }],
        "parameters": [
            { "$ref": "#/parameters/None" },
            id,
            limit,
            {
                "name": "ids", "in": "query", "style": "pipeDelimited", "explode": false,
                "schema": { "$ref": "1:#/paths/~1pets~1{id}/get/parameters/1" },
            },
            {
                "name": "X-Ids", "in": "header", "style": "simple", "explode": false,
                "schema": { "type": "array", "items": { "type": "string" } },
            },
        ],
        "responses": {
            "200": { "content": { "text/csv": schema_at("get/responses/200/schema") } },
            "404": {},
            "410": { "$ref": "#/responses/None" },
            "default": { "content": { "application/octet-stream": {} } },
        },
    });
    let put = json!({
        "requestBody": {
            "description": "A pet.", "required": true,
            "content": { "application/json": pet, "application/xml": pet },
        },
        "parameters": [id, shared_limit],
    });
    let form = json!({
        "schema": {
            "type": "object",
            "properties": {
                "a/b": { "type": "string", "description": "The a." },
                "tags": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["a/b"],
        },
        "encoding": { "tags": { "style": "form", "explode": true } },
    });
    let post = json!({
        "requestBody": { "required": true, "content": { "application/x-www-form-urlencoded": form } },
        "parameters": [id, shared_limit],
    });
    let expected = json!({
        "openapi": "3.0.4",
        "info": { "title": "Shop", "version": "1" },
        "security": [{ "key": [] }],
        "tags": [{ "name": "pets" }],
        "servers": [{ "url": "https://h.example/v1" }, { "url": "http://h.example/v1" }],
        "paths": {
            "/pets/{id}": { "get": get, "put": put, "post": post },
            "/gone": { "$ref": "#/x-paths/None" },
        },
        "components": { "securitySchemes": {
            "plain": { "type": "http", "scheme": "basic" },
            "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
            "app": { "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": "https://h.example/token", "scopes": { "a": "A" } } } },
            "code": { "type": "oauth2", "flows": { "authorizationCode": { "authorizationUrl": "https://h.example/a", "tokenUrl": "https://h.example/t" } } },
            "implicit": { "type": "oauth2", "flows": { "implicit": { "authorizationUrl": "https://h.example/a" } } },
        } },
    });
    assert_eq!(*documents.root_value(), expected);
}

#[test]
fn a_converted_place_has_the_pointer_of_the_document_as_it_was_written() {
    let documents = swagger();
    let item = "/paths/~1pets~1{id}";
    for (converted, written) in [
        ("", ""),
        ("/paths", "/paths"),
        ("/security/0", "/security/0"),
        // The document has no such member: the closest one around it.
        ("/servers/0", ""),
        ("/components/securitySchemes/app/flows", "/securityDefinitions/app"),
        ("/paths/~1pets~1{id}", item),
        ("/paths/~1pets~1{id}/get/servers", "/paths/~1pets~1{id}/get"),
        ("/paths/~1pets~1{id}/get/parameters/1/schema/type", "/paths/~1pets~1{id}/parameters/0/type"),
        ("/paths/~1pets~1{id}/get/parameters/2/name", "/paths/~1pets~1{id}/get/parameters/0/name"),
        ("/paths/~1pets~1{id}/put/parameters/1/in", "/parameters/Limit/in"),
        ("/paths/~1pets~1{id}/put/requestBody/required", "/paths/~1pets~1{id}/put/parameters/0/required"),
        (
            "/paths/~1pets~1{id}/post/requestBody/content/application~1x-www-form-urlencoded/schema/properties/a~1b/type",
            "/paths/~1pets~1{id}/post/parameters/0/type",
        ),
        (
            "/paths/~1pets~1{id}/post/requestBody/content/application~1x-www-form-urlencoded/schema/properties/tags",
            "/paths/~1pets~1{id}/post/parameters/1",
        ),
        ("/paths/~1pets~1{id}/get/responses/200/content", "/paths/~1pets~1{id}/get/responses/200"),
        ("/paths/~1pets~1{id}/get/responses/404/description", "/responses/Gone/description"),
    ] {
        assert_eq!(documents.pointer_in_source(&DocumentPlace::new(0, converted)), written, "{converted}");
    }
    // A place of the document itself is not converted.
    assert_eq!(documents.pointer_in_source(&DocumentPlace::new(1, "/host")), "/host");
    assert_eq!(documents.pointer_in_source(&DocumentPlace::new(1, "/host/0")), "/host");
}

#[test]
fn a_name_in_a_list_belongs_to_its_item() {
    let root = json!({
        "openapi": "3.1.0",
        "a": [{ "b": [1, { "$anchor": "deep" }] }, { "$dynamicAnchor": "second" }, { "$id": "https://h.example/third" }],
        "$anchor": "root",
        "z": { "$anchor": "last" },
        "twice": [{ "$anchor": "two" }, { "$anchor": "two" }],
        "no": [{ "$anchor": 1 }, { "anchor": "none" }],
    });
    let documents = Documents::new(Document::from_value(root).unwrap());
    let target = |reference: &str| {
        let found = documents.reference_target(&DocumentPlace::new(0, ""), reference);
        found
            .map(|(place, value): (_, &Value)| (place.pointer, value.is_object()))
            .map_err(|it| it.to_string())
    };
    for (reference, pointer) in [
        ("#deep", "/a/0/b/1"),
        ("#second", "/a/1"),
        ("https://h.example/third", "/a/2"),
        ("https://h.example/third#", "/a/2"),
        ("#last", "/z"),
        ("#root", ""),
        ("#", ""),
        ("#/z", "/z"),
        ("#z", "/z"),
    ] {
        assert_eq!(target(reference), Ok((pointer.to_owned(), true)), "{reference}");
    }
    for (reference, problem) in [
        ("#two", "the reference `#two` leads to an anchor that several schemas have"),
        ("#none", "the reference `#none` leads to nothing"),
        (
            "https://h.example/fourth",
            "the reference `https://h.example/fourth` leads to a file that was not read",
        ),
    ] {
        assert_eq!(target(reference), Err(problem.to_owned()));
    }
}
