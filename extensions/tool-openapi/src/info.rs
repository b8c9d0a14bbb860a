//! An operation as filters see it.

/// An operation of a document, for filters.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OperationInfo<'d> {
    /// The `operationId`.
    pub id: Option<&'d str>,
    /// The method, in capital letters.
    pub method: &'d str,
    /// The path template, such as `/pets/{petId}`.
    pub path: &'d str,
    /// The tags.
    pub tags: Vec<&'d str>,
    /// The operation is deprecated.
    pub deprecated: bool,
}

impl OperationInfo<'_> {
    /// Returns `true` if the operation has the tag.
    #[must_use]
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.contains(&tag)
    }
}
