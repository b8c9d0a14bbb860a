//! Files of lines that processes write beside each other, and that outlive them.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::time::Instant;

/// A file to which each line is added by one write.
pub(crate) struct Lines(File);

impl Lines {
    pub(crate) fn open(folder: &Path, name: &str) -> Self {
        Self(OpenOptions::new().create(true).append(true).open(folder.join(name)).unwrap())
    }

    pub(crate) fn add_line(&self, line: &str) {
        let line = format!("{}\n", line.replace('\n', " "));
        assert_eq!((&self.0).write(line.as_bytes()).unwrap(), line.len());
    }

    /// Reads the lines of a file; none without a file.
    pub(crate) fn read(folder: &Path, name: &str) -> Vec<String> {
        let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// The clock of the lines: the time since an instant of a runtime, whose clock may be paused; `None` is the clock of the machine, which processes share.
#[derive(Clone, Copy)]
pub(crate) struct Clock(pub(crate) Option<Instant>);

impl Clock {
    /// Returns the time in milliseconds.
    pub(crate) fn millis(self) -> u64 {
        let since = match self.0 {
            Some(start) => start.elapsed(),
            None => SystemTime::now().duration_since(UNIX_EPOCH).unwrap(),
        };
        u64::try_from(since.as_millis()).unwrap()
    }
}

/// A folder of one run, which stays if its test fails.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("chaos-{name}-{}-{number}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        match std::thread::panicking() {
            true => eprintln!("the lines of the run are in {}", self.0.display()),
            false => drop(fs::remove_dir_all(&self.0)),
        }
    }
}
