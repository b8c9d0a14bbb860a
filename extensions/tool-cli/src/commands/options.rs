//! The command line of `call`: its own options, and the flags of a tool.

use clap::{Arg, ArgAction, ArgMatches, parser::ValueSource};
use tool_runtime::{ToolDefinition, policy::Escape};

use super::{CALL, first_paragraph};
use crate::{
    Failure, Program,
    approver::{self, ApproveMode},
    flags::{self, CallArguments, Property, argument_properties},
    input,
    sanitize::escaped_line,
    save::Destination,
};

/// The options of `call` itself, without those that have the name of a property of `properties`.
pub(super) fn call_options_not_shadowed_by(properties: Option<&[Property]>) -> Vec<Arg> {
    // An alias of a property has an underscore, and no option has one.
    let is_free =
        |name: &str| !properties.unwrap_or_default().iter().any(|it| it.has_flag && it.flag == name);
    let json = Arg::new("own json")
        .long("json")
        .value_name("JSON")
        .help("The arguments as JSON; @FILE reads a file, - the standard input. Flags override it");
    let output = Arg::new("own output")
        .long("output")
        .value_name("FORM")
        .value_parser(["text", "json"])
        .help("The form of the result. Default: text");
    let save = Arg::new("own save")
        .long("save")
        .value_name("PATH")
        .help("Save images and files of the result in a folder (DIR/) or as a file");
    let force = Arg::new("own force")
        .long("force")
        .action(ArgAction::SetTrue)
        .help("Replace existing files when saving");
    let options = [json, output, save, force, approver::approve_option()].into_iter();
    let free = options.filter(|it| it.get_long().is_none_or(is_free));
    let help = Arg::new("help").short('h').action(ArgAction::SetTrue).help("Print help");
    let help = if is_free("help") { help.long("help") } else { help };
    free.chain([help]).map(|it| it.help_heading("Options of the program")).collect()
}

/// The grammar of one tool.
pub(crate) fn tool_grammar(program: &Program, definition: &ToolDefinition) -> clap::Command {
    let name = definition.name().to_string();
    let properties = argument_properties(definition);
    let unwritable = properties.iter().filter(|it| !it.has_flag).map(|it| format!("{:?}", it.path.join(".")));
    let unwritable: Vec<_> = unwritable.collect();
    let grammar = clap::Command::new(name)
        .about(escaped_line(&first_paragraph(definition.description())))
        .long_about(Escape::LINES.text(definition.description().trim()))
        .override_usage(usage_line(program, definition, &properties))
        .term_width(program.terminal().width())
        .disable_help_flag(true)
        .args(flags::flag_arguments(&properties))
        .args(call_options_not_shadowed_by(Some(&properties)))
        .arg(
            Arg::new("own arguments")
                .value_name("ARGUMENTS")
                .help("The arguments as JSON; @FILE reads a file, - the standard input")
                .help_heading("Options of the program"),
        );
    if unwritable.is_empty() {
        grammar
    } else {
        grammar.after_help(escaped_line(&format!("Only as JSON: {}", unwritable.join(", "))))
    }
}

/// The usage of a tool with its required flags, in lines that fit the terminal.
pub(super) fn usage_line(program: &Program, definition: &ToolDefinition, properties: &[Property]) -> String {
    // `clap` writes "Usage: " before the first line.
    const BEFORE: usize = "Usage: ".len();
    const CONTINUED: usize = BEFORE + "    ".len();
    let required = properties.iter().filter(|it| it.is_always_required && !it.has_inner_flags && it.has_flag);
    let required = required.map(|it| format!("{} <{}>", flags::flag_name(it), it.placeholder()));
    let words = required.chain(["[OPTIONS]".to_owned()]);
    let mut usage = format!("{} {CALL} {}", program.name(), definition.name());
    let mut column = BEFORE + console::measure_text_width(&usage);
    for word in words {
        let word = escaped_line(&word);
        let width = console::measure_text_width(&word);
        if column + 1 + width > program.terminal().width() {
            column = CONTINUED;
            usage.push_str(&format!("\n{}", " ".repeat(column)));
        } else {
            usage.push(' ');
            column += 1;
        }
        usage.push_str(&word);
        column += width;
    }
    usage
}

/// The options before the name of the tool as words; `None` if the arguments are among them.
pub(super) fn option_words_before_tool(before: &ArgMatches) -> Option<Vec<String>> {
    let is_given = |id: &str| before.value_source(id) == Some(ValueSource::CommandLine);
    if is_given("own json") {
        return None;
    }
    let mut words = Vec::new();
    for (id, flag) in [("own output", "--output"), ("own save", "--save"), ("approve", "--approve")] {
        if let Some(value) = before.get_one::<String>(id).filter(|_| is_given(id)) {
            words.extend([flag.to_owned(), value.clone()]);
        }
    }
    if before.get_flag("own force") {
        words.push("--force".to_owned());
    }
    Some(words)
}

/// The options before the name of the tool, and those after it, which take precedence.
pub(super) struct CallOptions<'m> {
    pub(super) before: &'m ArgMatches,
    pub(super) after: &'m ArgMatches,
}

impl CallOptions<'_> {
    fn option_value(&self, id: &str) -> Option<&str> {
        let of = |matches: &'_ ArgMatches| {
            matches.try_get_one::<String>(id).ok().flatten().is_some()
                && matches.value_source(id) == Some(ValueSource::CommandLine)
        };
        let chosen = if of(self.after) { self.after } else { self.before };
        chosen.try_get_one::<String>(id).ok().flatten().map(String::as_str)
    }

    /// The arguments that are given as JSON.
    pub(super) fn json_arguments(&self) -> Result<Option<CallArguments>, Failure> {
        let text = |matches: &'_ ArgMatches, id| matches.try_get_one::<String>(id).ok().flatten().cloned();
        let all =
            [text(self.before, "own json"), text(self.after, "own json"), text(self.after, "own arguments")];
        let mut all = all.into_iter().flatten();
        match (all.next(), all.next()) {
            (Some(_), Some(_)) => Err(Failure::usage("the arguments are given twice as JSON")),
            (text, _) => text.map(|text| input::load_arguments(&text)).transpose(),
        }
    }

    /// The destination of images and files.
    pub(super) fn destination(&self) -> Result<Option<Destination>, Failure> {
        let is_set = |it: &ArgMatches| it.try_get_one::<bool>("own force").ok().flatten() == Some(&true);
        let force = is_set(self.before) || is_set(self.after);
        match self.option_value("own save") {
            Some(_) if self.wants_json() => Err(Failure::usage("`--save` requires `--output text`")),
            None if force => Err(Failure::usage("`--force` requires `--save`")),
            path => path.map(|path| Destination::new(path, force)).transpose(),
        }
    }

    pub(super) fn wants_json(&self) -> bool {
        self.option_value("own output") == Some("json")
    }

    pub(super) fn approve_mode(&self) -> ApproveMode {
        ApproveMode::from_name(self.option_value("approve"))
    }
}
