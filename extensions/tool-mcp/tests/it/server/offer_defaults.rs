//! Resources and prompts that implement what is required, and nothing else.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::{
    ServiceError,
    model::{
        CompleteRequestParams, GetPromptResult, Prompt, Reference, Resource, SubscribeRequestParams,
        UnsubscribeRequestParams,
    },
};
use tool_mcp::server::{McpServer, Page, Paging, PromptSet, Prompts, ResourceSet, Resources};
use tool_runtime::{BoxFuture, Registry, RunContext, output, prelude::*};

use super::{BOTH, connect_to};

struct Least;

impl Resources for Least {
    fn list<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        _: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Resource>, ToolError>> {
        Box::pin(async { Ok(Page::all(vec![Resource::new("a:a", "a")])) })
    }

    fn read<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<output::Resource>, ToolError>> {
        Box::pin(async move { Err(ToolError::not_found(format!("no {uri}"))) })
    }
}

impl Prompts for Least {
    fn list<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        _: Paging<'a>,
    ) -> BoxFuture<'a, Result<Page<Prompt>, ToolError>> {
        Box::pin(async { Ok(Page::all(Vec::new())) })
    }

    fn get<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        _: &'a str,
        _: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ToolError>> {
        Box::pin(async { Ok(GetPromptResult::new(Vec::new())) })
    }
}

#[tokio::test]
async fn nothing_is_offered_beyond_what_is_implemented() {
    for version in BOTH {
        let server = McpServer::new(Registry::default()).resources(Least).prompts(Least);
        let it = connect_to(server, (), version.clone()).await;
        let capabilities = it.client.peer_info().unwrap().capabilities.clone();
        let resources = capabilities.resources.unwrap();
        assert_eq!((resources.subscribe, resources.list_changed), (None, None));
        assert_eq!(capabilities.prompts.unwrap().list_changed, None);
        assert!(capabilities.completions.is_none());
        assert_eq!(it.client.list_all_resources().await.unwrap().len(), 1);
        assert!(it.client.list_all_resource_templates().await.unwrap().is_empty());
        if version.has_initialize() {
            let error = it.client.subscribe(SubscribeRequestParams::new("a:a")).await.unwrap_err();
            let ServiceError::McpError(error) = error else { panic!("{error}") };
            assert_eq!(error.code.0, -32601);
            // A client that is not subscribed is not any longer.
            it.client.unsubscribe(UnsubscribeRequestParams::new("a:a")).await.unwrap();
        }
        for reference in [Reference::for_prompt("p"), Reference::for_resource("a:{b}")] {
            let argument = rmcp::model::ArgumentInfo::new("b", "");
            let completed =
                it.client.complete(CompleteRequestParams::new(reference, argument)).await.unwrap();
            assert!(completed.completion.values.is_empty());
        }
    }
}

#[tokio::test]
async fn completions_are_declared_for_a_set_with_candidates() {
    let prompt = || Prompt::new("p", None::<&str>, None);
    let prompts = |candidates: bool| {
        let set = PromptSet::new().text(prompt(), |_| String::new());
        if candidates { set.complete(|_, _| Vec::new()) } else { set }
    };
    let resources = |candidates: bool| {
        let template = rmcp::model::ResourceTemplate::new("a:{b}", "a");
        let body = |_, _| async { Ok(output::ResourceBody::Text(String::new())) };
        let set = ResourceSet::new().template(template, body).unwrap();
        if candidates { set.complete(|_, _| Vec::new()) } else { set }
    };
    for (of_prompts, of_resources) in [(false, false), (true, false), (false, true)] {
        let server = McpServer::new(Registry::default());
        let server = server.prompts(prompts(of_prompts)).resources(resources(of_resources));
        let it = connect_to(server, (), BOTH[0].clone()).await;
        let declared = it.client.peer_info().unwrap().capabilities.completions.is_some();
        assert_eq!(declared, of_prompts || of_resources);
    }
}
