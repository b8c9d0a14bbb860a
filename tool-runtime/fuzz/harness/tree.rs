//! A JSON syntax tree: names may be repeated, and a number keeps its spelling.

use tool_runtime::serde_json;

use super::rng::Rng;

/// The maximum nesting depth that is parsed.
const DEEPEST: usize = 200;

#[derive(Debug, Clone)]
pub(crate) enum Tree {
    /// A string, number or literal, as it is written.
    Leaf(String),
    List(Vec<Tree>),
    /// Names as they are written, with their quotes.
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// Parses a text that is JSON, or almost.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut rest = text;
        let tree = value(&mut rest, 0)?;
        rest.trim_ascii().is_empty().then_some(tree)
    }

    /// Returns the name without quotes and escapes.
    pub(crate) fn name(name: &str) -> String {
        serde_json::from_str(name).unwrap_or_default()
    }

    /// Returns the number of values in the tree.
    pub(crate) fn size(&self) -> usize {
        1 + self.children().map(Self::size).sum::<usize>()
    }

    /// Replaces strings that contain a list or an object by that value.
    pub(crate) fn unfolded(&self) -> Self {
        match self {
            Self::Leaf(leaf) => match Self::read(&Self::name(leaf)) {
                Some(inner @ (Self::List(_) | Self::Object(_))) => inner.unfolded(),
                _ => self.clone(),
            },
            Self::List(items) => Self::List(items.iter().map(Self::unfolded).collect()),
            Self::Object(properties) => {
                let unfolded = properties.iter().map(|(name, value)| (name.clone(), value.unfolded()));
                Self::Object(unfolded.collect())
            }
        }
    }

    /// Returns the nesting depth.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Leaf(_) => 0,
            _ => 1 + self.children().map(Self::depth).max().unwrap_or_default(),
        }
    }

    /// Returns the value with the given index, in the order of the text.
    pub(crate) fn nth(&mut self, mut at: usize) -> &mut Self {
        if at == 0 {
            return self;
        }
        at -= 1;
        let position = self.children().map(Self::size).position(|size| match at.checked_sub(size) {
            Some(left) => {
                at = left;
                false
            }
            None => true,
        });
        match (self, position) {
            (Self::List(items), Some(position)) => items[position].nth(at),
            (Self::Object(properties), Some(position)) => properties[position].1.nth(at),
            (tree, _) => tree,
        }
    }

    pub(crate) fn children(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match self {
            Self::Leaf(_) => Box::new(std::iter::empty()),
            Self::List(items) => Box::new(items.iter()),
            Self::Object(properties) => Box::new(properties.iter().map(|(_, value)| value)),
        }
    }

    /// Returns `true` if the predicate holds for any name in any object.
    pub(crate) fn has_name(&self, is_it: &dyn Fn(&str) -> bool) -> bool {
        let is_here = match self {
            Self::Object(properties) => properties.iter().any(|(name, _)| is_it(&Self::name(name))),
            _ => false,
        };
        is_here || self.children().any(|child| child.has_name(is_it))
    }

    /// Returns `true` if the predicate holds for all scalars.
    pub(crate) fn all_leaves(&self, is_it: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::Leaf(leaf) => is_it(leaf),
            _ => self.children().all(|child| child.all_leaves(is_it)),
        }
    }

    /// Returns `true` if any object repeats a name.
    pub(crate) fn repeats_a_name(&self) -> bool {
        let is_repeated = match self {
            Self::Object(properties) => {
                let mut names: Vec<_> = properties.iter().map(|(name, _)| Self::name(name)).collect();
                names.sort_unstable();
                names.windows(2).any(|pair| pair[0] == pair[1])
            }
            _ => false,
        };
        is_repeated || self.children().any(Self::repeats_a_name)
    }

    /// Writes the tree with the original spelling, without whitespace.
    pub(crate) fn write(&self) -> String {
        let mut text = String::new();
        self.write_with(&mut text, &mut None);
        text
    }

    /// Writes the tree with another spelling of the same values.
    pub(crate) fn respell(&self, rng: &mut Rng) -> String {
        let mut text = String::new();
        self.write_with(&mut text, &mut Some(rng));
        text
    }

    fn write_with(&self, text: &mut String, rng: &mut Option<&mut Rng>) {
        blank(text, rng);
        match self {
            Self::Leaf(leaf) => leaf_with(text, leaf, rng),
            Self::List(items) => {
                text.push('[');
                for (at, item) in items.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    item.write_with(text, rng);
                }
                text.push(']');
            }
            Self::Object(properties) => {
                text.push('{');
                for (at, (name, value)) in properties.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    blank(text, rng);
                    leaf_with(text, name, rng);
                    blank(text, rng);
                    text.push(':');
                    value.write_with(text, rng);
                }
                text.push('}');
            }
        }
        blank(text, rng);
    }
}

fn blank(text: &mut String, rng: &mut Option<&mut Rng>) {
    if let Some(rng) = rng
        && rng.once_in(12)
    {
        text.push_str(rng.pick(&[" ", "\n", "\t", "\r", "  "]));
    }
}

fn leaf_with(text: &mut String, leaf: &str, rng: &mut Option<&mut Rng>) {
    let Some(rng) = rng.as_mut().filter(|_| leaf.len() < 500) else { return text.push_str(leaf) };
    match serde_json::from_str::<String>(leaf) {
        Ok(string) if rng.once_in(3) => escaped(text, &string, rng),
        Err(_) if is_integer(leaf) && rng.once_in(4) => {
            text.push_str(leaf);
            text.push_str(rng.pick(&[".0", "e0", "E+0", "0e-1", ".000", "00.0e-2"]));
        }
        _ => text.push_str(leaf),
    }
}

pub(crate) fn is_integer(leaf: &str) -> bool {
    let digits = leaf.strip_prefix('-').unwrap_or(leaf);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Writes a string with some characters as `\u` escapes.
fn escaped(text: &mut String, string: &str, rng: &mut Rng) {
    text.push('"');
    for character in string.chars() {
        if character < ' ' || matches!(character, '"' | '\\') || rng.once_in(6) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(character);
        }
    }
    text.push('"');
}

fn value(rest: &mut &str, depth: usize) -> Option<Tree> {
    *rest = rest.trim_ascii_start();
    match rest.bytes().next()? {
        b'[' if depth < DEEPEST => {
            let mut items = Vec::new();
            between(rest, ']', |rest| {
                items.push(value(rest, depth + 1)?);
                Some(())
            })?;
            Some(Tree::List(items))
        }
        b'{' if depth < DEEPEST => {
            let mut properties = Vec::new();
            between(rest, '}', |rest| {
                *rest = rest.trim_ascii_start();
                let name = string(rest)?;
                *rest = rest.trim_ascii_start().strip_prefix(':')?;
                properties.push((name, value(rest, depth + 1)?));
                Some(())
            })?;
            Some(Tree::Object(properties))
        }
        b'"' => string(rest).map(Tree::Leaf),
        _ => {
            let is_over =
                |c: char| matches!(c, ',' | ']' | '}' | '[' | '{' | '"' | ':') || c.is_ascii_whitespace();
            let length = rest.find(is_over).unwrap_or(rest.len());
            (length > 0).then(|| Tree::Leaf(take(rest, length)))
        }
    }
}

/// Parses the items between brackets.
fn between<'t>(
    rest: &mut &'t str,
    close: char,
    mut read: impl FnMut(&mut &'t str) -> Option<()>,
) -> Option<()> {
    *rest = rest.get(1..)?.trim_ascii_start();
    if let Some(after) = rest.strip_prefix(close) {
        *rest = after;
        return Some(());
    }
    loop {
        read(rest)?;
        *rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(close) {
            *rest = after;
            return Some(());
        }
        *rest = rest.strip_prefix(',')?;
    }
}

fn string(rest: &mut &str) -> Option<String> {
    let mut is_escaped = false;
    let is_end = |(_, byte): &(usize, u8)| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    let (end, _) = rest.strip_prefix('"')?.bytes().enumerate().find(is_end)?;
    Some(take(rest, end + 2))
}

fn take(rest: &mut &str, length: usize) -> String {
    let (taken, after) = rest.split_at(length);
    *rest = after;
    taken.to_owned()
}
