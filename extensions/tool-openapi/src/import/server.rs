//! The base URL of an operation.

use reqwest::Url;
use serde_json::Value;

use super::{Problem, Report};
use crate::{
    client::{
        address,
        origin::{Origin, has_user},
    },
    document::{Fetched, Place, kind},
    settings::Settings,
};

/// The maximum length of the URL of a server, in bytes: each request and definition has it.
const MAX_URL_BYTES: usize = 4 << 10;

/// A base URL.
pub(super) struct Base {
    pub(super) url: Url,
    /// A document that may be hostile chose it.
    pub(super) is_guarded: bool,
}

/// Returns the base URL of an operation: the configured one, or the first server of the closest list that has one. A relative one
/// belongs to the URL of the document, or else to `absolute`, the first absolute server of the document.
///
/// # Errors
///
/// If the server is no URL, or not allowed, or there is none.
pub(super) fn base(
    settings: &Settings,
    (fetched, absolute): (Option<&Fetched>, Option<&Url>),
    lists: [(Place, Option<&Value>); 3],
    (tool, report): (&str, &mut Report),
) -> Result<Base, Problem> {
    if let Some(url) = &settings.base_url {
        return Ok(Base { url: url.clone(), is_guarded: false });
    }
    let [.., (document, _)] = &lists;
    let document = document.clone();
    let mut first = None;
    for (place, list) in lists {
        // Those of the document are reported once, and not for each operation.
        let tool = (place != document).then_some(tool);
        let found = entries(&place, list).find_map(|(place, server)| Some((place, url_of(server)?, server)));
        if let Some(tool) = tool {
            warn_unreadable(&place, list, tool, report);
        }
        if found.is_some() {
            first = found;
            break;
        }
    }
    // The specification's default is a server with the URL `/`.
    let none = Value::Null;
    let (place, template, server) = first.unwrap_or((document, "/", &none));
    let text = short(template)
        .and_then(|it| filled(settings, it, server.get("variables")))
        .and_then(|it| short(&it).map(str::to_owned))
        .map_err(|reason| Problem::new(&place, reason))?;
    let url = match fetched.map(|it| &it.url).or(absolute) {
        Some(parent) => parent.join(text.trim()),
        None => Url::parse(text.trim()),
    };
    let mut url = match url {
        Ok(url) => url,
        Err(_) if is_relative(&text) => {
            let reason = match server.is_null() {
                true => "there is no server".to_owned(),
                false => {
                    format!("the server `{}` is relative, and the document has no absolute one", text.trim())
                }
            };
            return Err(Problem { has_no_base: true, ..Problem::new(&place, reason) });
        }
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
    Ok(Base { url, is_guarded })
}

/// Returns the first absolute server of the document.
pub(super) fn absolute(settings: &Settings, list: Option<&Value>) -> Option<Url> {
    entries(&Place::new(0, ""), list).find_map(|(_, server)| {
        let text = filled(settings, short(url_of(server)?).ok()?, server.get("variables")).ok()?;
        Url::parse(short(&text).ok()?.trim()).ok().filter(|it| Origin::of(it).is_some())
    })
}

/// Warns of what is no server in a list of them.
pub(super) fn warn_unreadable(place: &Place, list: Option<&Value>, tool: &str, report: &mut Report) {
    if let Some(other) = list.filter(|it| !it.is_array() && !it.is_null()) {
        let message = format!("`servers` is {}, and not a list; it is ignored", kind(other));
        report.warn("server_left_out", tool, place, message);
    }
    for (place, server) in entries(place, list).filter(|(_, server)| url_of(server).is_none()) {
        let message = match server.is_object() {
            true => "the server has no `url`, and is ignored".to_owned(),
            false => format!("the server is {}, and not an object; it is ignored", kind(server)),
        };
        report.warn("server_left_out", tool, &place, message);
    }
}

/// The entries of a list of servers.
fn entries<'v>(place: &Place, list: Option<&'v Value>) -> impl Iterator<Item = (Place, &'v Value)> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().enumerate().map(|(at, server)| (place.at(&at.to_string()), server))
}

/// Returns the URL of a server unless it is too long.
fn short(text: &str) -> Result<&str, String> {
    match text.len() > MAX_URL_BYTES {
        true => Err(format!(
            "the URL of the server has {} bytes; at most {MAX_URL_BYTES} are carried",
            text.len()
        )),
        false => Ok(text),
    }
}

/// The URL of a server.
fn url_of(server: &Value) -> Option<&str> {
    server.get("url")?.as_str()
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
