#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests may")]

use super::*;

fn term(token: &str, notes: u64) -> QueryTerm {
    QueryTerm { token: token.to_owned(), notes }
}

#[test]
fn the_rarest_term_is_the_first_and_one_without_notes_is_none() {
    let mut terms = vec![term("the", 9), term("none", 0), term("rex", 1), term("dog", 9), term("cat", 2)];
    retain_found_rarest_first(&mut terms);
    let order: Vec<_> = terms.iter().map(|it| (&*it.token, it.notes)).collect();
    assert_eq!(order, [("rex", 1), ("cat", 2), ("dog", 9), ("the", 9)]);
}

#[test]
fn candidates_are_those_that_were_found_first() {
    let mut candidates = NoteCandidates::default();
    candidates.add_until_full([7, 5, 7, 6]);
    candidates.add_until_full([5, 4]);
    assert_eq!(candidates.numbers().collect::<Vec<_>>(), [7, 5, 6, 4]);
    let last = 1000;
    candidates.add_until_full(1..last);
    assert!(!candidates.is_full());
    candidates.add_until_full([last, last + 1]);
    assert!(candidates.is_full());
    candidates.add_until_full([last + 2]);
    let numbers: Vec<_> = candidates.numbers().collect();
    assert_eq!((numbers.len(), numbers.last()), (MAX_CANDIDATES, Some(&last)));
}

#[test]
fn candidates_are_compared_up_to_a_number_of_bytes() {
    let compared = |sizes: &[u64]| {
        let mut candidates = NoteCandidates::default();
        let sizes: HashMap<u64, u64> = (0..).zip(sizes.iter().copied()).collect();
        candidates.add_until_full((0..).take(sizes.len()));
        candidates.truncate_to_byte_limit(&sizes);
        candidates.numbers().count()
    };
    assert_eq!(compared(&[MAX_CANDIDATE_BYTES]), 1);
    assert_eq!(compared(&[MAX_CANDIDATE_BYTES + 1]), 0);
    assert_eq!(compared(&[MAX_CANDIDATE_BYTES - 2, 2, 0]), 3);
    assert_eq!(compared(&[MAX_CANDIDATE_BYTES - 2, 3, 0]), 1);
    assert_eq!(compared(&[1, u64::MAX, 1]), 1);
    // A note that is deleted has no size.
    let mut candidates = NoteCandidates::default();
    candidates.add_until_full([1, 2, 3]);
    candidates.truncate_to_byte_limit(&HashMap::from([(1, MAX_CANDIDATE_BYTES), (3, 1)]));
    assert_eq!(candidates.numbers().collect::<Vec<_>>(), [1, 2]);
}

/// BM25 of one term, as its authors write it.
fn bm25(counts: NoteCounts, notes: f64, frequency: f64, tokens: f64) -> f64 {
    let (all, average) =
        (count_as_f64(counts.notes), count_as_f64(counts.tokens) / count_as_f64(counts.notes));
    let idf = (1.0 + (all - notes + 0.5) / (notes + 0.5)).ln();
    idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * tokens / average))
}

#[test]
fn notes_have_the_scores_of_bm25() {
    let counts = NoteCounts { notes: 4, tokens: 10 };
    let terms = [term("cat", 1), term("dog", 3)];
    let texts = [(1, "cat dog"), (2, "Cat, cat; dog bird!"), (3, "bird"), (4, "dog dog dog dog")];
    let expected = [
        (2, bm25(counts, 1.0, 2.0, 4.0) + bm25(counts, 3.0, 1.0, 4.0)),
        (1, bm25(counts, 1.0, 1.0, 2.0) + bm25(counts, 3.0, 1.0, 2.0)),
        (4, bm25(counts, 3.0, 4.0, 4.0)),
        (3, 0.0),
    ];
    let found = best_matches(counts, &terms, texts, 9);
    assert_eq!(found.len(), expected.len());
    for ((number, score), (expected_number, expected)) in found.into_iter().zip(expected) {
        assert_eq!(number, expected_number);
        assert!((score - expected).abs() < 1e-12, "{number}: {score} {expected}");
    }
    // A term occurs in no more notes than there are.
    let of = |notes: u64| best_matches(counts, &[term("cat", notes)], [(1, "cat")], 1)[0].1;
    assert_eq!(of(4), of(9));
    assert!(of(3) > of(4));
    // Without notes and tokens, no score is infinite.
    let none = best_matches(NoteCounts { notes: 0, tokens: 0 }, &[term("cat", 0)], [(1, "cat")], 1);
    assert!(none[0].1.is_finite());
}

#[test]
fn the_best_matches_are_a_limited_number_of_which_the_newest_are_first() {
    let counts = NoteCounts { notes: 200, tokens: 200 };
    let matches = |limit: usize| {
        let found = best_matches(counts, &[term("cat", 200)], (0..200).map(|number| (number, "cat")), limit);
        found.into_iter().map(|(number, _)| number).collect::<Vec<_>>()
    };
    assert_eq!(matches(3), [199, 198, 197]);
    assert_eq!(matches(0), [0_u64; 0]);
    assert_eq!(matches(MAX_MATCHES).len(), 100);
    assert_eq!(matches(usize::MAX).len(), 100);
}
