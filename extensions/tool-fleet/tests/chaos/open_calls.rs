//! A store of open calls with a file for each record, which outlives its processes.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tool_runtime::{
    call::CallAddress,
    definition::ContentHash,
    open_calls::{OpenCallStore, OpenFilter, OpenRecord, OpenStoreError},
    serde_json,
};

/// The name of the folder, which is in the folder of a run.
const FOLDER: &str = "open-calls";

#[derive(Debug, Clone)]
pub(crate) struct OpenCallFiles(PathBuf);

fn store_error(error: impl ToString) -> OpenStoreError {
    OpenStoreError::Failed(error.to_string())
}

impl OpenCallFiles {
    pub(crate) fn open(folder: &Path) -> Self {
        let path = folder.join(FOLDER);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, address: &CallAddress) -> PathBuf {
        self.0.join(format!("{}.json", ContentHash::of(address)))
    }
}

/// Reads a record; `None` if there is none, or no more.
fn read_record(path: &Path) -> Result<Option<OpenRecord>, OpenStoreError> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(store_error),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(store_error(error)),
    }
}

impl OpenCallStore for OpenCallFiles {
    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        let path = self.path(&record.address);
        if path.exists() {
            return Err(OpenStoreError::Exists);
        }
        let new = path.with_extension("new");
        fs::write(&new, serde_json::to_string(&record).map_err(store_error)?).map_err(store_error)?;
        fs::rename(new, path).map_err(store_error)
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        read_record(&self.path(address))
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        let mut records = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(store_error)? {
            let path = entry.map_err(store_error)?.path();
            if path.extension().is_some_and(|it| it == "json") {
                records.extend(read_record(&path)?.filter(|record| filter.admits(record)));
            }
        }
        Ok(records)
    }

    /// Each address is opened once: its record is the one with the tag.
    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        let path = self.path(&record.address);
        // Only one of several removals at once succeeds.
        match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(store_error(error)),
        }
    }
}
