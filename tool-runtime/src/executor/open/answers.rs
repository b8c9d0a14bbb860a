//! Answers to open calls.

use std::{collections::BTreeMap, sync::Arc};

use tool_core::{Arguments, CallAddress, ConfirmationAnswer, ToolDefinition, ToolError, ToolOutput};

use super::{Confirmed, Found, calls::MAX_REPLACEMENTS};
use crate::{
    Executor, ToolCall, ToolResult,
    event::EventKind,
    executor::{
        Batch, event_sink::EventSubject, questions::QuestionAnswers, settings::apply_result_settings,
    },
    open_calls::{Body, CallRef, OpenCall, OpenCallError, OpenKind, OpenRecord},
};

impl Executor {
    /// Returns the open calls in the order in which they arrived: those left to the caller, those that continue after
    /// their batch, and those that wait for an approval.
    ///
    /// Lists all calls in the [store](crate::executor::ExecutorBuilder::open_calls), except those that have expired,
    /// were altered, or were stored under another key; [`resume`](Self::resume) by address reports which of these
    /// applies.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn open_calls(&self) -> Result<Vec<OpenCall>, OpenCallError> {
        self.inner.open.answerable_calls().await
    }

    /// Returns the open call of a record that the program read from the [store](crate::executor::ExecutorBuilder::open_calls), as
    /// [`open_calls`](Self::open_calls) lists it, for a program that lists the calls of one user: a store selects records by an
    /// [`OpenFilter`](crate::open_calls::OpenFilter). The app, the user and the session of a record that is accepted are those of the run
    /// of the call.
    ///
    /// # Errors
    ///
    /// Returns an error if the record has expired, was altered, or was stored under another key.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{
    ///     Executor, RunContext, ToolCall,
    ///     open_calls::{MemoryOpenCalls, OpenFilter, SharedOpenCallStore},
    ///     prelude::*,
    /// };
    ///
    /// /// Removes a file.
    /// #[tool(destructive, confirm)]
    /// fn remove(path: String) {}
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let store = SharedOpenCallStore::new(MemoryOpenCalls::new());
    /// let tools = Registry::builder().tool::<remove>().build()?;
    /// let executor = Executor::builder(tools).open_calls(store.clone()).build()?;
    /// for user in ["ada", "bob"] {
    ///     let call = ToolCall::new("remove", json!({ "path": user }));
    ///     executor.batch(vec![call]).with_run(RunContext::new().with_user(user)).run().await;
    /// }
    ///
    /// let mut filter = OpenFilter::default();
    /// filter.user = Some("ada".to_owned());
    /// let records = store.list(&filter).await?;
    /// assert_eq!(records.len(), 1);
    /// let open = executor.open_call(&records[0])?;
    /// assert_eq!(open.call().arguments.as_str(), r#"{"path":"ada"}"#);
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn open_call(&self, record: &OpenRecord) -> Result<OpenCall, OpenCallError> {
        self.inner.open.read_record(record.clone()).map(Found::into_call)
    }

    /// Returns the received arguments of an open call, including the values of secret parameters, for a program that
    /// runs a call that was left to it.
    ///
    /// # Errors
    ///
    /// Returns an error if no such call is open, `call` is an id that [does not identify one call](CallRef), or the
    /// secrets cannot be read.
    pub async fn open_arguments(
        &self,
        call: impl Into<CallRef>,
    ) -> Result<Arguments<'static>, OpenCallError> {
        let found = self.inner.open.find_open_call(&call.into()).await?;
        self.inner.open.arguments(&found, self.definition_of(&found.body))
    }

    /// Returns the [operation](tool_core::ToolOutput::with_operation_id) under which the work of an open long-running call goes on, which its
    /// interim output named; `None` if it named none, or the call is of another kind.
    ///
    /// # Errors
    ///
    /// Returns an error if no such call is open, or `call` is an id that [does not identify one call](CallRef).
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
    /// let operation = executor.open_operation(outcomes[0].address().unwrap()).await?;
    /// assert_eq!(operation.as_deref(), Some("build-7"));
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub async fn open_operation(&self, call: impl Into<CallRef>) -> Result<Option<String>, OpenCallError> {
        Ok(self.inner.open.find_open_call(&call.into()).await?.body.operation)
    }

    /// Discards an open call, so that it can no longer be answered. Also discards calls that have expired, or were
    /// altered in the store.
    ///
    /// # Errors
    ///
    /// Returns an error if no such call is open, or `call` is an id that [does not identify one call](CallRef).
    pub async fn discard(&self, call: impl Into<CallRef>) -> Result<(), OpenCallError> {
        self.inner.open.discard(&call.into()).await
    }

    /// Submits the final result of an open call that was left to the caller, or that continues after its batch, and
    /// closes the call. Returns the result for the model. Of several concurrent answers, in any process, one succeeds.
    ///
    /// The [`ResultBudget`](crate::policy::ResultBudget) and `skip_summarization` apply as to the result of a tool's
    /// body. Hooks do not, since the answer comes from the program and not from a tool. A program that changes results
    /// by hooks, such as a [`Sanitizer`](crate::hook::Sanitizer), should change the answer before submitting it.
    ///
    /// # Errors
    ///
    /// Returns an error if no such call is open (any more), `call` is an id that [does not identify one call](CallRef),
    /// or it waits for an approval; nothing is changed then.
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
    /// // One open call remains, which its id identifies.
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
        let found = self.inner.open.find_open_call(&call).await?;
        if found.record.kind == OpenKind::Confirmation {
            return Err(OpenCallError::WaitsForPerson(call));
        }
        match self.inner.open.change_present_record(&found.record, None).await {
            Err(OpenCallError::NotOpen(_)) => return Err(OpenCallError::NotOpen(call)),
            done => done?,
        }
        let Body { call, is_reported, .. } = found.body;
        let result = self.result_of(&call, outcome);
        if is_reported == Some(false) {
            self.emit(&found.record.address, &call, EventKind::Finished { result: Arc::new(result.clone()) });
        }
        Ok(result)
    }

    /// Submits an intermediate result of a long-running call, which stays open. Any number of them may precede the
    /// final result, which is given to [`submit_result`](Self::submit_result). If `output` names an operation, the work goes on
    /// under it, and [`open_operation`](Self::open_operation) returns it from then on.
    ///
    /// Returns the result with the id of the call, in the form that the program can pass on to the model. Listeners
    /// receive `output` unchanged, as an [`Updated`](EventKind::Updated) event.
    ///
    /// # Errors
    ///
    /// Returns an error if no such call is open (any more), `call` is an id that [does not identify one call](CallRef),
    /// or it is not a long-running call, or if the store fails to [replace](crate::open_calls::OpenCallStore::replace) its record.
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
        for _ in 0..MAX_REPLACEMENTS {
            let found = self.inner.open.find_open_call(&call).await?;
            match found.record.kind {
                OpenKind::LongRunning => {}
                OpenKind::Confirmation => return Err(OpenCallError::WaitsForPerson(call)),
                OpenKind::External => return Err(OpenCallError::NotLongRunning(call)),
            }
            if let Some(operation) = output.operation_id() {
                match self.inner.open.replace_operation(&found, operation).await {
                    // Another update has replaced it, or it was answered.
                    Err(OpenCallError::NotOpen(_)) => continue,
                    replaced => replaced?,
                }
            }
            let event = EventKind::Updated { attempt: 1, update: output.clone() };
            self.emit(&found.record.address, &found.body.call, event);
            return Ok(self.result_of(&found.body.call, Ok(output)));
        }
        Err(OpenCallError::NotOpen(call))
    }

    /// Returns a batch of the calls whose approvals are answered by `answers`. Its outcomes are in the order in which
    /// the calls arrived, regardless of the order of `answers`.
    ///
    /// A confirmed call runs as it was requested. If the call or its tool has changed since, or its body asks another
    /// question, the person is asked again. A call is closed only when it is about to run: if the batch is dropped
    /// before, it remains open. If it was answered by another batch or process meanwhile, its outcome is an error, and
    /// it does not run. Answers to earlier questions about a call are kept, and are valid again if its tool is the same
    /// again.
    ///
    /// A question is identified by its [`ApprovalRequest`](crate::policy::ApprovalRequest), as in `resume([(&request,
    /// answer)])`; an id or an address identifies only the first question about a call. A request whose call, hint,
    /// payload, cause or expiry was changed is refused: the person answered another question than the stored one.
    ///
    /// The batch belongs to no run, even if the calls arrived in one, unless [`with_run`](Batch::with_run) sets it.
    /// Without a run, bodies have no user, and their changes of session state are discarded. After a restart, the
    /// program creates the run again from its session.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the calls does not wait for an approval (any more), is given by an id that [does not
    /// identify one call](CallRef) or by a request that was changed, has expired, or was altered in its store; then none
    /// of them is run.
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
    /// // A person approves the first call and rejects the second one.
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
            let found = self.inner.open.find_open_call(&call).await?;
            if found.record.kind != OpenKind::Confirmation {
                return Err(OpenCallError::AsksNobody(call));
            }
            if !found.body.given.is_empty() && matches!(call, CallRef::Id(_) | CallRef::Address(_)) {
                return Err(OpenCallError::NeedsQuestion(call));
            }
            let address = found.record.address.clone();
            let order = (address.serial, address.run.map(|run| run.to_string()));
            if confirmed.insert(order, self.confirmed_call(&call, found, answer)?).is_some() {
                return Err(OpenCallError::AnsweredTwice(call));
            }
        }
        Ok(Batch::of_confirmed_calls(self.clone(), confirmed.into_values().collect()))
    }

    /// Returns a batch that runs the bodies of long-running calls again, which continue their work: an agent whose run below the call waits
    /// for answers. The calls were permitted and counted when they began; rules that deny them apply, and hooks see them as they see
    /// a confirmed call. Each stays open under its address until its body returns: the record is consumed with its result, or replaced
    /// if the work goes on.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the calls is not a long-running call (any more), has expired, or was altered in its store; then
    /// none of them is run.
    #[doc(hidden)]
    pub async fn continue_calls(
        &self,
        calls: impl IntoIterator<Item = CallAddress>,
    ) -> Result<Batch, OpenCallError> {
        let mut continued = Vec::new();
        for address in calls {
            let call = CallRef::Address(address);
            let found = self.inner.open.find_open_call(&call).await?;
            if found.record.kind != OpenKind::LongRunning {
                return Err(OpenCallError::NotLongRunning(call));
            }
            let arguments = self.inner.open.arguments(&found, self.definition_of(&found.body))?;
            continued.push(Confirmed::continuing(ToolCall { arguments, ..found.body.call }, found.record));
        }
        Ok(Batch::of_confirmed_calls(self.clone(), continued))
    }

    /// Returns the call of `found`, with all answers to questions about it.
    fn confirmed_call(
        &self,
        call: &CallRef,
        found: Found,
        answer: ConfirmationAnswer,
    ) -> Result<Confirmed, OpenCallError> {
        let arguments = self.inner.open.arguments(&found, self.definition_of(&found.body))?;
        let Found { record, body } = found;
        let request = body.request.ok_or_else(|| OpenCallError::Altered(call.clone()))?;
        let mut answers = QuestionAnswers::new(body.given);
        answers.add(request, answer);
        Ok(Confirmed::new(ToolCall { arguments, ..body.call }, answers, record))
    }

    /// Sends an event of a call whose batch is over to listeners.
    fn emit(&self, address: &CallAddress, call: &ToolCall, kind: EventKind) {
        let definition = self.inner.known.get(&call.name).map(|tool| tool.definition());
        let subject = EventSubject::new(address.clone(), call.name.as_str().into(), definition);
        // An error means that there are no listeners, which is allowed.
        let _ = self.inner.listeners.send(subject.new_event(kind));
    }

    /// Creates the result of `call` for the model.
    fn result_of(&self, call: &ToolCall, outcome: Result<ToolOutput, ToolError>) -> ToolResult {
        let outcome = outcome.map_err(|error| error.of_tool(call.name.to_string()));
        let mut result = ToolResult::new(call.id.clone(), call.name.as_str(), outcome).redirected_as(call);
        let definition = self.inner.known.get(&call.name).map(|tool| tool.definition());
        apply_result_settings(&self.inner.settings, definition, &mut result);
        result
    }

    fn definition_of(&self, body: &Body) -> Option<&ToolDefinition> {
        self.inner.known.get(&body.call.name).map(|tool| tool.definition())
    }
}
