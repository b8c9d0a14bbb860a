//! Several sources of prompts and resources.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ArgumentInfo, CompleteRequestParams, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument,
        PromptMessage, ReadResourceRequestParams, Reference, Resource, ResourceContents, ResourceTemplate,
        ResourceUpdatedNotificationParam, Role, SubscribeRequestParams,
    },
    service::NotificationContext,
};
use tokio::sync::{mpsc, watch};
use tool_mcp::server::{
    ChangeListener, ChangeSignal, Completing, McpServer, OfferChange, Page, Paging, PromptSet, Prompts,
    ResourceSet, Resources,
};
use tool_runtime::{
    BoxFuture, RunContext,
    diagnostic::Diagnostic,
    output::{self, ResourceBody},
    prelude::*,
};

use super::{BOTH, connect_to};

/// A live source: the one prompt that it has is the value of a watch, which it announces.
struct Live(watch::Receiver<String>, ChangeSignal);

impl Live {
    fn new(values: watch::Receiver<String>) -> Self {
        let watched = values.clone();
        Self(values, ChangeSignal::from_listeners(move || Changes(watched.clone())))
    }
}

struct Changes(watch::Receiver<String>);

impl ChangeListener for Changes {
    fn next(&mut self) -> BoxFuture<'_, OfferChange> {
        Box::pin(async {
            match self.0.changed().await {
                Ok(()) => OfferChange::List,
                Err(_) => std::future::pending().await,
            }
        })
    }
}

impl Prompts for Live {
    fn list<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        page: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Prompt>, ToolError>> {
        let name = self.0.borrow().clone();
        let prompts = [Prompt::new(name, Some("Live."), None), Prompt::new("explain", Some("Hidden."), None)];
        Box::pin(async move { Ok(page.of(prompts, |prompt| &prompt.name)) })
    }

    fn get<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        name: &'a str,
        _: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ToolError>> {
        Box::pin(async move {
            match name == *self.0.borrow() || name == "explain" {
                true => Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, "live")])),
                false => Err(ToolError::not_found(format!("there is no prompt `{name}`"))),
            }
        })
    }

    fn changes(&self) -> Option<&ChangeSignal> {
        Some(&self.1)
    }
}

/// A source that fails, or panics.
struct Broken(bool);

impl Prompts for Broken {
    fn list<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        _: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Prompt>, ToolError>> {
        assert!(!self.0, "no list");
        Box::pin(async { Err(ToolError::failed("it is down")) })
    }

    fn get<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        name: &'a str,
        _: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ToolError>> {
        Box::pin(async move { Err(ToolError::not_found(format!("there is no prompt `{name}`"))) })
    }
}

fn explain() -> PromptSet {
    let topic = PromptArgument::new("topic").with_required(true);
    PromptSet::new()
        .text(Prompt::new("explain", Some("Explains."), Some(vec![topic])), |arguments| {
            format!("Explain {}.", arguments["topic"])
        })
        .complete(|_, completing| vec![format!("{}s", completing.value)])
}

/// Notes the changes that it receives.
struct Listener(mpsc::UnboundedSender<String>);

impl ClientHandler for Listener {
    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send("prompts".to_owned()).ok();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send("resources".to_owned()).ok();
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.send(params.uri).ok();
    }
}

#[tokio::test]
async fn prompts_of_several_sources_are_one_list_of_which_the_first_of_a_name_counts() {
    for version in BOTH {
        let (values, watched) = watch::channel("first".to_owned());
        let diagnostics = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&diagnostics);
        let server = McpServer::new(Registry::default())
            .page_size(1)
            .prompts(explain())
            .prompts(Broken(false))
            .prompts(Broken(true))
            .prompts(Live::new(watched))
            .on_diagnostic(move |it: &Diagnostic| noted.lock().unwrap().push((it.code, it.message.clone())));
        let it = connect_to(server, (), version).await;
        let names = async || -> Vec<_> {
            it.client.list_all_prompts().await.unwrap().into_iter().map(|it| it.name).collect()
        };
        assert_eq!(names().await, ["explain", "first"]); // O02
        values.send("second".to_owned()).unwrap();
        assert_eq!(names().await, ["explain", "second"]); // O02
        let codes: Vec<_> = diagnostics.lock().unwrap().iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, ["unlisted_items", "unlisted_items", "duplicate_item"]);
        assert!(diagnostics.lock().unwrap()[0].1.contains("it is down"));

        let get = async |name: &str| {
            let mut params = GetPromptRequestParams::new(name);
            if name == "explain" {
                params.arguments = json!({ "topic": "tides" }).as_object().cloned();
            }
            let got = it.client.get_prompt(params).await.map_err(|error| error.to_string())?;
            Ok::<_, String>(got.messages[0].content.as_text().unwrap().text.clone())
        };
        assert_eq!(get("explain").await.unwrap(), "Explain tides."); // O02
        assert_eq!(get("second").await.unwrap(), "live"); // O02
        assert!(get("gone").await.unwrap_err().contains("-32602"));
        let complete = async |prompt: &str| {
            let argument = ArgumentInfo::new("topic", "tide");
            let params = CompleteRequestParams::new(Reference::for_prompt(prompt), argument);
            it.client.complete(params).await.unwrap().completion.values
        };
        assert_eq!(complete("explain").await, ["tides"]);
        assert!(complete("second").await.is_empty(), "its source has no candidates");
    }
}

#[tokio::test]
async fn a_list_fails_if_each_of_its_sources_does() {
    let server = McpServer::new(Registry::default()).prompts(Broken(false)).prompts(Broken(true));
    let it = connect_to(server, (), BOTH[0].clone()).await;
    let error = it.client.list_all_prompts().await.unwrap_err().to_string();
    assert!(error.contains("it is down"), "{error}");
}

#[tokio::test]
async fn resources_of_several_sources_are_one_list_with_one_signal() {
    let notes = ResourceSet::new().text("notes://today", "today", "Buy milk.");
    let others = ResourceSet::new()
        .text("notes://today", "hidden", "Buy nothing.")
        .text("notes://tomorrow", "tomorrow", "Rest.")
        .template(ResourceTemplate::new("notes://{day}/all", "day"), |_, variables| async move {
            Ok(ResourceBody::Text(variables["day"].clone()))
        })
        .unwrap();
    let (values, watched) = watch::channel("first".to_owned());
    let server = McpServer::new(Registry::default())
        .resources(notes.clone())
        .resources(others.clone())
        .resources(Silent)
        .prompts(explain())
        .prompts(Live::new(watched));
    let (sender, mut changes) = mpsc::unbounded_channel();
    let it = connect_to(server, Listener(sender), BOTH[0].clone()).await;
    let listed = it.client.list_all_resources().await.unwrap();
    let uris: Vec<_> = listed.iter().map(|it| (&*it.uri, &*it.name)).collect();
    assert_eq!(uris, [("notes://today", "today"), ("notes://tomorrow", "tomorrow")]); // O02
    let templates = it.client.list_all_resource_templates().await.unwrap();
    assert_eq!(templates.len(), 1);
    let read = async |uri: &str| {
        let read = it.client.read_resource(ReadResourceRequestParams::new(uri)).await;
        read.map(|read| match &read.contents[0] {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(read("notes://today").await.unwrap(), "Buy milk."); // O02
    assert_eq!(read("notes://tomorrow").await.unwrap(), "Rest."); // O02
    assert_eq!(read("notes://monday/all").await.unwrap(), "monday");
    assert!(read("notes://none").await.unwrap_err().to_string().contains("-32002")); // O02

    it.client.subscribe(SubscribeRequestParams::new("notes://tomorrow")).await.unwrap();
    others.updated("notes://tomorrow");
    assert_eq!(changes.recv().await.unwrap(), "notes://tomorrow"); // O03
    notes.remove("notes://today");
    assert_eq!(changes.recv().await.unwrap(), "resources"); // O03
    values.send("second".to_owned()).unwrap();
    assert_eq!(changes.recv().await.unwrap(), "prompts"); // O03
    others.updated("notes://tomorrow");
    assert_eq!(changes.recv().await.unwrap(), "notes://tomorrow", "each change came once"); // O03
}

/// A source without resources, and without changes.
struct Silent;

impl Resources for Silent {
    fn list<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        _: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Resource>, ToolError>> {
        Box::pin(async { Ok(Page::all(Vec::new())) })
    }

    fn read<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<output::Resource>, ToolError>> {
        Box::pin(async move { Err(ToolError::not_found(format!("there is no resource `{uri}`"))) })
    }

    fn complete<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        _: Completing<'a>,
    ) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async { Err(ToolError::failed("it has no candidates")) })
    }
}
