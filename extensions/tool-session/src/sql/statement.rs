//! A statement and its values.

use std::borrow::Cow;

use super::sql_integer;

/// A value of a statement. The type of an absent value is known, since some engines require it.
#[derive(Debug)]
pub(crate) enum SqlValue<'a> {
    Integer(Option<i64>),
    Text(Option<Cow<'a, str>>),
}

impl From<i64> for SqlValue<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(Some(value))
    }
}

impl From<u64> for SqlValue<'_> {
    fn from(value: u64) -> Self {
        Self::Integer(Some(sql_integer(value)))
    }
}

impl From<Option<i64>> for SqlValue<'_> {
    fn from(value: Option<i64>) -> Self {
        Self::Integer(value)
    }
}

impl<'a> From<&'a str> for SqlValue<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(Some(value.into()))
    }
}

impl From<String> for SqlValue<'_> {
    fn from(value: String) -> Self {
        Self::Text(Some(value.into()))
    }
}

impl<'a> From<Option<&'a str>> for SqlValue<'a> {
    fn from(value: Option<&'a str>) -> Self {
        Self::Text(value.map(Into::into))
    }
}

impl From<Option<String>> for SqlValue<'_> {
    fn from(value: Option<String>) -> Self {
        Self::Text(value.map(Into::into))
    }
}

/// A statement. Its text is made of constants of this crate: each value is a parameter.
#[derive(Debug)]
pub(crate) struct SqlStatement<'a> {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<SqlValue<'a>>,
}

impl<'a> SqlStatement<'a> {
    /// Creates a statement with the parameters `?1`, `?2`, and so on.
    pub(crate) fn new(sql: &'static str) -> Self {
        Self { sql: sql.into(), values: Vec::new() }
    }

    /// Sets the value of the next parameter.
    #[must_use]
    pub(crate) fn bind(mut self, value: impl Into<SqlValue<'a>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Adds a part of the text.
    pub(crate) fn push_sql(&mut self, sql: &'static str) -> &mut Self {
        if !sql.is_empty() {
            self.sql.to_mut().push_str(sql);
        }
        self
    }

    /// Adds a parameter and its value.
    pub(crate) fn push_value(&mut self, value: impl Into<SqlValue<'a>>) -> &mut Self {
        self.values.push(value.into());
        let sql = self.sql.to_mut();
        sql.push('?');
        sql.push_str(&self.values.len().to_string());
        self
    }

    /// Adds the parameters of rows, each in parentheses.
    pub(crate) fn push_rows<const N: usize>(
        &mut self,
        rows: impl IntoIterator<Item = [SqlValue<'a>; N]>,
    ) -> &mut Self {
        for (row_index, values) in rows.into_iter().enumerate() {
            self.push_sql(if row_index == 0 { "(" } else { ", (" });
            for (index, value) in values.into_iter().enumerate() {
                self.push_sql(if index == 0 { "" } else { ", " }).push_value(value);
            }
            self.push_sql(")");
        }
        self
    }
}
