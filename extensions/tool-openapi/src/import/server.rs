//! The base URL of an operation.

use reqwest::Url;
use serde_json::Value;

use super::Problem;
use crate::{document::Place, settings::Settings};

/// The URL that a document came from, for servers relative to it.
pub(super) type Fetched = Option<Url>;

/// Returns the base URL of an operation: the configured one, or the first server of the closest list.
///
/// # Errors
///
/// If the server is no URL, or relative to nothing. `Ok(None)` if there is no server.
pub(super) fn base(
    settings: &Settings,
    fetched: &Fetched,
    lists: [(Place, Option<&Value>); 3],
) -> Result<Option<Url>, Problem> {
    if let Some(url) = &settings.base_url {
        return Ok(Some(url.clone()));
    }
    let first = lists.into_iter().find_map(|(place, list)| {
        let first = list?.as_array()?.first()?;
        Some((place.at("0"), first))
    });
    let Some((place, server)) = first else {
        // The specification's default is a server with the URL `/`.
        return Ok(fetched.as_ref().and_then(|url| url.join("/").ok()));
    };
    let template = server.get("url").and_then(Value::as_str).unwrap_or("/");
    let text =
        filled(settings, template, server.get("variables")).map_err(|reason| Problem::new(&place, reason))?;
    let url = match fetched {
        Some(fetched) => fetched.join(&text),
        None => Url::parse(&text),
    };
    match url {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(Some(url)),
        Ok(url) => Err(Problem::new(&place, format!("the server `{url}` is not an `http` or `https` URL"))),
        Err(_) if !text.contains("://") => Ok(None),
        Err(error) => Err(Problem::new(&place, format!("the server `{text}` is not a URL: {error}"))),
    }
}

/// Replaces the variables of `template` by their values.
fn filled(settings: &Settings, template: &str, variables: Option<&Value>) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        let variable = variables.and_then(|it| it.get(name));
        let default = variable.and_then(|it| it.get("default"));
        let default = default.map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
        let Some(value) = settings.server_variables.get(name).cloned().or(default) else {
            return Err(format!("the variable `{name}` of the server `{template}` has no value"));
        };
        if let Some(Value::Array(allowed)) = variable.and_then(|it| it.get("enum"))
            && !allowed.iter().any(|it| it == value.as_str())
        {
            return Err(format!(
                "`{value}` is not one of the values of the variable `{name}` of the server `{template}`"
            ));
        }
        text.push_str(before);
        text.push_str(&value);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}
