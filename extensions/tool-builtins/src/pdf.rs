//! The text of PDF documents, by `pdftotext` in a sandbox: parsers of these documents have mistakes, and documents are
//! hostile.

use std::{
    io::{self, Read},
    ops::RangeInclusive,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::sync::{Mutex, OnceCell};
use tool_runtime::{CancellationToken, prelude::*};

use crate::sandbox::{
    CommandEnd, CommandLine, Confinement, Launcher, OutputSink, RunLimit, Sandbox, ScratchFolder,
    find_system_program, run_blocking,
};

const DOCUMENT_NAME: &str = "document.pdf";

/// Bytes of a document.
const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// Bytes of the text of a document; the rest is left out.
const MAX_TEXT_BYTES: usize = 8 << 20;

#[cfg(any(feature = "files", feature = "web"))]
const TOO_LONG: &str = "a conversion gives at most 8 MiB of text";

/// Pages that are named as left out; a call of `read_file` has no more.
#[cfg(feature = "files")]
const MAX_NAMED_PAGES: usize = 20;

const MAX_MESSAGE_BYTES: usize = 300;

/// Private memory of the program.
const MAX_MEMORY_BYTES: u64 = 1 << 30;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Converts PDF documents to text by the program `pdftotext` (Debian: `poppler-utils`), which sees nothing but the document.
///
/// `FileTools` and `WebTools` use it where the program is found. The sandbox is [required](Sandbox::Required). A clone
/// shares it; one document is converted at a time.
///
/// ```
/// use std::time::Duration;
/// use tool_builtins::PdfToText;
///
/// // `None` if the program is not installed.
/// let converter = PdfToText::find().map(|converter| converter.timeout(Duration::from_secs(10)));
/// # drop(converter);
/// ```
#[derive(Clone, Debug)]
pub struct PdfToText {
    program: PathBuf,
    sandbox: Sandbox,
    readable: Vec<PathBuf>,
    timeout: Duration,
    state: Arc<PdfState>,
}

#[derive(Default)]
struct PdfState {
    sandbox: OnceCell<PdfSandbox>,
    /// Documents of one sandbox could read each other.
    turn: Arc<Mutex<()>>,
}

struct PdfSandbox {
    // First: it ends before its folder is removed.
    launcher: Launcher,
    folder: Arc<ScratchFolder>,
}

impl std::fmt::Debug for PdfState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PdfState").finish_non_exhaustive()
    }
}

impl PdfToText {
    /// The program of the system; `None` if it is not installed.
    #[must_use]
    pub fn find() -> Option<Self> {
        find_system_program("pdftotext").map(Self::new)
    }

    /// The program at the path `program`.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            sandbox: Sandbox::Required,
            readable: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            state: Arc::default(),
        }
    }

    /// Permits the program to read and run what is below `path`, such as its libraries, if they are not those of the system.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.readable.push(path.canonicalize().unwrap_or(path));
        self.with_reset_state()
    }

    /// Chooses between a sandbox and none. Default: [`Sandbox::Required`].
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = sandbox;
        self.with_reset_state()
    }

    /// Sets the time for a document. Default: 30 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    fn with_reset_state(mut self) -> Self {
        self.state = Arc::default();
        self
    }

    async fn start_sandbox(&self) -> Result<PdfSandbox, ToolError> {
        let folder = ScratchFolder::create("tool-pdf-").map_err(|error| folder_error(&error))?;
        let folder = Arc::new(folder);
        let mut confinement = Confinement::new(self.sandbox);
        confinement.readable.clone_from(&self.readable);
        confinement.limits.memory_bytes = MAX_MEMORY_BYTES;
        let launcher = Launcher::start(&confinement, Some(Arc::clone(&folder))).await;
        let launcher = launcher.map_err(|message| ToolError::new(ErrorKind::Unavailable, message))?;
        Ok(PdfSandbox { launcher, folder })
    }

    /// The text of the pages of `document`.
    async fn convert_document(
        &self,
        document: impl Read + Send + 'static,
        pages: Option<RangeInclusive<u32>>,
        cancellation: CancellationToken,
    ) -> Result<ConvertedText, ToolError> {
        let turn = tokio::select! {
            turn = Arc::clone(&self.state.turn).lock_owned() => turn,
            () = cancellation.cancelled() => return Err(ToolError::cancelled()),
        };
        let PdfSandbox { launcher, folder } =
            self.state.sandbox.get_or_try_init(|| self.start_sandbox()).await?;
        let path = folder.path().join(DOCUMENT_NAME);
        let copied = {
            let folder = Arc::clone(folder);
            // A call that is dropped does not end the copy: the turn ends with it.
            run_blocking(move || {
                // What an earlier document made the program leave.
                folder.remove_all_contents()?;
                let mut copy = folder.create_file(DOCUMENT_NAME)?;
                Ok((turn, io::copy(&mut document.take(MAX_DOCUMENT_BYTES + 1), &mut copy)?))
            })
        };
        let (turn, length) = copied.await.map_err(|error| folder_error(&error))?;
        if length > MAX_DOCUMENT_BYTES {
            let message = format!("the document has more than {MAX_DOCUMENT_BYTES} bytes; use a smaller one");
            return Err(ToolError::failed(message));
        }
        let mut words = vec![self.program.to_string_lossy().into_owned()];
        words.extend(["-enc", "UTF-8"].map(str::to_owned));
        if let Some(pages) = pages {
            let (first, last) = (pages.start().to_string(), pages.end().to_string());
            words.extend(["-f".to_owned(), first, "-l".to_owned(), last]);
        }
        words.extend([path.to_string_lossy().into_owned(), "-".to_owned()]);
        let line = CommandLine { words, folder: folder.path().to_owned(), environment: Vec::new() };
        let running = launcher.spawn(line).await.map_err(|error| conversion_error(&error.to_string()))?;
        let mut text = ConversionOutput::default();
        let limit = RunLimit { timeout: self.timeout, cancellation };
        let ending = running.run_to_end(&limit, &mut text).await;
        let ending = ending.map_err(|error| conversion_error(&error.to_string()))?;
        let folder = Arc::clone(folder);
        let removed = run_blocking(move || {
            let _turn = turn;
            folder.remove_all_contents()
        });
        removed.await.map_err(|error| folder_error(&error))?;
        text.into_converted_text(ending, self.timeout)
    }
}

fn folder_error(error: &io::Error) -> ToolError {
    ToolError::failed(format!("the folder of the document: {error}"))
}

fn conversion_error(reason: &str) -> ToolError {
    ToolError::failed(format!("`pdftotext` does not convert the document: {reason}"))
}

/// The output of the program.
#[derive(Default)]
struct ConversionOutput {
    text: Vec<u8>,
    is_cut: bool,
    message: Vec<u8>,
}

/// The text of pages, each with a form feed at its end.
#[derive(Debug, Default)]
struct ConvertedText {
    text: String,
    /// There was more.
    is_cut: bool,
}

impl ConversionOutput {
    fn into_converted_text(self, ending: CommandEnd, timeout: Duration) -> Result<ConvertedText, ToolError> {
        let message: String =
            String::from_utf8_lossy(&self.message).split_whitespace().collect::<Vec<_>>().join(" ");
        match ending {
            CommandEnd::Exited(0) => {
                let text = String::from_utf8_lossy(&self.text).into_owned();
                Ok(ConvertedText { text, is_cut: self.is_cut })
            }
            // The first page is past the last one.
            CommandEnd::Exited(_) if message.contains("Wrong page range") => Ok(ConvertedText::default()),
            CommandEnd::Exited(code) => Err(conversion_error(&format!("{message} (exit code {code})"))),
            CommandEnd::TimedOut => {
                let seconds = timeout.as_secs_f64();
                Err(conversion_error(&format!("it took more than {seconds} seconds; read another document")))
            }
            CommandEnd::Cancelled => Err(ToolError::cancelled()),
            CommandEnd::NotStarted => Err(conversion_error(&format!("its sandbox did not start: {message}"))),
        }
    }
}

impl OutputSink for ConversionOutput {
    fn receive_stdout(&mut self, bytes: &[u8]) {
        let room = MAX_TEXT_BYTES - self.text.len();
        self.is_cut |= bytes.len() > room;
        self.text.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn receive_stderr(&mut self, bytes: &[u8]) {
        let room = MAX_MESSAGE_BYTES - self.message.len();
        self.message.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn mark_possibly_incomplete(&mut self) {
        self.is_cut = true;
    }
}

#[cfg(feature = "files")]
impl crate::files::PdfConverter for PdfToText {
    fn read_pages(
        &self,
        pdf: std::fs::File,
        pages: RangeInclusive<u32>,
        cx: &ToolContext,
    ) -> Result<Vec<String>, ToolError> {
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|_| conversion_error("there is no `tokio` runtime; call the tool in one"))?;
        let wanted = pages.size_hint().0.min(MAX_NAMED_PAGES);
        let converted = self.convert_document(pdf, Some(pages), cx.cancellation().clone());
        let ConvertedText { text, is_cut } = runtime.block_on(converted)?;
        let mut pages: Vec<String> = text.split('\u{c}').map(str::to_owned).collect();
        if is_cut {
            if let Some(last) = pages.last_mut() {
                last.insert_str(0, &format!("[.. its end is left out: {TOO_LONG} ..]\n"));
            }
            let missing = format!("[.. left out, if there is this page: {TOO_LONG}; read it alone ..]");
            pages.resize(wanted.max(pages.len()), missing);
            return Ok(pages);
        }
        // Each page has a form feed at its end, but one that was cut.
        if pages.last().is_some_and(String::is_empty) {
            pages.pop();
        }
        Ok(pages)
    }
}

#[cfg(feature = "web")]
impl crate::web::PdfConverter for PdfToText {
    async fn convert(&self, document: Vec<u8>) -> Result<String, ToolError> {
        let document = io::Cursor::new(document);
        let ConvertedText { text, is_cut } =
            self.convert_document(document, None, CancellationToken::new()).await?;
        // A form feed is no visible character.
        let text = text.replace('\u{c}', "\n");
        Ok(if is_cut { format!("{text}\n\n[.. the rest is left out: {TOO_LONG} ..]\n") } else { text })
    }
}

#[cfg(test)]
mod tests;
