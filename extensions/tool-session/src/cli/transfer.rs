//! `sessions export` and `sessions import`.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
};

use tool_cli::{Exit, Failure, Program};

use super::{
    list::read_sessions,
    request::{SessionRequest, counted_noun, escaped_line, operation_failure},
};
use crate::{
    SessionError, SessionKey, SharedSessionStore,
    jsonl::{JsonlWriter, from_jsonl},
};

/// The maximum size of an import.
const MAX_IMPORT_BYTES: u64 = 1 << 30;

/// Writes sessions as JSONL, one after another.
pub(super) fn export_sessions(request: &SessionRequest<'_>) -> Result<Exit, Failure> {
    let keys = request.session_keys()?;
    if keys.is_empty() && !request.has_flag("all") {
        return Err(Failure::usage("the names of the sessions are missing; give names, or `--all`"));
    }
    let store = request.open_existing_store()?;
    let mut output = ExportOutput::new(request)?;
    let written = request
        .run_and_close(store, async |store| export_to_output(request, store, &keys, &mut output).await);
    output.finish_or_remove(written)
}

async fn export_to_output(
    request: &SessionRequest<'_>,
    store: &SharedSessionStore,
    keys: &[SessionKey],
    output: &mut ExportOutput<'_>,
) -> Result<String, Failure> {
    request.check_sessions_exist(store, keys).await?;
    let of_all: Vec<SessionKey> = match keys {
        [] => read_sessions(request, store, usize::MAX).await?.into_iter().map(|it| it.key).collect(),
        _ => Vec::new(),
    };
    let mut writer = JsonlWriter::default();
    output.write_lines(&writer.header_line().map_err(|error| operation_failure(&error))?)?;
    for key in keys.iter().chain(&of_all) {
        let export = match store.export(key).await {
            Ok(export) => export,
            // Deleted since it was listed.
            Err(SessionError::NotFound(_)) if keys.is_empty() => continue,
            Err(SessionError::NotFound(_)) => return Err(request.unknown_session_failure(key)),
            Err(error) => return Err(operation_failure(&error)),
        };
        output.write_lines(
            &writer.format_and_count_session(&export).map_err(|error| operation_failure(&error))?,
        )?;
    }
    output.write_lines(&writer.end_line().map_err(|error| operation_failure(&error))?)?;
    let (sessions, entries) = writer.counts();
    Ok(session_and_entry_counts(sessions, entries))
}

fn session_and_entry_counts(sessions: usize, entries: usize) -> String {
    let count = |number: usize, one, many| counted_noun(number.try_into().unwrap_or(u64::MAX), one, many);
    format!("{} with {}", count(sessions, "session", "sessions"), count(entries, "entry", "entries"))
}

/// The output of an export: the standard output, or a new file.
struct ExportOutput<'p> {
    program: &'p Program,
    file: Option<(File, &'p str)>,
}

impl<'p> ExportOutput<'p> {
    fn new(request: &'p SessionRequest<'_>) -> Result<Self, Failure> {
        let program = request.program;
        let Some(path) = request.option_text("file") else { return Ok(Self { program, file: None }) };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| {
            let path = escaped_line(path);
            Failure::new(
                Exit::Usage,
                match error.kind() {
                    io::ErrorKind::AlreadyExists => {
                        format!("the file `{path}` exists; give `--file` a new file")
                    }
                    _ => format!("the file `{path}` cannot be made: {error}"),
                },
            )
        })?;
        Ok(Self { program, file: Some((file, path)) })
    }

    fn write_lines(&mut self, lines: &str) -> Result<(), Failure> {
        match &mut self.file {
            None => self.program.print_json(lines),
            Some((file, path)) => {
                file.write_all(lines.as_bytes()).map_err(|error| write_failure(path, &error))
            }
        }
    }

    /// Completes the file, or removes it if not all sessions were written.
    fn finish_or_remove(self, written: Result<String, Failure>) -> Result<Exit, Failure> {
        let Some((file, path)) = self.file else { return written.map(|_| Exit::Done) };
        let written = written.and_then(|counts| match file.sync_all() {
            Ok(()) => Ok(counts),
            Err(error) => Err(write_failure(path, &error)),
        });
        match written {
            Ok(counts) => self.program.print(&format!("{counts} written to {}\n", escaped_line(path)))?,
            Err(failure) => {
                // The failure says more than one of the removal.
                drop(std::fs::remove_file(path));
                return Err(failure);
            }
        }
        Ok(Exit::Done)
    }
}

fn write_failure(path: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("the file `{}` cannot be written: {error}", escaped_line(path)))
}

/// Adds the sessions of a file, all or none.
pub(super) fn import_sessions(request: &SessionRequest<'_>) -> Result<Exit, Failure> {
    let source = request.option_text("file").unwrap_or_default();
    let text = read_import_text(source)?;
    let exports = from_jsonl(&text).map_err(|error| {
        let source = if source == "-" {
            "the standard input".to_owned()
        } else {
            format!("`{}`", escaped_line(source))
        };
        Failure::quoting(Exit::Usage, format!("{source} cannot be imported: {error}"))
    })?;
    drop(text);
    let entries = exports.iter().map(|export| export.entries.len()).sum();
    let apps: BTreeSet<&str> = exports.iter().map(|export| export.session.key.app()).collect();
    let store = request.location.open(request.program)?;
    let imported = async |store: &SharedSessionStore| {
        store.import(&exports).await.map_err(|error| operation_failure(&error))
    };
    request.run_and_close(store, imported)?;
    request.program.print(&format!("{} imported\n", session_and_entry_counts(exports.len(), entries)))?;
    let others: Vec<_> = apps.into_iter().filter(|app| **app != *request.app).map(escaped_line).collect();
    if let Some((first, others)) = others.split_first() {
        let more =
            if others.is_empty() { String::new() } else { format!(" and {} other apps", others.len()) };
        request
            .program
            .note(&format!("the sessions belong to the app `{first}`{more}: list them by `--app`"));
    }
    Ok(Exit::Done)
}

fn read_import_text(path_or_dash: &str) -> Result<String, Failure> {
    let path = escaped_line(path_or_dash);
    let unreadable = |error: io::Error| {
        let source =
            if path_or_dash == "-" { "the standard input".to_owned() } else { format!("the file `{path}`") };
        let problem = match error.kind() {
            io::ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
            _ => error.to_string(),
        };
        Failure::new(Exit::Usage, format!("{source} cannot be read: {problem}"))
    };
    let mut text = String::new();
    let read = match path_or_dash {
        "-" => io::stdin().lock().take(MAX_IMPORT_BYTES + 1).read_to_string(&mut text),
        path => File::open(Path::new(path))
            .and_then(|file| file.take(MAX_IMPORT_BYTES + 1).read_to_string(&mut text)),
    };
    let bytes = read.map_err(unreadable)?;
    if u64::try_from(bytes).unwrap_or(u64::MAX) > MAX_IMPORT_BYTES {
        return Err(Failure::usage("the import has more than 1 GiB; export fewer sessions at a time"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::session_and_entry_counts;

    #[test]
    fn sessions_and_entries_have_the_number_of_their_count() {
        assert_eq!(session_and_entry_counts(1, 1), "1 session with 1 entry");
        assert_eq!(session_and_entry_counts(2, 0), "2 sessions with 0 entries");
    }
}
