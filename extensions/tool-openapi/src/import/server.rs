//! The base URL of an operation.

use reqwest::Url;
use serde_json::Value;

use super::{Problem, Report};
use crate::{
    client::{
        address,
        origin::{Origin, has_user},
    },
    document::{Fetched, Place},
    settings::Settings,
};

/// A base URL.
pub(super) struct Base {
    pub(super) url: Url,
    /// A document that may be hostile chose it.
    pub(super) is_guarded: bool,
}

/// Returns the base URL of an operation: the configured one, or the first server of the closest list that has one.
///
/// # Errors
///
/// If the server is no URL, or not allowed. `Ok(None)` if there is no server, or it is relative to nothing.
pub(super) fn base(
    settings: &Settings,
    fetched: Option<&Fetched>,
    lists: [(Place, Option<&Value>); 3],
    (tool, report): (&str, &mut Report),
) -> Result<Option<Base>, Problem> {
    if let Some(url) = &settings.base_url {
        return Ok(Some(Base { url: url.clone(), is_guarded: false }));
    }
    let document = lists[2].0.clone();
    let first = lists.into_iter().find_map(|(place, list)| {
        let first = list?.as_array()?.first()?;
        Some((place.at("0"), first))
    });
    // The specification's default is a server with the URL `/`.
    let none = Value::Null;
    let (place, server) = first.unwrap_or((document, &none));
    let template = server.get("url").and_then(Value::as_str).unwrap_or("/");
    let text =
        filled(settings, template, server.get("variables")).map_err(|reason| Problem::new(&place, reason))?;
    let url = match fetched {
        Some(fetched) => fetched.url.join(text.trim()),
        None => Url::parse(text.trim()),
    };
    let mut url = match url {
        Ok(url) => url,
        Err(_) if is_relative(&text) => return Ok(None),
        Err(error) => {
            return Err(Problem::new(&place, format!("the URL of the server is not valid: {error}")));
        }
    };
    let Some(origin) = Origin::of(&url) else {
        return Err(Problem::new(&place, "the server is not an `http` or `https` URL"));
    };
    if has_user(&url) {
        return Err(Problem::new(
            &place,
            format!(
                "the URL of the server `{origin}` has a user name or password; set one without with `base_url`"
            ),
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        url.set_query(None);
        url.set_fragment(None);
        report.warn("server_query", tool, &place, "the query and the fragment of the server are not sent");
    }
    let is_allowed = fetched.is_none_or(|it| it.private.as_ref() == Some(&origin));
    let is_guarded = !is_allowed && !settings.reach.allow_private_servers;
    if is_guarded {
        address::check(&url).map_err(|error| {
            let reason = "; allow it for this document with `allow_private_servers`, or set `base_url`";
            Problem::new(&place, format!("the server is refused, since {error}{reason}"))
        })?;
    }
    Ok(Some(Base { url, is_guarded }))
}

/// Returns `true` if `text` has no scheme.
fn is_relative(text: &str) -> bool {
    text.split(['/', '?', '#']).next().is_none_or(|start| !start.contains(':'))
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
            return Err(format!(
                "the variable `{name}` of the server `{template}` has no value; set it with `server_variable`"
            ));
        };
        if let Some(Value::Array(allowed)) = variable.and_then(|it| it.get("enum"))
            && !allowed.is_empty()
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
