//! Answering open calls.

use std::{collections::BTreeMap, sync::Arc};

use tool_core::{Arguments, CallAddress, ConfirmationAnswer, ToolDefinition, ToolError, ToolOutput};

use super::{CallRef, Confirmed, Found, OpenCall, OpenCallError};
use crate::{
    Executor, ToolCall, ToolResult,
    event::EventKind,
    executor::{Batch, event_sink::Subject, finish::complete, questions::Given},
    open_calls::{Body, OpenKind},
};

impl Executor {
    /// Returns the calls that are not answered yet, in the order in which they came: those left to the caller, those that
    /// go on, and those that wait for a person. They are all that its [store](crate::executor::ExecutorBuilder::open_calls) holds,
    /// without those that have expired, or were altered or stored under another key; [`resume`](Self::resume) by address
    /// says which.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn open_calls(&self) -> Result<Vec<OpenCall>, OpenCallError> {
        self.inner.open.all().await
    }

    /// Returns the arguments of an open call as they came, with the values of secret parameters: for a program that runs
    /// a call which was left to it.
    ///
    /// # Errors
    ///
    /// If no such call is open, `call` is an id that [does not name one call](CallRef), or the secrets cannot be read.
    pub async fn open_arguments(
        &self,
        call: impl Into<CallRef>,
    ) -> Result<Arguments<'static>, OpenCallError> {
        let found = self.inner.open.find(&call.into()).await?;
        self.inner.open.arguments(&found, self.definition_of(&found.body))
    }

    /// Takes an open call back, which will not be answered any more; also one that has expired, or was altered in its
    /// store.
    ///
    /// # Errors
    ///
    /// If no such call is open, or `call` is an id that [does not name one call](CallRef).
    pub async fn discard(&self, call: impl Into<CallRef>) -> Result<(), OpenCallError> {
        self.inner.open.discard(&call.into()).await
    }

    /// Gives the answer to an open call that was left to the caller, or that goes on after its batch: its final result,
    /// which closes the call. The result is what the model reads. Of several answers at once, in any process, one counts.
    ///
    /// The [`ResultBudget`](crate::policy::ResultBudget) and `skip_summarization` apply as to the result of a body. Hooks do not
    /// see the answer: it is that of the program, which no tool of the executor gave. A program that changes results by
    /// hooks, such as a [`Sanitizer`](crate::hook::Sanitizer), changes the answer before it gives it.
    ///
    /// # Errors
    ///
    /// If no such call is open (any more), `call` is an id that [does not name one call](CallRef), or it waits for a person; nothing
    /// is changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Executor, ToolCall, open_calls::OpenCallError, prelude::*};
    ///
    /// /// Opens a page.
    /// #[tool]
    /// fn open_page(url: String) {}
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let tools = Registry::builder().tool::<open_page>().build()?;
    /// let executor = Executor::builder(tools).external(|_| true).build()?;
    /// // A model that gives two calls the same id.
    /// let call = |url: &str| ToolCall::new("open_page", json!({ "url": url })).with_id("call_1");
    /// let outcomes = executor.run(vec![call("a.example"), call("b.example")]).await;
    ///
    /// let refused = executor.submit_result("call_1", Ok("opened".into())).await.unwrap_err();
    /// assert!(matches!(refused, OpenCallError::Ambiguous { .. }));
    /// let second = outcomes[1].address().unwrap();
    /// assert_eq!(executor.submit_result(second, Ok("opened b".into())).await?.text(), "opened b");
    /// // One is left, for which the id is enough.
    /// assert_eq!(executor.submit_result("call_1", Ok("opened a".into())).await?.text(), "opened a");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub async fn submit_result(
        &self,
        call: impl Into<CallRef>,
        outcome: Result<ToolOutput, ToolError>,
    ) -> Result<ToolResult, OpenCallError> {
        let call = call.into();
        let found = self.inner.open.find(&call).await?;
        if found.record.kind == OpenKind::Confirmation {
            return Err(OpenCallError::WaitsForPerson(call));
        }
        match self.inner.open.consume(&found.record).await {
            Err(OpenCallError::NotOpen(_)) => return Err(OpenCallError::NotOpen(call)),
            done => done?,
        }
        let Body { call, told, .. } = found.body;
        let result = self.result_of(&call, outcome);
        if told == Some(false) {
            self.tell(&found.record.address, &call, EventKind::Finished { result: Arc::new(result.clone()) });
        }
        Ok(result)
    }

    /// Gives an intermediate result of a call that goes on after its batch. The call stays open: any number of them may
    /// come before its final result, which [`answer`](Self::submit_result) gives. The result has the id of the call and is for the
    /// model, if the program tells it, with what [`answer`](Self::submit_result) applies to a final one; those who listen get
    /// `output` as it is, as an [`Updated`](EventKind::Updated).
    ///
    /// # Errors
    ///
    /// If no such call is open (any more), `call` is an id that [does not name one call](CallRef), or it is no long-running call.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Executor, ToolCall, prelude::*};
    ///
    /// /// Starts a build.
    /// #[tool(long_running)]
    /// fn build() -> ToolOutput {
    ///     ToolOutput::from("started").with_operation_id("build-7")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let executor = Executor::new(Registry::builder().tool::<build>().build()?);
    /// let outcomes = executor.run(vec![ToolCall::new("build", "{}")]).await;
    /// let address = outcomes[0].address().unwrap();
    /// assert_eq!(executor.update(address, "half of it is built".into()).await?.text(), "half of it is built");
    /// assert_eq!(executor.submit_result(address, Ok("built".into())).await?.text(), "built");
    /// assert!(executor.update(address, "too late".into()).await.is_err());
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub async fn update(
        &self,
        call: impl Into<CallRef>,
        output: ToolOutput,
    ) -> Result<ToolResult, OpenCallError> {
        let call = call.into();
        let found = self.inner.open.find(&call).await?;
        match found.record.kind {
            OpenKind::LongRunning => {}
            OpenKind::Confirmation => return Err(OpenCallError::WaitsForPerson(call)),
            OpenKind::External => return Err(OpenCallError::NotLongRunning(call)),
        }
        let event = EventKind::Updated { attempt: 1, update: output.clone() };
        self.tell(&found.record.address, &found.body.call, event);
        Ok(self.result_of(&found.body.call, Ok(output)))
    }

    /// A batch of the calls that wait for a person and were now answered. Its outcomes are in the order in which the
    /// calls arrived, whatever the order of `answers`. A call that is confirmed is made as it was asked for; if it, or
    /// its tool, has changed since, or its body asks another question, the person is asked again. The calls of a batch
    /// that is dropped before they are about to run wait as before: a call is closed then, and not here. If it was answered
    /// meanwhile, by another batch or process, its outcome is an error, and it does not run. Answers to earlier questions
    /// about a call stay with it, and count again if its tool is again as it was then.
    ///
    /// A question is named by its [`ApprovalRequest`](crate::policy::ApprovalRequest), `resume([(&request, answer)])`; an id or an
    /// address is enough for the first question about a call.
    ///
    /// The batch belongs to no run, also if the calls arrived in one: [`with_run`](Batch::with_run) gives it one. Otherwise the
    /// bodies see no user, and change no state that is kept. After a restart, the program makes that run from its session.
    ///
    /// # Errors
    ///
    /// If one of them does not wait for a person (any more), is given by an id that [does not name one call](CallRef), has
    /// expired, or was altered in its store; then none of them is run.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Executor, ToolCall, context::ConfirmationAnswer, prelude::*};
    ///
    /// /// Removes a file.
    /// #[tool(destructive, confirm)]
    /// fn remove(path: String) -> String {
    ///     format!("{path} is removed")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let executor = Executor::new(Registry::builder().tool::<remove>().build()?);
    /// let call = |path: &str| ToolCall::new("remove", json!({ "path": path }));
    /// let mut outcomes = executor.run(vec![call("a"), call("b")]).await;
    ///
    /// // A person says yes to the first one and no to the second one.
    /// let answer = |confirmed| ConfirmationAnswer { confirmed, payload: Value::Null };
    /// let addresses = outcomes.iter().filter_map(|outcome| outcome.address().cloned());
    /// let answers: Vec<_> = addresses.zip([answer(true), answer(false)]).collect();
    /// let resumed = executor.resume(answers).await?.run().await;
    /// for (pending, outcome) in outcomes.iter_mut().filter(|it| !it.is_finished()).zip(resumed) {
    ///     *pending = outcome;
    /// }
    /// assert_eq!(outcomes[0].result().unwrap().text(), "a is removed");
    /// assert_eq!(outcomes[1].result().unwrap().text(), "Denied: the \"remove\" call is rejected");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub async fn resume<C: Into<CallRef>>(
        &self,
        answers: impl IntoIterator<Item = (C, ConfirmationAnswer)>,
    ) -> Result<Batch, OpenCallError> {
        let answers = answers.into_iter().map(|(call, answer)| (call.into(), answer));
        let answers: Vec<(CallRef, _)> = answers.collect();
        let mut confirmed = BTreeMap::new();
        for (call, answer) in answers {
            let found = self.inner.open.find(&call).await?;
            if found.record.kind != OpenKind::Confirmation {
                return Err(OpenCallError::AsksNobody(call));
            }
            if !found.body.given.is_empty() && !matches!(call, CallRef::Question(..)) {
                return Err(OpenCallError::NeedsQuestion(call));
            }
            let address = found.record.address.clone();
            let place = (address.serial, address.run.map(|run| run.to_string()));
            if confirmed.insert(place, self.confirmed(&call, found, answer)?).is_some() {
                return Err(OpenCallError::AnsweredTwice(call));
            }
        }
        Ok(Batch::resumed(self.clone(), confirmed.into_values().collect()))
    }

    /// The call of `found`, with all answers to questions about it.
    fn confirmed(
        &self,
        call: &CallRef,
        found: Found,
        answer: ConfirmationAnswer,
    ) -> Result<Confirmed, OpenCallError> {
        let arguments = self.inner.open.arguments(&found, self.definition_of(&found.body))?;
        let Found { record, body } = found;
        let request = body.request.ok_or_else(|| OpenCallError::Altered(call.clone()))?;
        let mut given = Given::new(body.given);
        given.add(request, answer);
        Ok(Confirmed::new(ToolCall { arguments, ..body.call }, given, record))
    }

    /// Tells listeners of what happens to a call whose batch is over.
    fn tell(&self, address: &CallAddress, call: &ToolCall, kind: EventKind) {
        let definition = self.inner.known.get(&call.name).map(|tool| tool.definition());
        let subject = Subject::new(address.clone(), Arc::clone(&call.name), definition);
        // Nobody listening is no mistake.
        let _ = self.inner.listeners.send(subject.event(kind));
    }

    /// The result of `call` for the model.
    fn result_of(&self, call: &ToolCall, outcome: Result<ToolOutput, ToolError>) -> ToolResult {
        let outcome = outcome.map_err(|error| error.of_tool(call.name.to_string()));
        let mut result = ToolResult::new(call.id.clone(), Arc::clone(&call.name), outcome);
        let definition = self.inner.known.get(&call.name).map(|tool| tool.definition());
        complete(&self.inner.settings, definition, &mut result);
        result
    }

    fn definition_of(&self, body: &Body) -> Option<&ToolDefinition> {
        self.inner.known.get(&body.call.name).map(|tool| tool.definition())
    }
}
