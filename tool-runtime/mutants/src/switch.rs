
/// Returns `true` if `MUTANT` is the number of this mutant. If `MUTANTS_REACHED` names a file, each requested
/// number is written to it.
#[doc(hidden)]
#[must_use]
pub fn __mutant(number: usize) -> bool {
    use std::{
        fs::File,
        io::Write,
        sync::{Mutex, OnceLock},
    };
    static ACTIVE: OnceLock<usize> = OnceLock::new();
    type Reached = Option<Mutex<(File, std::collections::BTreeSet<usize>)>>;
    static REACHED: OnceLock<Reached> = OnceLock::new();
    let reached = REACHED.get_or_init(|| {
        let path = std::env::var_os("MUTANTS_REACHED")?;
        let file = File::options().create(true).append(true).open(path).ok()?;
        Some(Mutex::new((file, std::collections::BTreeSet::new())))
    });
    if let Some(reached) = reached {
        let mut reached = reached.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if reached.1.insert(number) {
            let _ = writeln!(reached.0, "{number}");
        }
    }
    number == *ACTIVE.get_or_init(|| {
        let active = std::env::var("MUTANT").ok();
        active.and_then(|it| it.parse().ok()).unwrap_or(usize::MAX)
    })
}
