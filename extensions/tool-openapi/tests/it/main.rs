//! Documents as tools, and their calls.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "tests may"
)]

mod bodies;
mod calls;
mod choosing;
#[cfg(feature = "cli")]
mod command;
mod corpus;
mod credentials;
mod discriminators;
mod echoes;
mod exact_bodies;
mod exact_errors;
mod exact_links;
mod fetch;
mod files;
mod generator;
mod heads;
mod hostile;
mod import;
mod keywords;
mod limits;
mod mocked;
mod paging;
mod paths;
mod reading;
mod redirects;
mod references;
mod remarks;
mod requirements;
mod responses;
mod retries;
mod safety;
mod schemas;
mod secrets;
mod servers;
mod sizes;
mod styles;
mod swagger;
mod tokens;
mod unreadable;

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;
use tool_openapi::{Document, OpenApiToolSet, OpenApiToolSetBuilder};
use tool_runtime::{Registry, ToolError, ToolOutput};

/// A document of the folder `documents`.
fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/documents").join(name)
}

fn petstore() -> Document {
    Document::from_file(file("petstore-3.0.yaml")).unwrap()
}

/// A document of version 3.1 with these paths, and other members.
fn document(paths: Value, others: Value) -> Document {
    let mut root =
        serde_json::json!({ "openapi": "3.1.0", "info": { "title": "It", "version": "1" }, "paths": paths });
    root.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    Document::from_value(root).unwrap()
}

fn built(builder: OpenApiToolSetBuilder) -> OpenApiToolSet {
    builder.build().unwrap()
}

fn registry(set: &OpenApiToolSet) -> Registry {
    set.tools().iter().fold(Registry::builder(), |tools, tool| tools.add(Arc::clone(tool))).build().unwrap()
}

async fn call(set: &OpenApiToolSet, tool: &str, arguments: &str) -> Result<ToolOutput, ToolError> {
    registry(set).call(tool, arguments).await
}
