//! Text for a terminal. Only the command line itself adds styles.

use anstyle::{AnsiColor, Style};
use comfy_table::{
    Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Table, Width, presets::NOTHING,
};
use tool_runtime::policy::Escape;

/// The limit of a cell, in characters.
const MAX_CELL_CHARS: usize = 600;

/// The deepest indentation of a flag in the help of `clap`, in columns; a description is deeper.
const MAX_FLAG_INDENT: usize = 6;

/// The style of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Plain,
    Heading,
    Name,
    Error,
    Warning,
    Dim,
}

impl TextStyle {
    fn to_ansi_style(self) -> Style {
        match self {
            Self::Heading => Style::new().bold().underline(),
            Self::Name => Style::new().bold(),
            Self::Plain => Style::new(),
            Self::Error => AnsiColor::Red.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Dim => Style::new().dimmed(),
        }
    }

    fn table_cell(self, text: &str) -> Cell {
        let cell = Cell::new(Escape::LINE.at_most(MAX_CELL_CHARS).text(text));
        match self {
            _ if text.is_empty() => cell,
            Self::Plain => cell,
            Self::Heading => cell.add_attributes(vec![Attribute::Bold, Attribute::Underlined]),
            Self::Name => cell.add_attribute(Attribute::Bold),
            Self::Error => cell.fg(Color::DarkRed),
            Self::Warning => cell.fg(Color::DarkYellow),
            Self::Dim => cell.add_attribute(Attribute::Dim),
        }
    }
}

/// Text for a terminal. Control characters and invisible characters of any text that is added are escaped; all text of
/// tools and models passes through a page.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    colours: bool,
    width: usize,
    /// `true` for a page that programs read: names in tables are not broken, whatever the width.
    has_whole_names: bool,
    text: String,
}

impl Page {
    pub(crate) fn new(colours: bool, width: usize) -> Self {
        Self { colours, width, has_whole_names: false, text: String::new() }
    }

    /// Keeps the names in tables in one piece, so that tables may be wider than the page.
    pub(crate) fn with_whole_names(mut self) -> Self {
        self.has_whole_names = true;
        self
    }

    /// The text, with the styles.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Adds text with its line breaks.
    pub(crate) fn add(&mut self, text: &str) -> &mut Self {
        self.text.push_str(&Escape::LINES.text(text));
        self
    }

    /// Adds blanks, without the limit for blanks in a text.
    pub(crate) fn add_blanks(&mut self, count: usize) -> &mut Self {
        self.text.extend(std::iter::repeat_n(' ', count));
        self
    }

    /// Adds a message after its label, such as `error:`, and breaks long lines between words.
    pub(crate) fn add_message(&mut self, text_style: TextStyle, label: &str, message: &str) -> &mut Self {
        let label = Escape::LINE.text(label);
        let message = Escape::LINES.text(message.trim_end());
        let text = wrap_lines(&format!("{label} {message}"), self.width, "    ");
        let label = label.as_str();
        self.add_styled_text(text_style, label).add(text.strip_prefix(label).unwrap_or(&text)).add("\n")
    }

    /// Adds text with its line breaks, and breaks long lines between words.
    pub(crate) fn add_wrapped_text(&mut self, text: &str) -> &mut Self {
        // Escaped before it is broken: escapes are wider.
        self.add(&wrap_lines(&Escape::LINES.text(text), self.width, ""))
    }

    /// Adds a text as a part of a line.
    pub(crate) fn add_styled_text(&mut self, text_style: TextStyle, text: &str) -> &mut Self {
        let (text, style) = (Escape::LINE.text(text), text_style.to_ansi_style());
        if self.colours && !text.is_empty() && text_style != TextStyle::Plain {
            self.text.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.text.push_str(&text);
        }
        self
    }

    /// Adds an indented line that begins with a styled word, and breaks it between words.
    pub(crate) fn add_item(&mut self, text_style: TextStyle, word: &str, rest: &str) -> &mut Self {
        self.add_indented_item("  ", text_style, word, rest)
    }

    /// Adds a line after `indent` that begins with a styled word, and breaks it between words.
    pub(crate) fn add_indented_item(
        &mut self,
        indent: &str,
        text_style: TextStyle,
        word: &str,
        rest: &str,
    ) -> &mut Self {
        let line = wrap_lines(&Escape::LINE.text(&format!("{indent}{word}{rest}")), self.width, "      ");
        let rest = line.strip_prefix(indent).and_then(|line| line.strip_prefix(word));
        match rest {
            Some(rest) => self.add(indent).add_styled_text(text_style, word).add(rest),
            None => self.add(&line),
        }
        .add("\n")
    }

    /// Adds an indented line below an item.
    pub(crate) fn add_line_below_item(&mut self, text: &str) -> &mut Self {
        let line = wrap_lines(&Escape::LINE.text(&format!("    {text}")), self.width, "      ");
        self.add(&line).add("\n")
    }

    /// Adds an error of `clap`, with the styles of the page, and breaks long lines between words.
    pub(crate) fn add_usage_error(&mut self, text: &str) -> &mut Self {
        let text = &wrap_lines(&Escape::LINES.text(text), self.width, "    ");
        match text.strip_prefix("error:") {
            Some(rest) => self.add_styled_text(TextStyle::Error, "error:").add_clap_help(rest),
            None => self.add_clap_help(text),
        }
    }

    /// Adds help of `clap`, with the styles of the page for headings and flags. It contains descriptions of tools: no line
    /// has the style of an error.
    pub(crate) fn add_clap_help(&mut self, text: &str) -> &mut Self {
        let mut is_after_blank = false;
        for line in text.trim_end().lines().map(str::trim_end) {
            // A flag without a description is followed by an empty one.
            if line.is_empty() && is_after_blank {
                continue;
            }
            is_after_blank = line.is_empty();
            let (indent, words) = line.split_at(line.len() - line.trim_start().len());
            let (text_style, end) =
                match words.find(": ").filter(|at| matches!(&words[..*at], "tip" | "Usage")) {
                    Some(at) => (TextStyle::Heading, at + 1),
                    None if indent.is_empty() && words.ends_with(':') => (TextStyle::Heading, words.len()),
                    None if (2..=MAX_FLAG_INDENT).contains(&indent.len())
                        && begins_with_flag_or_placeholder(words) =>
                    {
                        (TextStyle::Name, words.find("  ").unwrap_or(words.len()))
                    }
                    None => (TextStyle::Plain, 0),
                };
            self.add(indent).add_styled_text(text_style, &words[..end]).add(&words[end..]).add("\n");
        }
        self
    }

    /// Adds a table that is at most as wide as the page, unless names are [whole](Self::with_whole_names). Text is wrapped; the first
    /// column takes at most half of the width.
    pub(crate) fn add_table<const N: usize>(
        &mut self,
        header: [&str; N],
        rows: impl IntoIterator<Item = [(TextStyle, String); N]>,
    ) -> &mut Self {
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        if self.colours {
            table.enforce_styling()
        } else {
            table.force_no_tty()
        };
        table.style_text_only();
        table.set_header(header.map(|name| TextStyle::Heading.table_cell(name)));
        let mut widest = header.first().map(|name| name.len()).unwrap_or_default();
        for row in rows {
            let first = row.first().map(|(_, text)| Escape::LINE.text(text).chars().count());
            widest = first.unwrap_or_default().max(widest);
            table.add_row(row.map(|(text_style, text)| text_style.table_cell(&text)));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let half = self.width / 2;
        let most = if self.has_whole_names { half.max(widest + 2) } else { half };
        // Each column has a padding of two blanks; the padding of the last one does not count.
        table.set_width(u16::try_from(most - half + self.width + 2).unwrap_or(u16::MAX));
        if let Some(first) = table.column_mut(0) {
            // A name is not wrapped if it fits, so that it can be copied.
            let width = |columns| Width::Fixed(u16::try_from(columns).unwrap_or(u16::MAX));
            let (lower, upper) = (width(most.min(widest + 2)), width(most));
            first.set_constraint(ColumnConstraint::Boundaries { lower, upper });
        }
        self.text.push_str(&(table.trim_fmt() + "\n"));
        self
    }
}

/// Returns `true` if a line of help begins with a flag, or with a placeholder such as `<NAME>` or `[FILE]`.
fn begins_with_flag_or_placeholder(words: &str) -> bool {
    let is_placeholder = |rest: &str| rest.starts_with(|first: char| first.is_uppercase());
    words.starts_with('-') || words.strip_prefix(['<', '[']).is_some_and(is_placeholder)
}

/// Breaks long lines between words, and begins each new line with `indent`, or like its line if that has more; existing
/// line breaks are kept.
fn wrap_lines(text: &str, width: usize, indent: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let text = paragraph.trim_start();
        let mut line = paragraph[..paragraph.len() - text.len()].to_owned();
        let indent = if line.len() > indent.len() { line.clone() } else { indent.to_owned() };
        let mut wide = console::measure_text_width(&line);
        for (at, word) in text.split(' ').enumerate() {
            let of_word = console::measure_text_width(word);
            if at > 0 && wide + 1 + of_word > width {
                lines.push(std::mem::replace(&mut line, indent.clone()));
                wide = indent.len();
            } else if at > 0 {
                line.push(' ');
                wide += 1;
            }
            line.push_str(word);
            wide += of_word;
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
