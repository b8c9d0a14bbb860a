//! A shell command, as far as the policy looks at it.

/// Programs that run what the configuration of their folder names, or its scripts.
const FOLDER_PROGRAMS: &[&str] = &[
    "ant", "bazel", "bundle", "cargo", "cmake", "composer", "deno", "dotnet", "git", "go", "gradle", "just",
    "make", "meson", "mix", "mvn", "ninja", "npm", "npx", "nox", "pnpm", "poetry", "pytest", "rake", "rustc",
    "sbt", "task", "tox", "uv", "yarn",
];

/// All simple commands of a text, wherever they stand in it, and what makes the text unclear.
#[derive(Debug, Default)]
pub(super) struct ShellScript {
    pub(super) commands: Vec<SimpleCommand>,
    pub(super) redirections: Vec<Redirection>,
    pub(super) doubts: Vec<Doubt>,
}

/// A program, builtin or function with its arguments.
#[derive(Debug)]
pub(super) struct SimpleCommand {
    /// At least one.
    pub(super) words: Vec<ShellWord>,
    /// The begin of its source, for messages.
    pub(super) source: String,
}

/// A word after the removal of quotes.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellWord {
    /// Its value; of a word with an expansion, only the literal parts.
    pub(super) text: String,
    /// The kind of the expansion in it, if there is one.
    pub(super) expansion: Option<&'static str>,
    /// Has a part in quotes, or behind a backslash.
    pub(super) is_quoted: bool,
}

/// A redirection from or to a file.
#[derive(Debug)]
pub(super) struct Redirection {
    pub(super) path: String,
    pub(super) writes: bool,
}

/// Something that the policy does not read as the shell does, or whose effect it does not know.
#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) what: &'static str,
    /// The place in the text, for messages.
    pub(super) source: String,
}

impl ShellWord {
    /// A word that the shell passes on as it stands.
    fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    pub(super) fn has_no_expansion(&self) -> bool {
        self.expansion.is_none()
    }
}

impl ShellScript {
    /// The redirections as commands `<` and `>`, for the rules that restrict.
    pub(super) fn redirections_as_commands(&self) -> Vec<SimpleCommand> {
        let command = |redirection: &Redirection| {
            let (name, path) = (if redirection.writes { ">" } else { "<" }, redirection.path.as_str());
            SimpleCommand {
                words: vec![ShellWord::plain(name), ShellWord::plain(path)],
                source: format!("{name} {path}"),
            }
        };
        self.redirections.iter().map(command).collect()
    }
}

impl SimpleCommand {
    /// The last name of the command's path.
    pub(super) fn program_name(&self) -> &str {
        self.words.first().map_or("", |word| base_name(&word.text))
    }

    /// Returns `true` if the program is another one, or runs other ones, in another folder: by its path, or by what it finds there.
    pub(super) fn depends_on_folder(&self) -> bool {
        let program = self.words.first().map_or("", |word| word.text.as_str());
        FOLDER_PROGRAMS.contains(&self.program_name()) || (program.contains('/') && !program.starts_with('/'))
    }

    pub(super) fn changes_folder(&self) -> bool {
        matches!(self.program_name(), "cd" | "pushd" | "popd")
    }
}

/// The last name of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
