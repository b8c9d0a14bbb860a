//! Pages of a list.

/// The page of a list that a client asks for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Paging<'a> {
    /// The [`next`](Page::next) of the page before; `None` for the first page.
    pub cursor: Option<&'a str>,
    /// The most items of the page.
    pub size: usize,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` on the last.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Returns all items as one page.
    #[must_use]
    pub fn all(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

impl<'a> Paging<'a> {
    /// Asks for the page of `size` items after `cursor`.
    #[must_use]
    pub fn new(cursor: Option<&'a str>, size: usize) -> Self {
        Self { cursor, size: size.max(1) }
    }

    /// Returns the page of `items`, which are listed in the order of their keys. An item that is added or removed between two
    /// pages does not move others.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_mcp::server::Paging;
    ///
    /// let items = ["c", "a", "b"];
    /// let first = Paging::new(None, 2).of(items, |item| *item);
    /// assert_eq!(first.items, ["a", "b"]);
    /// let second = Paging::new(first.next.as_deref(), 2).of(items, |item| *item);
    /// assert_eq!((second.items, second.next), (vec!["c"], None));
    /// ```
    pub fn of<T>(self, items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> &str) -> Page<T> {
        let after = |item: &T| self.cursor.is_none_or(|cursor| key(item) > cursor);
        let mut items: Vec<_> = items.into_iter().filter(after).collect();
        items.sort_by(|a, b| key(a).cmp(key(b)));
        let is_last = items.len() <= self.size;
        items.truncate(self.size);
        let next = items.last().filter(|_| !is_last).map(|item| key(item).to_owned());
        Page { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_cursor_if_there_are_more_items() {
        let page = |cursor, size| {
            let page = Paging::new(cursor, size).of(["c", "a", "b"], |item| *item);
            (page.items.concat(), page.next)
        };
        for (cursor, size, items, next) in [
            (None, 0, "a", Some("a")),
            (None, 1, "a", Some("a")),
            (None, 2, "ab", Some("b")),
            (None, 3, "abc", None),
            (None, 4, "abc", None),
            (Some("a"), 1, "b", Some("b")),
            (Some("a"), 2, "bc", None),
            (Some("b"), 2, "c", None),
            (Some("c"), 2, "", None),
            // An item that is gone.
            (Some("aa"), 1, "b", Some("b")),
        ] {
            assert_eq!(page(cursor, size), (items.to_owned(), next.map(str::to_owned)), "{cursor:?} {size}");
        }
        assert_eq!(Page::all(vec![1, 2]), Page { items: vec![1, 2], next: None });
    }
}
