//! Open calls in stores that several executors share, and that outlive a process.

#[cfg(feature = "sealed-calls")]
mod alterations;
#[cfg(feature = "sealed-calls")]
mod processes;
mod replacements;
#[cfg(feature = "sealed-calls")]
mod sealed;
mod stores;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tool_runtime::{
    Executor,
    call::CallAddress,
    definition::ContentHash,
    executor::ExecutorBuilder,
    open_calls::{OpenCallStore, OpenFilter, OpenRecord, OpenStoreError, ProgramKey},
    prelude::*,
};

use super::building;

/// A store with a file for each record, which outlives the process.
#[derive(Debug, Clone)]
struct Folder(PathBuf);

fn failed(error: impl ToString) -> OpenStoreError {
    OpenStoreError::Failed(error.to_string())
}

impl Folder {
    /// Creates an empty folder.
    fn new() -> Self {
        let name = format!("tool-runtime-open-calls-{}", tool_runtime::call::CallId::generate());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, address: &CallAddress, tag: &ContentHash) -> PathBuf {
        self.0.join(format!("{}-{tag}.json", ContentHash::of(address)))
    }

    /// Returns the files of all records, or of the records of one address.
    fn files(&self, of: Option<&CallAddress>) -> io::Result<Vec<PathBuf>> {
        let start = of.map(|address| ContentHash::of(address).to_string()).unwrap_or_default();
        let is_one = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(&start) && name.ends_with(".json")
        };
        let all = fs::read_dir(&self.0)?.map(|entry| entry.map(|entry| entry.path()));
        Ok(all.collect::<io::Result<Vec<_>>>()?.into_iter().filter(|path| is_one(path)).collect())
    }

    fn read(path: &Path) -> Result<OpenRecord, OpenStoreError> {
        serde_json::from_str(&fs::read_to_string(path).map_err(failed)?).map_err(failed)
    }
}

impl OpenCallStore for Folder {
    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        if !self.files(Some(&record.address)).map_err(failed)?.is_empty() {
            return Err(OpenStoreError::Exists);
        }
        let path = self.path(&record.address, &record.tag);
        let new = path.with_extension("new");
        fs::write(&new, serde_json::to_string(&record).map_err(failed)?).map_err(failed)?;
        fs::rename(new, path).map_err(failed)
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        let files = self.files(Some(address)).map_err(failed)?;
        files.first().map(|path| Self::read(path)).transpose()
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        let records = self.files(None).map_err(failed)?.into_iter().map(|path| Self::read(&path));
        let records = records.collect::<Result<Vec<_>, _>>()?;
        Ok(records.into_iter().filter(|record| filter.admits(record)).collect())
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        let path = self.path(&record.address, &record.tag);
        // Only one of several concurrent renames succeeds.
        match fs::rename(&path, path.with_extension("consumed")) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Pays, and appends to a file.
#[tool(register = false, confirm)]
fn pay(ledger: &Ledger, amount: u128, #[arg(secret)] pin: String) -> Result<String, ToolError> {
    use io::Write;
    let mut file = fs::OpenOptions::new().create(true).append(true).open(&ledger.0)?;
    writeln!(file, "paid {amount} with {pin}")?;
    Ok(format!("paid {amount}"))
}

/// The file to which payments are written.
struct Ledger(PathBuf);

const PAY: &str = r#"{"amount":340282366920938463463374607431768211455,"pin":"hunter2 é\n"}"#;
const PAID: &str = "paid 340282366920938463463374607431768211455";

fn ledger(folder: &Folder) -> PathBuf {
    folder.0.join("ledger")
}

/// Returns the number of payments.
fn payments(folder: &Folder) -> usize {
    let all = fs::read_to_string(ledger(folder)).unwrap_or_default();
    assert!(all.split_terminator("\n\n").all(|line| line == format!("{PAID} with hunter2 é")), "{all}");
    all.split_terminator("\n\n").count()
}

fn paying(folder: &Folder) -> ExecutorBuilder {
    building(Registry::builder().tool::<pay>().provide(Ledger(ledger(folder))))
        .open_calls(folder.clone())
        .program_key(ProgramKey::new([7; 32]))
}

fn executor(folder: &Folder) -> Executor {
    paying(folder).build().unwrap()
}
