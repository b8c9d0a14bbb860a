//! The same tools by hand, through the framework and through other packages: the calls that the table compares.

mod cases;
mod floor;
mod ours;
mod types;

use std::{error::Error, future::Future, hint::black_box, rc::Rc};

use futures_util::future::join_all;

pub use self::{
    cases::{Case, cases},
    floor::Floor,
    ours::Ours,
};
use crate::{Side, Workload, measure, now};

/// The text of a result, or the text that a model reads of an error.
pub type Answer = Result<String, String>;

/// The tools `forecast`, `create_order` and `write_file`, called with JSON text.
pub trait Contender: 'static {
    /// The name of the column.
    const NAME: &'static str;

    /// Calls a tool.
    fn call(&self, tool: &str, arguments: &str) -> impl Future<Output = Answer>;

    /// Runs several calls, each with the name of a tool and arguments, as a host reads them from a response. Default: the
    /// calls, joined.
    fn batch(&self, calls: Vec<(String, String)>) -> impl Future<Output = Vec<Answer>> {
        async move { join_all(calls.iter().map(|(tool, arguments)| self.call(tool, arguments))).await }
    }
}

/// The rows of the table, each with a side for each contender.
pub struct Table {
    cases: Vec<Rc<Case>>,
    workloads: Vec<Workload>,
}

impl Table {
    /// Creates a table without columns.
    #[must_use]
    pub fn new() -> Self {
        let cases: Vec<_> = cases().into_iter().map(Rc::new).collect();
        let workloads = cases.iter().map(|case| Workload { name: case.name, sides: Vec::new() }).collect();
        Self { cases, workloads }
    }

    /// Adds a contender, whose answers are checked.
    ///
    /// # Errors
    ///
    /// Returns an error if an answer is wrong.
    pub fn contender<C: Contender>(mut self, contender: C) -> Result<Self, String> {
        let contender = Rc::new(contender);
        for (case, workload) in self.cases.iter().zip(&mut self.workloads) {
            check(&*contender, case)?;
            workload.sides.push((C::NAME, side(Rc::clone(&contender), Rc::clone(case))));
        }
        Ok(self)
    }

    /// Measures the rows whose names contain the first argument of the program, and prints them as Markdown.
    ///
    /// # Errors
    ///
    /// Returns an error if a profile cannot be written.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let Some(rows) = measure::rows(&self.workloads)? else { return Ok(()) };
        let instructions = measure::table("instructions (ratio to floor)", &rows, |side| {
            (side.instructions.map(measure::grouped), side.ratio)
        });
        let times = measure::table("time (ratio to floor)", &rows, |side| {
            (Some(measure::shown(side.time)), side.time_ratio)
        });
        println!("{instructions}\n{times}");
        Ok(())
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

fn check<C: Contender>(contender: &C, case: &Case) -> Result<(), String> {
    let answers = match case.batch {
        Some(size) => now(contender.batch(calls(case, size))),
        None => now(contender.call(case.tool, &case.arguments)).map(|answer| vec![answer]),
    };
    let answers = answers.filter(|answers| answers.len() == case.batch.unwrap_or(1));
    let answers =
        answers.ok_or_else(|| format!("{}: {} does not answer each call at once", case.name, C::NAME))?;
    answers.iter().try_for_each(|answer| case.check(answer)).map_err(|error| format!("{}: {error}", C::NAME))
}

/// Returns the calls of a batch.
fn calls(case: &Case, size: usize) -> Vec<(String, String)> {
    vec![(case.tool.to_owned(), case.arguments.clone()); size]
}

fn side<C: Contender>(contender: Rc<C>, case: Rc<Case>) -> Side {
    let told = |answer: &Answer, show: &mut dyn FnMut(&[u8])| match answer {
        Ok(text) | Err(text) => show(text.as_bytes()),
    };
    match case.batch {
        None => Box::new(move |show| {
            let (tool, arguments) = black_box((case.tool, case.arguments.as_str()));
            now(contender.call(tool, arguments)).iter().for_each(|answer| told(answer, show));
        }),
        Some(size) => Box::new(move |show| {
            let answers = now(contender.batch(black_box(calls(&case, size))));
            answers.iter().flatten().for_each(|answer| told(answer, show));
        }),
    }
}
