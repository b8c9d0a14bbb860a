//! Names that somebody may have meant.

/// At most three of `names` that are close to `name`: a few edits away, or one within the other.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let name = plain(name);
    // A third of the letters, so that short names do not all look alike.
    let far = name.len().div_ceil(3).min(3);
    let within = |outer: &[char], inner: &[char]| {
        inner.len() > 2 && outer.windows(inner.len()).any(|part| part == inner)
    };
    let mut close: Vec<_> = names
        .filter_map(|candidate| {
            let other = plain(candidate);
            let distance = distance(&name, &other);
            let is_close = distance <= far || within(&other, &name) || within(&name, &other);
            is_close.then_some((distance, candidate))
        })
        .collect();
    close.sort_unstable();
    close.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// The closest of `known`, if it is close enough to be what was meant.
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    let far = name.len() / 3 + 1;
    // A name like `limit` and one like `offset` are nothing to each other; a name whose length is
    // very different is not worth a comparison.
    let near = known.filter_map(|it| {
        let plain = plain(it);
        let distance =
            if plain.len().abs_diff(name.len()) > far { usize::MAX } else { distance(&name, &plain) };
        (distance <= far && distance < name.len().max(plain.len())).then_some((distance, it))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, it)| it)
}

/// `maxResults` and `max_results` are one name to a reader. What is cut off of a very long name
/// does not matter, and the table of [`distance`] stays small.
fn plain(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(64).collect()
}

/// How many insertions, deletions, replacements and swaps of neighbours lie between two names.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut last = None;
    for (row, &a) in left.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, &b) in right.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX - 1);
            let mut cost = (at(&above, column) + usize::from(a != b)).min(at(&above, column + 1) + 1);
            cost = cost.min(at(&line, column) + 1);
            if column > 0 && last == Some(b) && right.get(column - 1) == Some(&a) {
                cost = cost.min(at(&before, column - 1).saturating_add(1));
            }
            line.push(cost);
        }
        before = std::mem::replace(&mut above, line);
        last = Some(a);
    }
    above.last().copied().unwrap_or_default()
}
