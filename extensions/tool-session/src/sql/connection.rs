//! The differences between engines.

use std::{future::Future, ops::ControlFlow};

use super::SqlStatement;
use crate::SessionError;

/// A connection of a store, in a transaction.
pub(crate) trait SqlConnection: Send {
    /// A row of a result.
    type Row: SqlRow;

    /// The end of a query that locks the rows that it returns until the transaction ends. Empty if each transaction that writes has the
    /// database for itself.
    const ROW_LOCK: &'static str;

    /// The statement by which the index of notes forgets the words of deleted ones, if it keeps them.
    const FORGET_TERMS: Option<&'static str>;

    /// The statement that returns the next epoch.
    const NEXT_EPOCH: &'static str;

    /// The maximum number of rows of one statement.
    const MAX_ROWS: usize;

    /// `true` if all rows of a result are sent, whether they are read or not.
    const SENDS_ALL_ROWS: bool;

    /// Runs a statement; returns the number of rows that it changed.
    fn execute(
        &mut self,
        statement: SqlStatement<'_>,
    ) -> impl Future<Output = Result<u64, SessionError>> + Send;

    /// Runs a query, and reads its rows until `read_row` breaks.
    fn fetch_until(
        &mut self,
        statement: SqlStatement<'_>,
        read_row: impl FnMut(&Self::Row) -> Result<ControlFlow<()>, SessionError> + Send,
    ) -> impl Future<Output = Result<(), SessionError>> + Send;

    /// Runs a query, and reads all of its rows.
    fn fetch_all<T: Send>(
        &mut self,
        statement: SqlStatement<'_>,
        read_row: fn(&Self::Row) -> Result<T, SessionError>,
    ) -> impl Future<Output = Result<Vec<T>, SessionError>> + Send {
        async move {
            let mut values = Vec::new();
            self.fetch_until(statement, |row| {
                values.push(read_row(row)?);
                Ok(ControlFlow::Continue(()))
            })
            .await?;
            Ok(values)
        }
    }

    /// Runs a query, and reads its first row, if any.
    fn fetch_optional<T: Send>(
        &mut self,
        statement: SqlStatement<'_>,
        read_row: fn(&Self::Row) -> Result<T, SessionError>,
    ) -> impl Future<Output = Result<Option<T>, SessionError>> + Send {
        async move { Ok(self.fetch_all(statement, read_row).await?.into_iter().next()) }
    }
}

/// A row of texts and integers, by the positions of its columns.
pub(crate) trait SqlRow {
    /// Reads a text.
    fn text(&self, index: usize) -> Result<String, SessionError>;

    /// Reads a text that may be absent.
    fn optional_text(&self, index: usize) -> Result<Option<String>, SessionError>;

    /// Reads an integer.
    fn integer(&self, index: usize) -> Result<i64, SessionError>;

    /// Reads a number that is never negative.
    fn number(&self, index: usize) -> Result<u64, SessionError> {
        self.integer(index).map(|value| u64::try_from(value).unwrap_or_default())
    }
}

/// Defines [`SqlConnection`] and [`SqlRow`] for an engine of `sqlx`.
macro_rules! sqlx_connection {
    (
        $connection:ty, $row:ty, $store_error:path, $query:expr,
        { $($constants:tt)* }
    ) => {
        impl $crate::sql::SqlConnection for $connection {
            type Row = $row;

            $($constants)*

            async fn execute(&mut self, statement: $crate::sql::SqlStatement<'_>) -> Result<u64, $crate::SessionError> {
                let query = $crate::sql::bind_values!($query(statement.sql), statement.values);
                query.execute(self).await.map(|result| result.rows_affected()).map_err($store_error)
            }

            async fn fetch_until(
                &mut self,
                statement: $crate::sql::SqlStatement<'_>,
                mut read_row: impl FnMut(&$row) -> Result<std::ops::ControlFlow<()>, $crate::SessionError> + Send,
            ) -> Result<(), $crate::SessionError> {
                let query = $crate::sql::bind_values!($query(statement.sql), statement.values);
                let mut rows = query.fetch(self);
                while let Some(row) = futures_util::TryStreamExt::try_next(&mut rows).await.map_err($store_error)? {
                    if read_row(&row)?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
        }

        impl $crate::sql::SqlRow for $row {
            fn text(&self, index: usize) -> Result<String, $crate::SessionError> {
                sqlx::Row::try_get(self, index).map_err($store_error)
            }

            fn optional_text(&self, index: usize) -> Result<Option<String>, $crate::SessionError> {
                sqlx::Row::try_get(self, index).map_err($store_error)
            }

            fn integer(&self, index: usize) -> Result<i64, $crate::SessionError> {
                sqlx::Row::try_get(self, index).map_err($store_error)
            }
        }
    };
}

/// Binds the values of a statement to a query.
macro_rules! bind_values {
    ($query:expr, $values:expr) => {
        $values.into_iter().fold($query, |query, value| match value {
            $crate::sql::SqlValue::Integer(value) => query.bind(value),
            $crate::sql::SqlValue::Text(value) => query.bind(value.map(std::borrow::Cow::into_owned)),
        })
    };
}

pub(crate) use {bind_values, sqlx_connection};
