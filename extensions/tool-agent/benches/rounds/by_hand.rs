//! The loop of `examples/agent`: the same requests and calls, by hand.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use sse_stream::SseByteStream;
use tool_runtime::{
    Executor, RunContext,
    dialect::{AssembledResponse, BoundTools, Dialect},
    prelude::*,
};

use crate::Outcome;

pub(crate) struct Client {
    client: reqwest::Client,
    url: String,
    executor: Executor,
    bound: BoundTools,
}

impl Client {
    pub(crate) fn new(url: &str, executor: Executor) -> Self {
        let bound = Dialect::openai_chat().bind_tools(executor.tools());
        Self { client: reqwest::Client::new(), url: format!("{url}/v1/chat/completions"), executor, bound }
    }

    pub(crate) async fn answer(&self, question: &str) -> Outcome<String> {
        let messages = json!([{ "role": "user", "content": question }]);
        let mut body = self.bound.body(json!({ "model": "local", "stream": true, "messages": messages }))?;
        let run = Arc::new(RunContext::new().with_user_content(question));
        loop {
            run.count_round()?;
            let request = self.bound.build_request(body.clone(), Arc::clone(&run)).await?;
            let response = self.client.post(&self.url).json(&request).send().await?.error_for_status()?;
            let read = self.stream(response).await?;
            if read.calls.is_empty() {
                return Ok(read.text);
            }
            let outcomes = self.executor.batch(read.calls.clone()).with_run(Arc::clone(&run)).run().await;
            self.bound.append(&mut body, &read, &outcomes);
        }
    }

    async fn stream(&self, response: reqwest::Response) -> Outcome<AssembledResponse> {
        let mut events = SseByteStream::new(response.bytes_stream());
        let mut assembler = self.bound.assembler();
        while let Some(event) = events.try_next().await? {
            event.data.map_or(Ok(Vec::new()), |data| assembler.push(&data))?;
        }
        Ok(assembler.finish())
    }
}
