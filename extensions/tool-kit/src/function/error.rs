//! The mistakes of functions that are items.

use std::{error::Error, fmt};

use tool_runtime::{
    diagnostic::{Diagnostic, Severity},
    registry::{BuildDiagnostic, BuildError, SourceLocation},
};

/// The mistakes of items that are functions, all of them: names and URIs that several have, schemas, and values that the program does not
/// provide.
///
/// `Debug` writes the same text as `Display`, for `unwrap` and for errors that `main` returns.
#[derive(Clone, PartialEq, Eq)]
pub struct DiscoveryError {
    diagnostics: Vec<Diagnostic>,
}

impl DiscoveryError {
    /// Returns all diagnostics; those of one item stand together.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub(crate) fn of(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic] }
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }

    /// Returns `items` if there are no mistakes, and else the error.
    pub(crate) fn items_or_error<T>(items: T, diagnostics: Vec<Diagnostic>) -> Result<T, Self> {
        match diagnostics.is_empty() {
            true => Ok(items),
            false => Err(Self { diagnostics }),
        }
    }
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |diagnostic: &Diagnostic| match &diagnostic.help {
            Some(help) => format!("{}; {help}", diagnostic.message),
            None => diagnostic.message.clone(),
        };
        match self.diagnostics.as_slice() {
            [only] => write!(f, "the items cannot be used: {}", line(only)),
            all => {
                write!(f, "the items cannot be used, for {} reasons:", all.len())?;
                all.iter().try_for_each(|diagnostic| write!(f, "\n- {}", line(diagnostic)))
            }
        }
    }
}

impl fmt::Debug for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for DiscoveryError {}

/// Returns the mistakes of the function of an item; `noun` is its kind.
pub(super) fn function_error(noun: &str, error: &BuildError) -> DiscoveryError {
    let of_item = |of_function: &BuildDiagnostic| {
        let mut diagnostic = Diagnostic::from(of_function);
        // The function is checked in the form of a tool.
        diagnostic.location.tool = None;
        if let Some(rest) = diagnostic.message.strip_prefix("tool `") {
            diagnostic.message = format!("{noun} `{rest}");
        }
        if let BuildDiagnostic::ReservedName { name, site } = of_function {
            let site = site.map(|site| format!(" ({site})")).unwrap_or_default();
            diagnostic.message =
                format!("{noun} `{name}`{site}: the name is reserved for the tool of the output of a run");
            diagnostic.help = Some("rename the function, or give it a `name`".to_owned());
        }
        diagnostic
    };
    DiscoveryError { diagnostics: error.diagnostics().iter().map(of_item).collect() }
}

/// Creates the error of an item; `item` is its kind and its name.
pub(super) fn item_error(
    code: &'static str,
    item: &str,
    site: SourceLocation,
    problem: &str,
) -> DiscoveryError {
    let mut diagnostic = Diagnostic::new(Severity::Error, code, format!("{item} ({site}): {problem}"));
    diagnostic.location.source = Some(site);
    DiscoveryError::of(diagnostic)
}

/// Creates the diagnostic of several items with one name or URI.
pub(super) fn duplicate_diagnostic(items: &str, sites: &[SourceLocation]) -> Diagnostic {
    let places: Vec<_> = sites.iter().map(SourceLocation::to_string).collect();
    let message = format!("{} {items}: {}", sites.len(), places.join(", "));
    let mut diagnostic =
        Diagnostic::new(Severity::Error, "duplicate", message).with_help("change one of them");
    diagnostic.location.source = sites.first().copied();
    diagnostic
}
