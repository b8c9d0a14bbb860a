//! `resources watch`.

use tool_cli::{Exit, Failure, clap::ArgMatches};
use tool_runtime::{
    guard::catch_async,
    serde_json::{Value, json},
};

use super::{
    request::{CatalogueRequest, escape_to_line, is_builtin, tool_failure},
    resources::find_resource,
};
use crate::{
    catalogue::{BUILTIN, CatalogueChange, CatalogueEvent, CatalogueListener, ItemKind},
    resource::ResourceUri,
};

/// A resource whose changes are written.
struct WatchedResource {
    namespace: Option<String>,
    uri: ResourceUri,
}

/// Writes a line for each change, until Ctrl-C or the requested number of changes.
pub(super) fn watch_resources(request: &CatalogueRequest<'_>, matches: &ArgMatches) -> Result<Exit, Failure> {
    // Before the snapshot, so that no change is missed.
    let listener = request.catalogue.subscribe();
    let uris: Vec<&String> = matches.get_many("uri").into_iter().flatten().collect();
    let watched = subscribe_to_resources(request, &uris)?;
    let limit = matches.get_one::<u64>("count").copied().unwrap_or(u64::MAX);
    let shown = match &*uris {
        [] => "the list of resources".to_owned(),
        [one] => format!("`{one}` and the list of resources"),
        many => format!("{} resources and the list of them", many.len()),
    };
    request.program.note(&format!("watching {shown}; Ctrl-C ends it"));
    let is_json = matches.get_flag("json");
    request.program.block_on(async {
        tokio::select! {
            written = write_changes(request, listener, &watched, is_json, limit) => written,
            Ok(()) = tokio::signal::ctrl_c() => Ok(Exit::Done),
        }
    })?
}

/// Finds resources, and asks their origins to announce their changes.
fn subscribe_to_resources(
    request: &CatalogueRequest<'_>,
    uris: &[&String],
) -> Result<Vec<WatchedResource>, Failure> {
    let snapshot = request.snapshot()?;
    let mut watched = Vec::with_capacity(uris.len());
    for uri in uris {
        let resource = find_resource(request, &snapshot, uri)?;
        let subscribed = request.program.block_on(catch_async(|| resource.subscribe()))?;
        subscribed
            .map_err(|panic| {
                Failure::quoting(Exit::Failed, format!("the resource panicked: {}", panic.message()))
            })?
            .map_err(|error| tool_failure(&error))?;
        let item = snapshot.lookup_kind(ItemKind::Resource, uri).ok();
        let namespace = item.filter(|item| !is_builtin(item)).map(|item| item.namespace().to_owned());
        watched.push(WatchedResource { namespace, uri: resource.uri().clone() });
    }
    Ok(watched)
}

async fn write_changes(
    request: &CatalogueRequest<'_>,
    mut listener: CatalogueListener,
    watched: &[WatchedResource],
    is_json: bool,
    limit: u64,
) -> Result<Exit, Failure> {
    let mut written = 0;
    while written < limit {
        match listener.next().await {
            Some(Ok(event)) if is_watched(&event, watched) => {
                match is_json {
                    true => request.program.print_json(&format!("{}\n", json_of_event(&event)))?,
                    false => request.program.print(&text_of_event(&event))?,
                }
                written += 1;
            }
            Some(Ok(_)) => {}
            Some(Err(lagged)) => request.program.note(&lagged.to_string()),
            None => break,
        }
    }
    Ok(Exit::Done)
}

fn is_watched(event: &CatalogueEvent, watched: &[WatchedResource]) -> bool {
    match &event.change {
        CatalogueChange::Resources => true,
        CatalogueChange::Resource { uri } => {
            let Ok(uri) = ResourceUri::parse(uri) else { return false };
            watched.iter().any(|it| it.namespace == event.namespace && it.uri == uri)
        }
        _ => false,
    }
}

fn text_of_event(event: &CatalogueEvent) -> String {
    let origin = event.namespace.iter().map(|namespace| format!(" of `{}`", escape_to_line(namespace)));
    let origin = origin.collect::<String>();
    match &event.change {
        CatalogueChange::Resource { uri } => format!("changed: {}{origin}\n", escape_to_line(uri)),
        _ => format!("the list of resources{origin} changed\n"),
    }
}

fn json_of_event(event: &CatalogueEvent) -> Value {
    let origin = event.namespace.as_deref().unwrap_or(BUILTIN);
    match &event.change {
        CatalogueChange::Resource { uri } => json!({ "change": "content", "origin": origin, "uri": uri }),
        _ => json!({ "change": "list", "origin": origin }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn event(namespace: Option<&str>, change: CatalogueChange) -> CatalogueEvent {
        CatalogueEvent { namespace: namespace.map(Into::into), change }
    }

    fn change_of(uri: &str) -> CatalogueChange {
        CatalogueChange::Resource { uri: uri.into() }
    }

    #[test]
    fn the_list_and_the_resources_of_their_origin_are_watched() {
        let watched = |namespace: Option<&str>, uri: &str| WatchedResource {
            namespace: namespace.map(str::to_owned),
            uri: ResourceUri::parse(uri).unwrap(),
        };
        let both = [watched(None, "notes://a"), watched(Some("shop"), "notes://b")];
        for (namespace, change, expected) in [
            (None, CatalogueChange::Resources, true),
            (Some("mail"), CatalogueChange::Resources, true),
            (None, CatalogueChange::Prompts, false),
            (None, CatalogueChange::Tools, false),
            (None, change_of("notes://a"), true),
            (None, change_of("NOTES://a"), true),
            (Some("shop"), change_of("notes://a"), false),
            (Some("shop"), change_of("notes://b"), true),
            (None, change_of("notes://b"), false),
            (None, change_of("notes://c"), false),
            (None, change_of("a b"), false),
        ] {
            let event = event(namespace, change);
            assert_eq!(is_watched(&event, &both), expected, "{event:?}");
            let is_list = matches!(event.change, CatalogueChange::Resources);
            assert_eq!(is_watched(&event, &[]), is_list, "{event:?}");
        }
    }

    #[test]
    fn a_change_is_a_line_of_text_or_json() {
        for (namespace, change, text, expected) in [
            (
                None,
                change_of("notes://a"),
                "changed: notes://a\n",
                json!({ "change": "content", "origin": "builtin", "uri": "notes://a" }),
            ),
            (
                Some("shop"),
                change_of("notes://a"),
                "changed: notes://a of `shop`\n",
                json!({ "change": "content", "origin": "shop", "uri": "notes://a" }),
            ),
            (
                None,
                CatalogueChange::Resources,
                "the list of resources changed\n",
                json!({ "change": "list", "origin": "builtin" }),
            ),
            (
                Some("shop"),
                CatalogueChange::Resources,
                "the list of resources of `shop` changed\n",
                json!({ "change": "list", "origin": "shop" }),
            ),
        ] {
            let event = event(namespace, change);
            assert_eq!((&*text_of_event(&event), json_of_event(&event)), (text, expected));
        }
    }
}
