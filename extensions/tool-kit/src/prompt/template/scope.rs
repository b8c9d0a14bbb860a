//! The values that an action of a Go template sees: `.`, and declared variables.

use super::INPUT;

/// The prefixes of names of the engine, so that none hides a member of the input.
const VARIABLE_PREFIX: &str = "__v";
const VALUE_PREFIX: &str = "__d";

/// The values that are in scope.
pub(super) struct VariableScope {
    /// The expression of `.`.
    current: String,
    /// The variables by their names, with those of the engine; the last one of a name counts.
    variables: Vec<(String, String)>,
    /// The number of names of the engine so far.
    names: usize,
}

/// The scope of a block's surroundings.
pub(super) struct OuterScope {
    current: String,
    variables: usize,
}

impl VariableScope {
    pub(super) fn new() -> Self {
        Self { current: INPUT.to_owned(), variables: Vec::new(), names: 0 }
    }

    pub(super) fn dot_expression(&self) -> &str {
        &self.current
    }

    /// Returns the name of a declared variable in the engine.
    pub(super) fn engine_name_of_variable(&self, name: &str) -> Option<&str> {
        self.variables
            .iter()
            .rev()
            .find(|(declared, _)| declared == name)
            .map(|(_, variable)| variable.as_str())
    }

    /// Declares a variable, under a name of its own: in the engine, those of a condition outlive it.
    pub(super) fn declare_variable(&mut self, name: &str) -> String {
        self.names += 1;
        let variable = format!("{VARIABLE_PREFIX}{}", self.names);
        self.variables.push((name.to_owned(), variable.clone()));
        variable
    }

    /// Returns a new name for the value of `.`.
    pub(super) fn new_value_name(&mut self) -> String {
        self.names += 1;
        format!("{VALUE_PREFIX}{}", self.names)
    }

    pub(super) fn set_dot_expression(&mut self, expression: &str) {
        expression.clone_into(&mut self.current);
    }

    pub(super) fn outer_scope(&self) -> OuterScope {
        OuterScope { current: self.current.clone(), variables: self.variables.len() }
    }

    /// Returns to the surroundings of a block.
    pub(super) fn restore(&mut self, outer: &OuterScope) {
        self.current.clone_from(&outer.current);
        self.variables.truncate(outer.variables);
    }
}
