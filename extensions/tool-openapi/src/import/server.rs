//! The base URL of an operation.

use reqwest::Url;
use serde_json::Value;
use tool_http::{AddressPolicy, Origin, has_user};

use super::{ImportProblem, ImportReport};
use crate::{
    document::{DocumentPlace, FetchedLocation, kind_name},
    settings::Settings,
};

/// The maximum length of the URL of a server, in bytes: each request and definition has it.
const MAX_URL_BYTES: usize = 4 << 10;

/// A base URL.
pub(super) struct ServerBase {
    pub(super) url: Url,
    /// A document that may be hostile chose it.
    pub(super) is_guarded: bool,
}

/// Returns the base URL of an operation: the configured one, or the first usable server of the closest list that has one. A relative
/// one belongs to the URL of the document, or else to `absolute`, the first absolute server of the document.
///
/// # Errors
///
/// If no server is usable, the first one is not allowed, or there is none.
pub(super) fn server_base(
    settings: &Settings,
    (fetched, absolute): (Option<&FetchedLocation>, Option<&Url>),
    lists: [(DocumentPlace, Option<&Value>); 3],
    (tool, report): (&str, &mut ImportReport),
) -> Result<ServerBase, ImportProblem> {
    if let Some(url) = &settings.base_url {
        return Ok(ServerBase { url: url.clone(), is_guarded: false });
    }
    let parent = fetched.map(|it| &it.url).or(absolute);
    let [.., (document, _)] = &lists;
    let document = document.clone();
    let mut server = None;
    for (place, list) in lists {
        let choice = ServerChoice::of(settings, parent, &place, list);
        // Those of the document are reported once, and not for each operation.
        if place != document {
            warn_of_unreadable_servers(&place, list, tool, report);
            choice.report_remarks(tool, report);
        }
        server = choice.server;
        if server.is_some() {
            break;
        }
    }
    let (place, mut url) = match server {
        Some(server) => server?,
        // The specification's default is a server with the URL `/`.
        None => match parent.and_then(|it| it.join("/").ok()) {
            Some(url) => (document, url),
            None => {
                return Err(ImportProblem {
                    has_no_base: true,
                    ..ImportProblem::new(&document, "there is no server")
                });
            }
        },
    };
    if url.query().is_some() || url.fragment().is_some() {
        url.set_query(None);
        url.set_fragment(None);
        report.warn("server_query", tool, &place, "the query and the fragment of the server are not sent");
    }
    let origin = Origin::of(&url);
    let is_allowed = fetched.is_none_or(|it| it.private.is_some() && it.private == origin);
    let is_guarded = !is_allowed && !settings.access.allow_private_servers;
    if is_guarded {
        AddressPolicy::public().check(&url).map_err(|error| {
            let reason = "; allow it for this document with `allow_private_servers`, or set `base_url`";
            ImportProblem::new(&place, format!("the server is refused, since {error}{reason}"))
        })?;
    }
    Ok(ServerBase { url, is_guarded })
}

/// The server that is chosen from a list.
struct ServerChoice {
    /// The first usable server, or else the problem of the first one; `None` for a list without servers.
    server: Option<Result<(DocumentPlace, Url), ImportProblem>>,
    /// The problems of the servers before it.
    left_out: Vec<ImportProblem>,
    /// A remark about its variables.
    remark: Option<ImportProblem>,
}

impl ServerChoice {
    fn of(settings: &Settings, parent: Option<&Url>, place: &DocumentPlace, list: Option<&Value>) -> Self {
        let (mut left_out, mut first) = (Vec::new(), None);
        for (place, server) in server_entries(place, list) {
            let Some(template) = server_url_text(server) else { continue };
            match server_url(settings, parent, (&place, template), server.get("variables")) {
                Ok((url, remark)) => {
                    let remark = remark.map(|it| ImportProblem::new(&place, it));
                    return Self { server: Some(Ok((place, url))), left_out, remark };
                }
                Err(UnusableServer { problem, is_setting }) => {
                    // A value of the program is never replaced by another server.
                    if is_setting {
                        return Self { server: Some(Err(problem)), left_out, remark: None };
                    }
                    let reason = format!("a server is left out: {}", problem.reason);
                    left_out.push(ImportProblem::new(&place, reason));
                    first.get_or_insert(problem);
                }
            }
        }
        // Each skipped operation has the reason of the first one.
        Self { server: first.map(Err), left_out: Vec::new(), remark: None }
    }

    fn report_remarks(&self, tool: &str, report: &mut ImportReport) {
        for problem in &self.left_out {
            report.warn("server_left_out", tool, &problem.place, &*problem.reason);
        }
        if let Some(remark) = &self.remark {
            report.warn("server_variable", tool, &remark.place, &*remark.reason);
        }
    }
}

/// The reason why an entry of a list is not usable.
struct UnusableServer {
    problem: ImportProblem,
    /// It is a value of the program.
    is_setting: bool,
}

impl From<ImportProblem> for UnusableServer {
    fn from(problem: ImportProblem) -> Self {
        Self { problem, is_setting: false }
    }
}

/// Returns the URL of a server without its query, and a remark about its variables.
fn server_url(
    settings: &Settings,
    parent: Option<&Url>,
    (place, template): (&DocumentPlace, &str),
    variables: Option<&Value>,
) -> Result<(Url, Option<String>), UnusableServer> {
    let problem = |reason: String| ImportProblem::new(place, reason);
    let template = length_checked_url(template).map_err(problem)?;
    let FilledTemplate { text, remark } = fill_template(settings, template, variables)
        .map_err(|(reason, is_setting)| UnusableServer { problem: problem(reason), is_setting })?;
    let text = length_checked_url(&text).map_err(problem)?.trim();
    let url = match parent {
        Some(parent) => parent.join(text),
        // Of a server without a scheme, which a browser takes from the page.
        None if text.starts_with("//") => Url::parse(&format!("https:{text}")),
        None => Url::parse(text),
    };
    let url = match url {
        Ok(url) => url,
        Err(_) if has_no_url_scheme(text) => {
            let reason = format!("the server `{text}` is relative, and the document has no absolute one");
            return Err(ImportProblem { has_no_base: true, ..problem(reason) }.into());
        }
        Err(error) => return Err(problem(format!("the URL of the server is not valid: {error}")).into()),
    };
    let Some(origin) = Origin::of(&url) else {
        return Err(problem("the server is not an `http` or `https` URL".to_owned()).into());
    };
    if has_user(&url) {
        return Err(problem(format!(
            "the URL of the server `{origin}` has a user name or password; set one without with `base_url`"
        ))
        .into());
    }
    Ok((url, remark))
}

/// Returns the first absolute server of the document.
pub(super) fn first_absolute_server(settings: &Settings, list: Option<&Value>) -> Option<Url> {
    server_entries(&DocumentPlace::new(0, ""), list).find_map(|(_, server)| {
        let FilledTemplate { text, .. } = fill_template(
            settings,
            length_checked_url(server_url_text(server)?).ok()?,
            server.get("variables"),
        )
        .ok()?;
        Url::parse(length_checked_url(&text).ok()?.trim())
            .ok()
            .filter(|it| Origin::of(it).is_some() && !has_user(it))
    })
}

/// Reports what is left out of the servers of the document.
pub(super) fn warn_of_document_servers(
    settings: &Settings,
    (fetched, absolute): (Option<&Url>, Option<&Url>),
    list: Option<&Value>,
    report: &mut ImportReport,
) {
    let place = DocumentPlace::new(0, "/servers");
    warn_of_unreadable_servers(&place, list, "", report);
    ServerChoice::of(settings, fetched.or(absolute), &place, list).report_remarks("", report);
}

/// Warns of what is no server in a list of them.
fn warn_of_unreadable_servers(
    place: &DocumentPlace,
    list: Option<&Value>,
    tool: &str,
    report: &mut ImportReport,
) {
    if let Some(other) = list.filter(|it| !it.is_array() && !it.is_null()) {
        let message = format!("`servers` is {}, and not a list; it is ignored", kind_name(other));
        report.warn("server_left_out", tool, place, message);
    }
    for (place, server) in server_entries(place, list).filter(|(_, server)| server_url_text(server).is_none())
    {
        let message = match server.is_object() {
            true => "the server has no `url`, and is ignored".to_owned(),
            false => format!("the server is {}, and not an object; it is ignored", kind_name(server)),
        };
        report.warn("server_left_out", tool, &place, message);
    }
}

/// The entries of a list of servers.
fn server_entries<'v>(
    place: &DocumentPlace,
    list: Option<&'v Value>,
) -> impl Iterator<Item = (DocumentPlace, &'v Value)> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().enumerate().map(|(at, server)| (place.at(&at.to_string()), server))
}

/// Returns the URL of a server unless it is too long.
fn length_checked_url(text: &str) -> Result<&str, String> {
    match text.len() > MAX_URL_BYTES {
        true => Err(format!(
            "the URL of the server has {} bytes; at most {MAX_URL_BYTES} are carried",
            text.len()
        )),
        false => Ok(text),
    }
}

/// The URL of a server.
fn server_url_text(server: &Value) -> Option<&str> {
    server.get("url")?.as_str()
}

/// Returns `true` if `text` has no scheme.
fn has_no_url_scheme(text: &str) -> bool {
    text.split(['/', '?', '#']).next().is_none_or(|start| !start.contains(':'))
}

/// The text of a template with the values of its variables.
struct FilledTemplate {
    text: String,
    remark: Option<String>,
}

/// Replaces the variables of `template` by their values. The error is a reason, and `true` if it is about a value of the program.
fn fill_template(
    settings: &Settings,
    template: &str,
    variables: Option<&Value>,
) -> Result<FilledTemplate, (String, bool)> {
    let (mut text, mut rest, mut remark) = (String::new(), template, None);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        let variable = variable_by_trimmed_name(variables, name);
        let setting =
            settings.server_variables.get(name).or_else(|| settings.server_variables.get(name.trim()));
        let default = variable.and_then(|it| it.get("default")).and_then(scalar_text);
        let Some(value) = setting.cloned().or(default) else {
            let reason = format!(
                "the variable `{name}` of the server `{template}` has no value; set it with `server_variable`"
            );
            return Err((reason, false));
        };
        let allowed = variable.and_then(|it| it.get("enum")).and_then(Value::as_array);
        let mut allowed = allowed.into_iter().flatten().filter_map(scalar_text).peekable();
        if allowed.peek().is_some() && !allowed.any(|it| it == value) {
            let reason = format!(
                "`{value}` is not one of the values of the variable `{name}` of the server `{template}`"
            );
            // The value that the document chooses by itself is used.
            match setting {
                Some(_) => return Err((reason, true)),
                None => drop(remark.get_or_insert(reason)),
            }
        }
        text.push_str(before);
        text.push_str(&value);
        rest = after;
    }
    text.push_str(rest);
    Ok(FilledTemplate { text, remark })
}

/// Returns the member `name`, with or without blanks around it.
fn variable_by_trimmed_name<'v>(variables: Option<&'v Value>, name: &str) -> Option<&'v Value> {
    let variables = variables?.as_object()?;
    let is_same = |it: &(&'v String, &'v Value)| it.0.trim() == name.trim();
    variables.get(name).or_else(|| variables.iter().find(is_same).map(|(_, it)| it))
}

/// Returns the text of a value; YAML reads `443` and `true` as other types than the text that was meant. `None` for null and for a
/// value that has no text.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        MAX_URL_BYTES, has_no_url_scheme, length_checked_url, scalar_text, variable_by_trimmed_name,
    };

    #[test]
    fn a_url_without_a_scheme_has_no_colon_in_its_first_part() {
        for (text, has_none) in [
            ("", true),
            ("/v1", true),
            ("v1/a:b", true),
            ("v1?a:b", true),
            ("v1#a:b", true),
            ("//h:1/v1", true),
            ("http://h", false),
            ("h:1/v1", false),
            (":", false),
        ] {
            assert_eq!(has_no_url_scheme(text), has_none, "{text}");
        }
    }

    #[test]
    fn a_url_has_a_maximum_length() {
        let url = "u".repeat(MAX_URL_BYTES);
        assert_eq!(length_checked_url(&url), Ok(&*url));
        let problem = "the URL of the server has 4097 bytes; at most 4096 are carried";
        assert_eq!(length_checked_url(&format!("{url}u")), Err(problem.to_owned()));
    }

    #[test]
    fn a_variable_has_its_own_name_or_one_with_blanks() {
        let variables = json!({ "a": 1, " a": 2, " b ": 3 });
        for (name, value) in [("a", Some(1)), (" a", Some(2)), ("a ", Some(1)), ("b", Some(3)), ("c", None)] {
            let found = variable_by_trimmed_name(Some(&variables), name);
            assert_eq!(found, value.map(|it| json!(it)).as_ref(), "{name}");
        }
        assert_eq!(variable_by_trimmed_name(None, "a"), None);
        assert_eq!(variable_by_trimmed_name(Some(&json!([1])), "a"), None);
        let texts = [json!("a"), json!(443), json!(1.5), json!(true), json!(null), json!([]), json!({})];
        let expected = [Some("a"), Some("443"), Some("1.5"), Some("true"), None, None, None];
        assert_eq!(texts.each_ref().map(scalar_text), expected.map(|it| it.map(str::to_owned)));
    }
}
