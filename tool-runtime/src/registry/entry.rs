#[cfg(feature = "executor")]
use std::sync::OnceLock;
use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use tokio::{runtime::Handle, time::timeout};
use tool_core::{
    Arguments, BoxFuture, Confirmation, Dependency, ErrorKind, Prepared, ProvidedValues, Redirect,
    SourceLocation, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, WithCallId,
    internals::{ToolSteps, within_call},
};

use super::{
    AvailableTools, BuildDiagnostic, Check, DecisionGuard,
    compiled::{CompiledSchemas, OnceSchemas, unusable_schemas_error},
    remote::{RemoteFacts, steps_of},
};
use crate::{
    arguments::{self, Lenience, Repair},
    guard::{Guarded, Panic, catch},
    panics::{GuardedCall, catch_result},
};

/// The definition of a tool and its other constant properties, read once.
#[derive(Clone)]
pub(crate) struct ToolFacts {
    pub(super) definition: ToolDefinition,
    pub(super) needs: Vec<Dependency>,
    pub(super) site: Option<SourceLocation>,
    only_decodes: bool,
    pub(super) steps: ToolSteps,
    /// Those of them that another process takes.
    pub(super) remote: Option<RemoteFacts>,
    pub(super) has_preparation: bool,
    retries_blindly: bool,
    holds_arguments: bool,
    pub(super) redirect: Option<Redirect>,
}

impl ToolFacts {
    /// Reads the facts of `tool`.
    ///
    /// # Errors
    ///
    /// Returns the message of a panic.
    pub(crate) fn of(tool: &dyn Tool) -> Result<Self, String> {
        catch(|| {
            let (steps, remote) = steps_of(tool);
            Self {
                definition: tool.definition().clone(),
                needs: tool.needs().to_vec(),
                site: tool.site(),
                only_decodes: tool.only_decodes(),
                steps,
                has_preparation: steps.prepares_arguments || remote.is_some_and(RemoteFacts::is_prepared),
                remote,
                retries_blindly: tool.retries_blindly(),
                holds_arguments: tool.holds_arguments(),
                redirect: tool.redirect(),
            }
        })
        .map_err(Panic::into_message)
    }

    /// Adds a diagnostic for each value that the tool needs and that is not provided.
    pub(super) fn report_missing_values(
        &self,
        provided: &[&ProvidedValues],
        per_run: &[Dependency],
        diagnostics: &mut Vec<BuildDiagnostic>,
    ) {
        // Every registry provides its own.
        let available = Dependency::of::<AvailableTools>();
        for needed in self.needs.iter().filter(|needed| **needed != available) {
            if !provided.iter().any(|it| it.contains(needed)) && !per_run.contains(needed) {
                diagnostics.push(BuildDiagnostic::NotProvided {
                    tool: self.definition.name().to_string(),
                    site: self.site,
                    type_name: needed.type_name(),
                    is_in_arc: provided.iter().any(|it| it.contains_in_arc(needed)),
                    provided: Arc::new(provided.iter().flat_map(|it| it.type_names()).collect()),
                });
            }
        }
    }
}

/// A tool with its compiled schemas.
pub(crate) struct Entry {
    tool: Arc<dyn Tool>,
    facts: ToolFacts,
    schemas: Arc<OnceSchemas>,
    lenience: Lenience,
    /// The name as results share it, once there is a result.
    #[cfg(feature = "executor")]
    shared_name: OnceLock<Arc<str>>,
    /// Dropped last, so that the panic barrier catches a panic of the tool's `Drop`.
    _tool: Guarded<Arc<dyn Tool>>,
}

impl Entry {
    /// Compiles the schemas of `tool`; adds every mistake in them to `diagnostics`. The tool's own strictness
    /// takes precedence over `lenience`.
    pub(super) fn new(
        tool: Arc<dyn Tool>,
        facts: ToolFacts,
        lenience: Lenience,
        diagnostics: &mut Vec<BuildDiagnostic>,
    ) -> Option<Self> {
        let mut unanswered = Vec::new();
        let entry = Self::uncompiled(tool, facts, lenience, &mut unanswered);
        let is_valid = match entry.compiled() {
            Ok(_) => true,
            Err(mistakes) => {
                diagnostics.extend_from_slice(mistakes);
                false
            }
        };
        diagnostics.append(&mut unanswered);
        is_valid.then_some(entry)
    }

    /// Creates an entry whose schemas are compiled by its first call; as [`new`](Self::new).
    pub(super) fn uncompiled(
        tool: Arc<dyn Tool>,
        facts: ToolFacts,
        lenience: Lenience,
        diagnostics: &mut Vec<BuildDiagnostic>,
    ) -> Self {
        diagnostics.extend(unanswered_checks(&*tool, &facts));
        let coercion = lenience.coercion;
        let coercion = facts.definition.metadata().strict.map_or(coercion, |strict| !strict);
        let lenience = Lenience { coercion, ..lenience };
        let _tool = Guarded::new(Arc::clone(&tool));
        Self {
            tool,
            facts,
            schemas: Arc::default(),
            lenience,
            #[cfg(feature = "executor")]
            shared_name: OnceLock::new(),
            _tool,
        }
    }

    /// Returns the compiled schemas, which are compiled now if they were not before.
    ///
    /// # Errors
    ///
    /// Returns all mistakes in them.
    #[inline]
    pub(crate) fn compiled(&self) -> Result<&CompiledSchemas, &[BuildDiagnostic]> {
        self.schemas.get_or_compile(&self.facts)
    }

    /// Returns `true` if the schemas were compiled before.
    #[cfg(feature = "executor")]
    pub(crate) fn is_compiled(&self) -> bool {
        self.schemas.is_compiled()
    }

    /// Returns the compiled schemas for a call.
    #[inline]
    fn schemas(&self) -> Result<&CompiledSchemas, ToolError> {
        self.compiled().map_err(unusable_schemas_error)
    }

    /// Returns the same tool with another lenience, where it has none of its own.
    pub(super) fn with_lenience(&self, coercion: Option<bool>, repair: Option<Repair>) -> Self {
        let coercion = coercion.filter(|_| self.definition().metadata().strict.is_none());
        Self {
            tool: Arc::clone(&self.tool),
            facts: self.facts.clone(),
            schemas: Arc::clone(&self.schemas),
            lenience: Lenience {
                coercion: coercion.unwrap_or(self.lenience.coercion),
                repair: repair.unwrap_or(self.lenience.repair),
            },
            #[cfg(feature = "executor")]
            shared_name: self.shared_name.clone(),
            _tool: self._tool.clone(),
        }
    }

    pub(crate) fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    pub(super) fn site(&self) -> Option<SourceLocation> {
        self.facts.site
    }

    /// Returns `true` if the tool has `retry(..)` and none of its errors can be transient.
    pub(super) fn retries_blindly(&self) -> bool {
        self.facts.retries_blindly
    }

    #[inline]
    pub(crate) fn definition(&self) -> &ToolDefinition {
        &self.facts.definition
    }

    /// Returns the name of the tool, for results.
    #[cfg(feature = "executor")]
    pub(crate) fn shared_name(&self) -> &Arc<str> {
        self.shared_name.get_or_init(|| self.definition().name().as_str().into())
    }

    pub(super) fn facts(&self) -> &ToolFacts {
        &self.facts
    }

    /// Validates and coerces the arguments, without decoding or running.
    pub(super) fn validate_arguments<'a>(
        &self,
        arguments: Arguments<'a>,
    ) -> Result<Arguments<'a>, ToolError> {
        let (definition, lenience) = (self.definition(), self.lenience);
        let fitting = catch_result(|| {
            let foreign = self.schemas()?.foreign.as_ref();
            arguments::valid_arguments_form(&*self.tool, definition, foreign, arguments, lenience)
        });
        fitting.map_err(|error| error.of_tool(self.definition().name().to_string()))
    }

    /// Returns `true` if no code of the tool runs before its body, except to decode the arguments.
    pub(crate) fn only_decodes(&self) -> bool {
        self.facts.only_decodes
    }

    /// Returns `true` if the tool has a secret parameter.
    pub(crate) fn has_secret(&self) -> bool {
        !self.definition().metadata().secrets.is_empty()
    }

    /// Returns `true` if arguments that are not valid JSON are repaired.
    pub(super) fn repairs_arguments(&self) -> bool {
        self.lenience.repair != Repair::Off
    }

    /// Returns the repaired arguments of a call; `None` where they stay unchanged, because they are valid JSON
    /// or because the tool does not run on the repaired text.
    pub(crate) fn repaired_arguments(&self, arguments: &Arguments<'static>) -> Option<Arguments<'static>> {
        let repair = self.lenience.repair;
        if repair == Repair::Off {
            return None;
        }
        let (text, correction) = arguments::repaired_text(self.definition(), arguments, repair).ok()??;
        Some(arguments.clone().corrected(text, vec![correction]))
    }

    /// The first half of a call: validates without running.
    pub(crate) fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        catch_result(|| self.tool.prepare(self.normalize_arguments(arguments)?))
            .map_err(|error| error.of_tool(self.definition().name().to_string()))
    }

    /// The first half of a call with guards: the guards see, and the tool decodes, the [canonical
    /// text](ToolDefinition::canonical) of the arguments.
    pub(crate) fn prepare_canonical<'a>(
        &'a self,
        arguments: Arguments<'a>,
    ) -> Result<Prepared<'a>, ToolError> {
        let canonical = self.canonical_arguments(arguments.clone())?;
        // Values that the schema accepts and the type rejects are reported as received.
        self.prepare_from_canonical(canonical).or_else(|error| self.prepare(arguments).and(Err(error)))
    }

    /// The first half of a call from a canonical text: nothing is rewritten or coerced again.
    pub(crate) fn prepare_from_canonical<'a>(
        &'a self,
        canonical: Arguments<'a>,
    ) -> Result<Prepared<'a>, ToolError> {
        catch_result(|| self.tool.prepare(canonical.lenient(false)))
            .map_err(|error| error.of_tool(self.definition().name().to_string()))
    }

    /// Validates the arguments and returns their canonical text.
    pub(crate) fn canonical_arguments<'a>(
        &self,
        arguments: Arguments<'a>,
    ) -> Result<Arguments<'a>, ToolError> {
        self.definition().canonical(self.validate_arguments(arguments)?)
    }

    /// Prepares the call and returns its future, to be polled within its call.
    #[inline]
    pub(crate) fn start_unguarded<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
    ) -> Result<GuardedCall<'a, ToolOutput>, ToolError> {
        catch_result(|| self.tool.start(self.normalize_arguments(arguments)?, cx))
            .map(GuardedCall::new)
            .map_err(|error| error.of_tool(self.definition().name().to_string()))
    }

    /// The second half of one attempt, without timeout and without validation of the result.
    pub(crate) fn start_prepared<'a>(
        prepared: Prepared<'a>,
        cx: &'a ToolContext,
    ) -> Result<WithCallId<GuardedCall<'a, ToolOutput>>, ToolError> {
        let running = catch_result(|| Ok(prepared.run(cx)))?;
        Ok(WithCallId::new(cx.call_id().clone(), GuardedCall::new(running)))
    }

    /// Validates `arguments` and runs the call when the future is first polled; a panic in either is an error
    /// of the call. Both share one panic barrier, since most calls complete in their first poll.
    #[inline]
    pub(super) fn call<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
        guard: DecisionGuard,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send + 'a {
        let (mut arguments, mut running) = (Some(arguments), Guarded::default());
        poll_fn(move |task| {
            let mut answer = None;
            let step = || -> Result<(), ToolError> {
                if let Some(arguments) = arguments.take() {
                    running.set(self.start_checked(arguments, cx, guard)?);
                }
                let polled = running.get_mut().ok_or_else(completed_error)?.as_mut();
                if let Poll::Ready(result) = within_call(cx.call_id().clone(), || polled.poll(task)) {
                    answer = Some(result);
                    drop(running.take());
                }
                Ok(())
            };
            let step = catch(step);
            let result = match (answer, step) {
                // A panic of the body's `Drop` does not discard the result.
                (Some(result), _) => result,
                (None, Ok(Ok(()))) => return Poll::Pending,
                (None, Ok(Err(error))) => Err(error),
                (None, Err(panic)) => Err(panic.into()),
            };
            Poll::Ready(self.validate_result(cx, result))
        })
    }

    /// Adds the actions of the context to the result of an attempt and validates it against the output schema.
    #[inline]
    pub(crate) fn validate_result(
        &self,
        cx: &ToolContext,
        result: Result<ToolOutput, ToolError>,
    ) -> Result<ToolOutput, ToolError> {
        let result = cx.conclude(result);
        // A call that has run was prepared.
        let promise = self.compiled().ok().and_then(|schemas| schemas.promise.as_ref());
        if result.is_ok() && promise.is_none() {
            return result;
        }
        match (result, promise) {
            // A failure carries an explanation instead of a result.
            (Ok(output), _) if output.is_failure() => Ok(output),
            // Work that continues after the batch has no result yet.
            (Ok(output), _) if output.operation_id().is_some() && output.is_empty() => Ok(output),
            // The stream had no items.
            (Ok(output), Some(_)) if self.definition().metadata().merge && output.is_empty() => Ok(output),
            (Ok(output), Some(promise)) => arguments::check_output_schema(promise, output),
            (result, _) => result,
        }
        .map_err(|error| error.of_tool(self.definition().name().to_string()))
    }

    /// Brings `arguments` into the form that the tool decodes.
    #[inline]
    fn normalize_arguments<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        let ToolFacts { only_decodes, holds_arguments, .. } = self.facts;
        let foreign = self.schemas()?.foreign.as_ref();
        if only_decodes && holds_arguments && foreign.is_none() && !self.repairs_arguments() {
            // Most tools: nothing is repaired, rewritten or validated before the tool decodes it.
            return Ok(arguments.lenient(self.lenience.coercion));
        }
        arguments::decodable_arguments(&*self.tool, self.definition(), foreign, arguments, self.lenience)
    }

    /// Validates the call and returns its future.
    #[inline]
    fn start_checked<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
        guard: DecisionGuard,
    ) -> Result<BoxFuture<'a>, ToolError> {
        let (tool, metadata) = (&*self.tool, self.definition().metadata());
        let ready = self.normalize_arguments(arguments)?;
        // The arguments are validated first, so that an invalid call costs no approval.
        if let Err(refused) = guard.check(metadata) {
            return tool.prepare(ready).and(Err(refused));
        }
        let running = tool.start(ready, cx)?;
        Ok(match metadata.timeout {
            None => running,
            Some(limit) => Box::pin(run_with_timeout(limit, running)),
        })
    }
}

/// Returns a diagnostic for each check of `tool` that its calls do not answer. External calls are excluded.
fn unanswered_checks(tool: &dyn Tool, facts: &ToolFacts) -> Vec<BuildDiagnostic> {
    let (metadata, answers) = (facts.definition.metadata(), tool.checks());
    let sometimes = metadata.confirmation == Confirmation::Sometimes;
    // The calls of a tool that redirects are judged as those of another one: its own checks would be lost.
    let redirects = facts.steps.redirects_calls;
    let asks = metadata.confirmation != Confirmation::Never;
    let claims = [
        (metadata.permission && (redirects || !answers.permission), Check::Permission),
        (asks && redirects || sometimes && !answers.confirmation, Check::Confirmation),
    ];
    let claims = claims.into_iter().filter(|(open, _)| *open && !tool.is_external());
    let diagnostic = |(_, check)| {
        let name = facts.definition.name().to_string();
        BuildDiagnostic::MissingCheck { tool: name, site: facts.site, check }
    };
    claims.map(diagnostic).collect()
}

/// The error of polling a completed call.
fn completed_error() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "the call has already completed")
}

/// Runs the future with the timeout `limit`.
async fn run_with_timeout(limit: Duration, running: BoxFuture<'_>) -> Result<ToolOutput, ToolError> {
    // There is no way to test for an enabled timer: without one, creating a timer panics.
    let running = GuardedCall::new(running);
    let timed = Handle::try_current().ok().and_then(|_| catch(|| timeout(limit, running)).ok());
    let Some(timed) = timed else {
        let message = "it has a `timeout`, but there is no tokio runtime with a timer; \
                       call it within `#[tokio::main]`, or build the runtime with `enable_all`";
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    };
    timed.await.unwrap_or_else(|_| {
        let message = format!("no result after {limit:?}");
        Err(ToolError::new(ErrorKind::TimedOut, message))
    })
}
