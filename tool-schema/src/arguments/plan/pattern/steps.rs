use super::{
    parser::Piece,
    set::{CharSet, Range},
};

/// A pattern without alternatives: a sequence of classes from the start of a string, each of which ends where the
/// next begins.
#[derive(Debug)]
pub(super) struct CharSteps {
    steps: Box<[CharStep]>,
    /// `true` if nothing may follow.
    to_the_end: bool,
}

/// A number of characters of a class.
#[derive(Debug)]
struct CharStep {
    /// A bit for each of the first 128 characters.
    ascii: u128,
    others: Box<[Range]>,
    least: usize,
    most: usize,
}

/// A step before the pattern is known to have no alternatives.
type StepPart<'a> = (&'a CharSet, usize, usize);

impl CharSteps {
    /// Converts the pieces; `None` for other patterns.
    pub(super) fn from_pieces(pieces: &[Piece]) -> Option<Self> {
        let [Piece::Start, pieces @ ..] = pieces else { return None };
        let (pieces, to_the_end) = match pieces {
            [pieces @ .., Piece::End] => (pieces, true),
            _ => (pieces, false),
        };
        let mut parts: Vec<StepPart<'_>> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece {
                Piece::One(set) => parts.push((set, 1, 1)),
                Piece::Repeat { least, most } => {
                    let (_, own_least, own_most) = parts.last_mut()?;
                    (*own_least, *own_most) = (*least, *most);
                }
                _ => return None,
            }
        }
        let is_forced = (0..parts.len()).all(|at| parts.get(at..).is_none_or(is_first_match_forced));
        is_forced.then(|| Self { steps: parts.into_iter().map(CharStep::new).collect(), to_the_end })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let mut rest = text.chars();
        for step in &self.steps {
            let mut count = 0;
            while count < step.most {
                let mut ahead = rest.clone();
                if !ahead.next().is_some_and(|c| step.matches_char(c)) {
                    break;
                }
                rest = ahead;
                count += 1;
            }
            if count < step.least {
                return false;
            }
        }
        !self.to_the_end || rest.as_str().is_empty()
    }
}

/// Returns `true` if greedy matching of the first part is the only possible match, since none of its characters can
/// belong to a following part.
fn is_first_match_forced(parts: &[StepPart<'_>]) -> bool {
    let [(set, least, most), after @ ..] = parts else { return true };
    if least == most {
        return true;
    }
    for (next, least, _) in after {
        if !set.is_disjoint(next) {
            return false;
        }
        if *least > 0 {
            break;
        }
    }
    true
}

impl CharStep {
    fn new((set, least, most): StepPart<'_>) -> Self {
        let ascii = set.ranges().iter().filter(|it| it.0.is_ascii()).fold(0, |bits, &(first, last)| {
            let (first, last) = (u32::from(first), u32::from(last).min(127));
            bits | u128::MAX >> (127 - (last - first)) << first
        });
        let others = set.ranges().iter().filter(|it| !it.1.is_ascii()).copied().collect();
        Self { ascii, others, least, most }
    }

    fn matches_char(&self, c: char) -> bool {
        if c.is_ascii() {
            self.ascii >> u32::from(c) & 1 == 1
        } else {
            self.others.iter().any(|&(first, last)| first <= c && c <= last)
        }
    }
}
