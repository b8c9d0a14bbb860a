//! The functions of Go templates as expressions of the engine.

use super::functions::{ELEMENT, PRESENT};

/// The functions that a template may call, in either form.
pub(super) const FUNCTION_NAMES: [&str; 18] = [
    "json", "default", "join", "upper", "lower", "trim", "eq", "ne", "lt", "le", "gt", "ge", "and", "or",
    "not", "len", "index", "print",
];

/// An argument of a function.
#[derive(Debug, Clone)]
pub(super) struct Argument {
    /// The expression.
    pub(super) text: String,
    /// `true` for a text that is written in the template.
    pub(super) is_literal: bool,
}

/// Returns the expression of a call. The last argument of a call at the end of a pipeline is what is piped.
pub(super) fn call_expression(function: &str, arguments: &[Argument]) -> Result<String, String> {
    let texts: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
    let expression = match (function, &*texts) {
        ("json" | "upper" | "lower" | "trim", [value]) => format!("(({value})|{function})"),
        ("default", [other, value]) => format!("(({value})|default({other}))"),
        ("join", [_, _]) => join_filter_expression(arguments),
        ("eq", [value, others @ ..]) if !others.is_empty() => {
            let others: Vec<_> = others.iter().map(|other| missing_as_nil(other)).collect();
            format!("({} in [{}])", missing_as_nil(value), others.join(", "))
        }
        ("ne", [left, right]) => format!("({} != {})", missing_as_nil(left), missing_as_nil(right)),
        ("lt" | "le" | "gt" | "ge", [left, right]) => {
            format!("(({left}) {} ({right}))", comparison_operator(function))
        }
        ("and" | "or", [_, ..]) => {
            let operands: Vec<_> = texts.iter().map(|text| format!("({text})")).collect();
            format!("({})", operands.join(&format!(" {function} ")))
        }
        ("not", [value]) => format!("(not ({value}))"),
        ("len", [value]) => format!("(({value})|length)"),
        ("index", [value, keys @ ..]) if !keys.is_empty() => {
            let keys: String = keys.iter().map(|key| format!("|{ELEMENT}({key})")).collect();
            format!("(({value}){keys})")
        }
        ("print", [value]) => format!("({value})"),
        (function, _) if FUNCTION_NAMES.contains(&function) => {
            return Err(format!(
                "`{function}` takes {}, not {}",
                expected_arguments(function),
                count_text(texts.len())
            ));
        }
        (function, _) => {
            return Err(format!(
                "there is no function `{function}`; functions are {}",
                FUNCTION_NAMES.join(", ")
            ));
        }
    };
    Ok(expression)
}

/// A member that is missing is compared as `nil`.
fn missing_as_nil(expression: &str) -> String {
    format!("(({expression})|{PRESENT})")
}

/// The list is the first argument, as in `strings.Join`, or the second one if the first one is the separator.
fn join_filter_expression(arguments: &[Argument]) -> String {
    let (list, separator) = match arguments {
        [separator, list] if separator.is_literal => (list, separator),
        [list, separator, ..] => (list, separator),
        _ => return String::new(),
    };
    format!("(({})|join({}))", list.text, separator.text)
}

fn comparison_operator(function: &str) -> &'static str {
    match function {
        "lt" => "<",
        "le" => "<=",
        "gt" => ">",
        _ => ">=",
    }
}

fn expected_arguments(function: &str) -> &'static str {
    match function {
        "default" => "another value and a value",
        "join" => "a list and a separator",
        "eq" | "index" => "two arguments or more",
        "ne" | "lt" | "le" | "gt" | "ge" => "two arguments",
        "and" | "or" => "at least one argument",
        _ => "one argument",
    }
}

fn count_text(count: usize) -> String {
    match count {
        0 => "none".to_owned(),
        1 => "one".to_owned(),
        count => count.to_string(),
    }
}
