#![allow(clippy::unwrap_used, reason = "a test may")]

use super::{Letters, Names, closest, nearest};

/// The distance by its recursive definition, cell by cell.
fn by_definition(left: &str, right: &str) -> usize {
    let (left, right): (Vec<_>, Vec<_>) = (Letters::new(left).collect(), Letters::new(right).collect());
    let mut table = vec![vec![0; right.len() + 1]; left.len() + 1];
    for i in 0..=left.len() {
        for j in 0..=right.len() {
            table[i][j] = match (i, j) {
                (0, more) | (more, 0) => more,
                _ => {
                    let replaced = table[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
                    let other = table[i - 1][j].min(table[i][j - 1]) + 1;
                    let is_swap =
                        i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
                    let swapped = if is_swap { table[i - 2][j - 2] + 1 } else { usize::MAX };
                    replaced.min(other).min(swapped)
                }
            };
        }
    }
    table[left.len()][right.len()]
}

/// Deterministic texts over a small alphabet, so that many are similar.
fn drawn(count: usize) -> Vec<String> {
    let mut state = 7_u64;
    let mut next = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let mut text = || {
        let length = 1 + next(9);
        (0..length).map(|_| char::from(b"abAB_1-c"[next(8) as usize])).collect::<String>()
    };
    (0..count).map(|_| text()).collect()
}

/// Deterministic names, each derived from another one by a few edits of all kinds.
fn edited(count: usize) -> Vec<String> {
    let letters: Vec<_> = "abcdefghijklmnopqrstuvwxyz0123456789éßΩжİ".chars().collect();
    let bases = ["get_weather", "listFiles2024", "düsseldorfer_straße", "0123456789", "zq", "Ωmega_жук"];
    let mut state = 11_usize;
    let mut next = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let mut text = |at: usize| {
        let mut name: Vec<_> = bases[at % bases.len()].chars().collect();
        for _ in 0..next(5) {
            let (place, letter) = (next(name.len()), letters[next(letters.len())]);
            match next(4) {
                0 => name[place] = letter,
                1 => name.insert(place, letter),
                2 if name.len() > 1 => drop(name.remove(place)),
                _ => name.swap(place, 0),
            }
        }
        name.into_iter().collect()
    };
    (0..count).map(&mut text).collect()
}

#[test]
fn search_agrees_with_the_definition_of_the_distance() {
    let mut few = drawn(400);
    few.extend(["é", "éa", "Éab", "İx", "İxy", "straße"].map(String::from));
    for mut names in [few, edited(300)] {
        // Query names that are mostly not among the searched ones.
        let queries = names.split_off(names.len() / 2);
        for query in queries.iter().filter(|it| Letters::new(it).next().is_some()) {
            let size = Letters::new(query).count();
            let far = size / 3 + 1;
            let near = names.iter().filter_map(|name| {
                let distance = by_definition(query, name);
                let longest = size.max(Letters::new(name).count());
                (distance <= far && distance < longest).then_some((distance, name.as_str()))
            });
            let expected = near.min_by_key(|it| it.0).map(|it| it.1);
            assert_eq!(closest(query, names.iter().map(String::as_str)), expected, "{query}");
        }
    }
}

/// Returns the number of `names` that a search compares, and its number of steps.
fn cost(query: &str, names: &[&str], contained: bool) -> (usize, usize) {
    let mut search = super::Search::new(query, names.len()).unwrap();
    let (allowed, looks) = (search.steps, std::cell::Cell::new(0));
    let at = |at: usize| {
        looks.set(looks.get() + 1);
        names[at]
    };
    let far = search.query.letters.len() / 3 + 1;
    search.run(&Names::new(names.iter().copied()).marks, far, contained, at, |_, _| Some(far));
    (looks.get(), allowed - search.steps)
}

#[test]
fn names_with_other_letters_or_another_length_are_skipped() {
    for one in ('a'..='z').chain('0'..='9') {
        for other in ('a'..='z').chain('0'..='9').filter(|other| *other != one) {
            let (query, name) = (one.to_string().repeat(9), other.to_string().repeat(3));
            assert_eq!(cost(&query, &[&name], true), (0, 0), "{one} {other}");
        }
    }
    // Three edits change at most six letters.
    assert_eq!(cost("abcdef", &["abcxyz"], false).0, 1);
    assert_eq!(cost("abcdef", &["abwxyz"], false), (0, 0));
    assert_eq!(cost("abcdef", &["abcdefabc"], false).0, 1);
    assert_eq!(cost("abcdef", &["abcdefabcd"], false), (0, 0));
    assert_eq!(cost("abcdef", &["abcdefabcd"], true).0, 1);
    assert_eq!(cost("ab", &["abababab"], true), (0, 0));
}

#[test]
fn a_step_is_taken_for_each_letter_that_the_name_before_does_not_share() {
    assert_eq!(cost("abcdef", &["abcdef"], false), (1, 6));
    assert_eq!(cost("abcdef", &["abcdef", "abcfed", "abcfde"], false), (3, 6 + 3 + 2));
    // Skipped or shorter names still share their prefix.
    assert_eq!(cost("abcdef", &["abcdef", "abcdxxxxxxxx", "abcdfe"], false), (2, 6 + 2));
    let marks = Names::new(["abcd", "ab", "abcd", "ab-cd"].into_iter()).marks;
    assert_eq!(marks.iter().map(|mark| mark.shared).collect::<Vec<_>>(), [0, 2, 2, 4]);
    assert_eq!(
        marks.iter().map(|mark| mark.resume).collect::<Vec<_>>(),
        [Some(0), Some(2), Some(2), Some(5)]
    );
    // A name is abandoned when it is too far away, unless it may contain the query.
    assert_eq!(cost("abcdef", &["fedcba"], false), (1, 5));
    assert_eq!(cost("abcdef", &["fedcba"], true), (1, 6 + 6));
    assert_eq!(cost("abcdef", &["fedcbafedcba"], true), (1, 12 + 12));
}

#[test]
fn containing_and_disjoint_names_are_not_suggested() {
    assert_eq!(closest("list", ["please_list_all"].into_iter()), None);
    assert_eq!(closest("a", ["b"].into_iter()), None);
    assert_eq!(closest("ab", ["cb"].into_iter()), Some("cb"));
}

#[test]
fn a_name_that_is_far_by_more_than_three_edits_is_not_near_however_long_it_is() {
    let near = |name| nearest("abcdefghijkl", [name].into_iter()).len();
    assert_eq!((near("abcxyzghijkl"), near("abwxyzghijkl")), (1, 0));
    let names = ["abce", "abcx", "abdd", "abcd", "abcdx", "xabcd"];
    assert_eq!(nearest("abcd", names.into_iter()), ["abcd", "abcdx", "abce"]);
}

#[test]
fn letters_and_digits_of_any_script_are_compared_in_lower_case() {
    let letters = |name| Letters::new(name).collect::<String>();
    assert_eq!(
        (letters("Max-Results_9 "), letters("É·İx…ЖßΩ٣")),
        ("maxresults9".into(), "éi\u{307}xжßω٣".into())
    );
}

#[test]
fn each_letter_of_any_script_is_found() {
    for letter in ('\0'..='\u{3000}').map(String::from) {
        let found = closest(&letter, [&*letter].into_iter());
        assert_eq!(found.is_some(), Letters::new(&letter).next().is_some(), "{letter:?}");
    }
}

#[test]
fn nearest_names_are_few_edits_away_or_contain_each_other() {
    let names = drawn(300);
    for query in names.iter().filter(|it| Letters::new(it).next().is_some()) {
        let letters = |name: &str| Letters::new(name).collect::<String>();
        let far = letters(query).len().div_ceil(3).min(3);
        let within = |outer: &str, inner: &str| inner.len() > 2 && outer.contains(inner);
        let mut near: Vec<_> = names
            .iter()
            .map(|name| (by_definition(query, name), name.as_str()))
            .filter(|(distance, name)| {
                let (query, name) = (letters(query), letters(name));
                *distance <= far || within(&query, &name) || within(&name, &query)
            })
            .collect();
        near.sort_unstable();
        let expected: Vec<_> = near.into_iter().take(3).map(|it| it.1).collect();
        assert_eq!(nearest(query, names.iter().map(String::as_str)), expected, "{query}");
    }
}

#[test]
fn three_letters_or_more_are_found_within_a_name_however_long_it_is() {
    let near = |query, name| !nearest(query, [name].into_iter()).is_empty();
    assert!(near("list", "please_list_all_files") && near("please_list_all_files", "list"));
    assert!(near("abc", "xxxxabcxxxx") && near("xxxxabcxxxx", "abc"));
    assert!(!near("ab", "xxxxabxxxx") && !near("xxxxabxxxx", "ab"));
    assert!(!near("acb", "xxxxabcxxxx") && !near("xxxxabcxxxx", "acb"));
}

#[test]
fn search_among_names_that_are_all_alike_takes_a_limited_number_of_steps() {
    // 64 letters over sixteen digits, so that letter sets rule out no name.
    let hex = |seed: u64| -> String {
        (0..4_u64).map(|at| format!("{:016x}", (seed + at).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
    };
    let names: Vec<_> = (0..20_000).map(|at| hex(at * 7)).collect();
    let mut search = super::Search::new(&hex(3), names.len()).unwrap();
    let marks = Names::new(names.iter().map(String::as_str)).marks;
    let allowed = search.steps;
    let mut calls = 0;
    search.run(
        &marks,
        64,
        true,
        |at| names[at].as_str(),
        |_, _| {
            calls += 1;
            Some(64)
        },
    );
    assert_eq!((search.steps, calls <= allowed / 32), (0, true), "{calls} of {allowed} steps");
}

#[test]
fn very_long_names_and_names_without_letters_are_compared_by_what_they_have() {
    let long = "a-".repeat(500_000);
    assert_eq!(closest(&long, ["b", "--", ""].into_iter()), None);
    assert_eq!(closest("--", ["__", "a"].into_iter()), None);
    assert_eq!(nearest("", ["", "a"].into_iter()), Vec::<&str>::new());
    let names = [format!("{}x", "-".repeat(70_000)), format!("{}xyz", "-".repeat(70_000))];
    assert_eq!(closest("xyzz", names.iter().map(String::as_str)), Some(&*names[1]));
}

#[test]
fn search_ends_at_the_first_name_for_which_no_step_is_left() {
    let names = ["abcdef", "abcxyz", "zzzzzz", "abcdfe"];
    let searched = |steps| {
        let mut search = super::Search::new("abcdef", names.len()).unwrap();
        search.steps = steps;
        let looks = std::cell::Cell::new(0);
        let at = |at: usize| {
            looks.set(looks.get() + 1);
            names[at]
        };
        let mut found = Vec::new();
        search.run(&Names::new(names.into_iter()).marks, 3, false, at, |distance, name| {
            found.push((distance, name));
            Some(3)
        });
        (looks.get(), found, search.steps)
    };
    assert_eq!(searched(0), (1, vec![], 0));
    assert_eq!(searched(5), (1, vec![], 0));
    assert_eq!(searched(6), (2, vec![(0, "abcdef")], 0));
    assert_eq!(searched(9), (3, vec![(0, "abcdef"), (3, "abcxyz")], 0));
    assert_eq!(searched(100), (3, vec![(0, "abcdef"), (3, "abcxyz"), (1, "abcdfe")], 85));
    for (count, steps) in [(0, 8_192), (1, 8_194), (28_671, 65_534), (28_672, 65_536), (usize::MAX, 65_536)] {
        assert_eq!(super::step_limit(count), steps, "{count}");
    }
}
