//! Methods as tools: a value that is opened at start-up, and the tools that use it.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, bail};
use tool_runtime::prelude::*;

/// A table of daily measurements (invented), with the columns of its file.
pub(crate) struct Observations {
    columns: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
}

/// A statistic of a list of numbers.
#[tool_args]
#[serde(rename_all = "lowercase")]
pub(crate) enum Statistic {
    Mean,
    Sum,
    Min,
    Max,
}

impl Statistic {
    fn of(&self, values: &[f64]) -> f64 {
        match self {
            Self::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Self::Sum => values.iter().sum(),
            Self::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

#[toolset]
impl Observations {
    pub(crate) fn open(path: &Path) -> csv::Result<Self> {
        let mut reader = csv::Reader::from_path(path)?;
        let columns = reader.headers()?.clone();
        let rows = reader.records().collect::<Result<_, _>>()?;
        Ok(Self { columns, rows })
    }

    /// Names the columns of the table of daily observations.
    #[tool(read_only)]
    fn list_columns(&self) -> Vec<&str> {
        self.columns.iter().collect()
    }

    /// Summarizes a column of the table of daily observations, for all rows or for each group of rows.
    #[tool(read_only)]
    fn summarize_column(
        &self,
        /// A column of numbers, e.g. "max_c"; `list_columns` names them.
        column: &str,
        /// The statistic to compute.
        statistic: Statistic,
        /// The column whose values form the groups, e.g. "station".
        group_by: Option<&str>,
    ) -> anyhow::Result<BTreeMap<String, f64>> {
        let column = self.place(column)?;
        let group = group_by.map(|name| self.place(name)).transpose()?;
        let mut groups: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for row in &self.rows {
            // The reader checks that each row has as many fields as the header, so that indexing does not panic.
            let name = group.map_or("all", |at| &row[at]);
            let value = row[column].parse().with_context(|| format!("{:?} is not a number", &row[column]))?;
            groups.entry(name).or_default().push(value);
        }
        let summary = |(name, values): (&str, Vec<f64>)| {
            let value = statistic.of(&values);
            (name.to_owned(), (value * 100.0).round() / 100.0)
        };
        Ok(groups.into_iter().map(summary).collect())
    }

    /// Returns the index of a column; not a tool, because it has no `#[tool]`.
    fn place(&self, name: &str) -> anyhow::Result<usize> {
        match self.columns.iter().position(|column| column == name) {
            Some(at) => Ok(at),
            None => bail!("there is no column {name:?}; the columns are {}", self.list_columns().join(", ")),
        }
    }
}
