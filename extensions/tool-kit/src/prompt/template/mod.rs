//! Templates of prompts: those of `minijinja`, in which the actions of Go's `text/template` are rewritten.

mod actions;
mod bounded_text;
mod functions;
mod operands;
mod rewrite;
mod scan;
mod scope;
mod tokens;

use std::{collections::BTreeMap, fmt, sync::Arc};

use minijinja::{Environment, Error, UndefinedBehavior, Value, syntax::SyntaxConfig, value::Serde};
use serde_json::Value as Json;

use self::{
    bounded_text::BoundedText,
    rewrite::{RewrittenText, rewrite_actions},
};

/// The name by which a template has the whole input.
const INPUT: &str = "__input";

/// The name of the only template of its environment; without an extension, so that the engine escapes no value.
const TEMPLATE: &str = "prompt";

/// The instructions that a rendering may take.
const MAX_STEPS: u64 = 1_000_000;

/// The maximum length of a rendered text.
const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// The error of a text that is longer.
const TOO_LONG: &str = "the text exceeds 4194304 bytes; shorten what is repeated";

/// A compiled template.
#[derive(Clone)]
pub(crate) struct Template {
    environment: Arc<Environment<'static>>,
    text: Arc<RewrittenText>,
}

/// A problem of a template, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateProblem {
    /// The offset in the text of the template, in bytes.
    pub(crate) offset: usize,
    pub(crate) message: String,
}

impl TemplateProblem {
    fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }
}

impl Template {
    /// Compiles a text.
    pub(crate) fn compile(text: &str) -> Result<Self, TemplateProblem> {
        let mut text = rewrite_actions(text)?;
        let mut environment = Environment::new();
        environment.set_syntax(template_syntax(&text)?);
        environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        environment.set_fuel(Some(MAX_STEPS));
        functions::configure_environment(&mut environment);
        environment
            .add_template_owned(TEMPLATE, std::mem::take(&mut text.text))
            .map_err(|error| problem_of_error(&text, &error))?;
        Ok(Self { environment: Arc::new(environment), text: Arc::new(text) })
    }

    /// Renders the template. The members of an object are variables, and `{{ . }}` is the whole input.
    pub(crate) fn render(&self, input: &Json) -> Result<String, TemplateProblem> {
        let to_problem = |error: Error| problem_of_error(&self.text, &error);
        let template = self.environment.get_template(TEMPLATE).map_err(to_problem)?;
        let mut output = BoundedText::default();
        if let Err(error) = template.render_captured_to(variables_of(input), &mut output) {
            return Err(match output.is_full() {
                false => to_problem(error),
                true => TemplateProblem::new(0, TOO_LONG),
            });
        }
        output.into_string().ok_or_else(|| TemplateProblem::new(0, TOO_LONG))
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").finish_non_exhaustive()
    }
}

fn template_syntax(text: &RewrittenText) -> Result<SyntaxConfig, TemplateProblem> {
    // A line break at the end is a part of the text, as in Go.
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    syntax.map_err(|error| problem_of_error(text, &error))
}

/// Returns the variables of a rendering.
fn variables_of(input: &Json) -> Value {
    let whole = Value::from(Serde(input));
    let members = input.as_object().into_iter().flatten();
    let members = members.map(|(name, _)| (name.clone(), whole.get_attr(name).unwrap_or_default()));
    let all: BTreeMap<String, Value> = members.chain([(INPUT.to_owned(), whole.clone())]).collect();
    Value::from_pairs(all)
}

fn problem_of_error(text: &RewrittenText, error: &Error) -> TemplateProblem {
    let offset = match (error.range(), error.line()) {
        (Some(range), _) => text.original_offset(range.start),
        (None, Some(line)) => text.offset_of_line(line),
        (None, None) => 0,
    };
    TemplateProblem::new(offset, functions::error_text(error))
}

#[cfg(test)]
mod tests;
