//! Searches. The index finds candidates, of one user and by one term at a time; the order is made by the ranking of this crate.

use std::collections::HashMap;

use super::{
    NoteIndex, SqlRow, SqlStatement, notes::user_term, rows::parse_stored_json, sql_integer, sql_limit,
};
use crate::{
    Note, NoteContent, NoteMatch, SessionError, UserKey,
    memory::{
        rank::{
            MAX_CANDIDATES, NoteCandidates, NoteCounts, QueryTerm, best_matches, retain_found_rarest_first,
        },
        tokens::query_tokens,
    },
    millis,
};

/// Returns the best matches of a query.
pub(crate) async fn search_notes<C: NoteIndex>(
    connection: &mut C,
    user: &UserKey,
    query: &str,
    limit: usize,
) -> Result<Vec<NoteMatch>, SessionError> {
    let find_user = "SELECT row_id, notes, tokens FROM note_users WHERE app = ?1 AND user_id = ?2";
    let find_user = SqlStatement::new(find_user).bind(user.app()).bind(user.user());
    let found = connection
        .fetch_optional(find_user, |row| {
            Ok((row.integer(0)?, NoteCounts { notes: row.number(1)?, tokens: row.number(2)? }))
        })
        .await?;
    let Some((note_user, counts)) = found else { return Ok(Vec::new()) };

    let mut terms = Vec::new();
    for token in query_tokens(query) {
        let count = SqlStatement::new(C::COUNT_NOTES).bind(user_term(note_user, &token));
        let notes = connection.fetch_optional(count, |row| row.number(0)).await?.unwrap_or_default();
        terms.push(QueryTerm { notes, token });
    }
    retain_found_rarest_first(&mut terms);
    let mut candidates = NoteCandidates::default();
    for QueryTerm { token, .. } in &terms {
        if candidates.is_full() {
            break;
        }
        let newest = SqlStatement::new(C::NEWEST_NOTES).bind(user_term(note_user, token));
        candidates.add_until_full(fetch_json_list(connection, newest.bind(sql_limit(MAX_CANDIDATES))).await?);
    }
    let sizes = SqlStatement::new(C::NOTE_SIZES).bind(json_number_list(candidates.numbers()));
    let sizes: Vec<(u64, u64)> = fetch_json_list(connection, sizes).await?;
    candidates.truncate_to_byte_limit(&sizes.into_iter().collect());
    // As one value: a row for each of them would take several times longer.
    let texts = SqlStatement::new(C::NOTE_TEXTS).bind(json_number_list(candidates.numbers()));
    let texts: Vec<(u64, String)> = fetch_json_list(connection, texts).await?;
    let matches = best_matches(counts, &terms, texts, limit);
    fetch_matched_notes(connection, matches).await
}

/// Reads the list of a query whose only value is JSON.
async fn fetch_json_list<C: NoteIndex, T: serde::de::DeserializeOwned>(
    connection: &mut C,
    query: SqlStatement<'_>,
) -> Result<Vec<T>, SessionError> {
    let list = connection.fetch_optional(query, |row| row.text(0)).await?;
    list.map_or_else(|| Ok(Vec::new()), |list| parse_stored_json("list of notes", &list))
}

/// Reads the notes of matches, in their order.
async fn fetch_matched_notes<C: NoteIndex>(
    connection: &mut C,
    matches: Vec<(u64, f64)>,
) -> Result<Vec<NoteMatch>, SessionError> {
    let mut query = SqlStatement::new(
        "SELECT n.row_id, n.text, n.author, s.id, n.time FROM notes AS n \
         LEFT JOIN sessions AS s ON s.row_id = n.session WHERE n.row_id IN ",
    )
    .bind(json_number_list(matches.iter().map(|(number, _)| *number)));
    query.push_sql(C::LISTED_NUMBERS);
    let notes = connection.fetch_all(query, read_note_row).await?;
    let mut notes: HashMap<_, _> = notes.into_iter().map(|note| (note.number, note)).collect();
    let found = matches.into_iter().filter_map(|(number, score)| {
        let note = notes.remove(&number)?;
        Some(NoteMatch { note, score })
    });
    Ok(found.collect())
}

fn read_note_row(row: &impl SqlRow) -> Result<Note, SessionError> {
    let mut content = NoteContent::new(row.text(1)?);
    content.author = row.optional_text(2)?.map(Into::into);
    content.session = row.optional_text(3)?.map(Into::into);
    content.time = millis::to_time(row.integer(4)?);
    Ok(Note { number: row.number(0)?, content })
}

/// Returns numbers as a list in JSON, which is one value of a statement.
fn json_number_list(numbers: impl IntoIterator<Item = u64>) -> String {
    let numbers: Vec<_> = numbers.into_iter().map(|number| sql_integer(number).to_string()).collect();
    format!("[{}]", numbers.join(","))
}
