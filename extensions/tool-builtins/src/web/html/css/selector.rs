//! Selectors, as far as a page needs them to hide a text.

use std::sync::Arc;

use cssparser::{CowRcStr, ParseError, Parser, Token, parse_nth};

/// Parts of a selector between combinators; the selectors of people have fewer.
const MAX_COMPOUNDS: usize = 32;

/// Levels of selectors inside of others.
const MAX_DEPTH: usize = 8;

/// The weights of conditions in the cascade; 256 lighter ones weigh as much as a heavier one.
const TAG_SPECIFICITY: u32 = 1;
const CLASS_SPECIFICITY: u32 = 1 << 8;
const ID_SPECIFICITY: u32 = 1 << 16;

/// The relation of a part of a selector to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Combinator {
    Descendant,
    Child,
    NextSibling,
    LaterSibling,
}

/// The comparison of an attribute; in small letters if it ignores the case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttributeTest {
    Exists,
    Equals(String),
    Word(String),
    Dash(String),
    Prefix(String),
    Suffix(String),
    Part(String),
}

/// A condition on one element.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    Tag(String),
    Id(String),
    Class(String),
    Attribute {
        name: String,
        test: AttributeTest,
        ignores_case: bool,
    },
    Root,
    Empty,
    /// The position among the elements of its parent, or among those with its name.
    Nth {
        step: i32,
        first: i32,
        is_from_end: bool,
        is_of_type: bool,
    },
    /// The only element of its parent, or the only one with its name.
    Only {
        is_of_type: bool,
    },
    Not(SelectorGroup),
    Any {
        selectors: SelectorGroup,
        is_weightless: bool,
    },
    /// A box or an option that is marked, before its reader does something.
    Checked,
    Disabled,
    /// One of the selectors of the rule around it.
    Parent(SelectorGroup),
    /// A state that comes with what a reader does, such as `:hover`.
    Never,
}

/// The conditions on one element between combinators.
#[derive(Debug, Clone, Default)]
pub(super) struct Compound {
    pub(super) conditions: Vec<Condition>,
}

/// A selector. `combinators` has the relation of each compound but the first to the one before it.
#[derive(Debug)]
pub(super) struct Selector {
    pub(super) compounds: Vec<Compound>,
    pub(super) combinators: Vec<Combinator>,
    /// Its weight in the cascade.
    pub(super) specificity: u32,
}

/// Selectors that rules and conditions share.
#[derive(Debug, Clone, Default)]
pub(super) struct SelectorGroup {
    pub(super) selectors: Arc<[Arc<Selector>]>,
    /// The greatest one of the selectors, which is found once: selectors may be inside of others without end.
    specificity: u32,
}

/// The selectors of a rule, and the number of those that were not understood.
#[derive(Debug, Default)]
pub(super) struct SelectorList {
    pub(super) selectors: Vec<Selector>,
    pub(super) unread: usize,
}

type SelectorError = ParseError<()>;

fn unread_error<T>() -> Result<T, SelectorError> {
    Err(ParseError::custom(()))
}

impl SelectorList {
    /// Reads selectors; `parent` are those of the rule around them.
    pub(super) fn parse(input: &mut Parser<'_>, parent: Option<&SelectorGroup>) -> Self {
        parse_selector_list(input, parent, 0)
    }
}

impl Selector {
    fn new(compounds: Vec<Compound>, combinators: Vec<Combinator>) -> Self {
        let conditions = compounds.iter().flat_map(|it| &it.conditions);
        let specificity = conditions.map(Condition::specificity).fold(0, u32::saturating_add);
        Self { compounds, combinators, specificity }
    }
}

impl From<Vec<Selector>> for SelectorGroup {
    fn from(selectors: Vec<Selector>) -> Self {
        let specificity = selectors.iter().map(|it| it.specificity).fold(0, u32::max);
        Self { selectors: selectors.into_iter().map(Arc::new).collect(), specificity }
    }
}

impl Condition {
    /// Bytes of the name that is compared.
    pub(super) fn name_bytes(&self) -> usize {
        match self {
            Self::Tag(name) | Self::Id(name) | Self::Class(name) => name.len(),
            _ => 0,
        }
    }

    fn specificity(&self) -> u32 {
        match self {
            Self::Id(_) => ID_SPECIFICITY,
            Self::Class(_)
            | Self::Attribute { .. }
            | Self::Root
            | Self::Empty
            | Self::Nth { .. }
            | Self::Only { .. }
            | Self::Checked
            | Self::Disabled
            | Self::Never => CLASS_SPECIFICITY,
            Self::Tag(_) => TAG_SPECIFICITY,
            Self::Any { is_weightless: true, .. } => 0,
            Self::Any { selectors, .. } | Self::Not(selectors) | Self::Parent(selectors) => {
                selectors.specificity
            }
        }
    }
}

fn parse_selector_list(input: &mut Parser<'_>, parent: Option<&SelectorGroup>, depth: usize) -> SelectorList {
    let mut list = SelectorList::default();
    loop {
        let selector = input
            .parse_until_before(cssparser::Delimiter::Comma, |input| parse_selector(input, parent, depth));
        match selector {
            Ok(Some(selector)) => list.selectors.push(selector),
            Ok(None) => {}
            Err(_) => list.unread += 1,
        }
        if input.next().is_err() {
            return list;
        }
    }
}

/// Reads one selector; `None` for one of a pseudo-element, which hides no text of the page.
fn parse_selector(
    input: &mut Parser<'_>,
    parent: Option<&SelectorGroup>,
    depth: usize,
) -> Result<Option<Selector>, SelectorError> {
    if depth > MAX_DEPTH {
        return unread_error();
    }
    let (mut compounds, mut combinators) = (Vec::new(), Vec::new());
    let mut compound = Compound::default();
    let mut combinator = None;
    if let Some(selectors) = parent.filter(|_| !contains_parent_selector(input)) {
        compound.conditions.push(parent_condition(selectors));
        combinator = Some(Combinator::Descendant);
    }
    while let Ok(token) = input.next_including_whitespace() {
        match token.clone() {
            Token::WhiteSpace(_) if compound.conditions.is_empty() => continue,
            Token::WhiteSpace(_) => combinator = combinator.or(Some(Combinator::Descendant)),
            Token::Delim('>') => combinator = Some(Combinator::Child),
            Token::Delim('+') => combinator = Some(Combinator::NextSibling),
            Token::Delim('~') => combinator = Some(Combinator::LaterSibling),
            token => {
                if let Some(combinator) = combinator.take() {
                    if compound.conditions.is_empty() {
                        return unread_error();
                    }
                    compounds.push(std::mem::take(&mut compound));
                    combinators.push(combinator);
                }
                match (token, parent) {
                    (Token::Delim('&'), Some(selectors)) => {
                        compound.conditions.push(parent_condition(selectors))
                    }
                    (token, _) => match parse_condition(token, input, depth)? {
                        Some(condition) => compound.conditions.push(condition),
                        None => {
                            // What follows the pseudo-element belongs to it.
                            while input.next().is_ok() {}
                            return Ok(None);
                        }
                    },
                }
            }
        }
        if compounds.len() > MAX_COMPOUNDS {
            return unread_error();
        }
    }
    // A selector does not end with a combinator, but for blanks.
    let is_whole = matches!(combinator, None | Some(Combinator::Descendant));
    if compound.conditions.is_empty() || !is_whole {
        return unread_error();
    }
    compounds.push(compound);
    Ok(Some(Selector::new(compounds, combinators)))
}

/// Returns `true` if a selector says where the one of the rule around it stands.
fn contains_parent_selector(input: &mut Parser<'_>) -> bool {
    let start = input.state();
    let mut is_found = false;
    while let (false, Ok(token)) = (is_found, input.next()) {
        is_found = *token == Token::Delim('&');
    }
    input.reset(&start);
    is_found
}

fn parent_condition(selectors: &SelectorGroup) -> Condition {
    Condition::Parent(selectors.clone())
}

/// Reads what `token` begins; `None` for a pseudo-element.
fn parse_condition(
    token: Token<'_>,
    input: &mut Parser<'_>,
    depth: usize,
) -> Result<Option<Condition>, SelectorError> {
    let condition = match token {
        // It matches all, and counts as a condition, so that a selector of it alone is not empty.
        Token::Delim('*') => Condition::Not(SelectorGroup::default()),
        Token::Ident(name) => Condition::Tag(name.to_ascii_lowercase()),
        Token::IDHash(name) | Token::Hash(name) => Condition::Id(name.to_string()),
        Token::Delim('.') => match input.next_including_whitespace()? {
            Token::Ident(name) => Condition::Class(name.to_string()),
            _ => return unread_error(),
        },
        Token::SquareBracketBlock => input.parse_nested_block(parse_attribute)?,
        Token::Colon => return parse_pseudo_class(input, depth),
        _ => return unread_error(),
    };
    Ok(Some(condition))
}

fn parse_attribute(input: &mut Parser<'_>) -> Result<Condition, SelectorError> {
    let name = input.expect_ident()?.to_ascii_lowercase();
    let Ok(operator) = input.next().cloned() else {
        return Ok(Condition::Attribute { name, test: AttributeTest::Exists, ignores_case: false });
    };
    let mut value = input.expect_ident_or_string()?.to_string();
    let flag = input.try_parse(|input| input.expect_ident().map(|flag| flag.to_ascii_lowercase()));
    // The values of some attributes of HTML have no case; `type` is the one that style sheets name.
    let ignores_case = flag.is_ok_and(|flag| flag == "i") || name == "type";
    if ignores_case {
        value.make_ascii_lowercase();
    }
    let test = match operator {
        Token::Delim('=') => AttributeTest::Equals(value),
        Token::IncludeMatch => AttributeTest::Word(value),
        Token::DashMatch => AttributeTest::Dash(value),
        Token::PrefixMatch => AttributeTest::Prefix(value),
        Token::SuffixMatch => AttributeTest::Suffix(value),
        Token::SubstringMatch => AttributeTest::Part(value),
        _ => return unread_error(),
    };
    Ok(Condition::Attribute { name, test, ignores_case })
}

/// Reads what follows a colon; `None` for a pseudo-element.
fn parse_pseudo_class(input: &mut Parser<'_>, depth: usize) -> Result<Option<Condition>, SelectorError> {
    let nth = |step, first, is_from_end, is_of_type| Condition::Nth { step, first, is_from_end, is_of_type };
    let token = input.next_including_whitespace()?.clone();
    let condition = match token {
        Token::Colon => return Ok(None),
        Token::Ident(name) => match &*name.to_ascii_lowercase() {
            "before" | "after" | "first-line" | "first-letter" => return Ok(None),
            "root" | "scope" => Condition::Root,
            "empty" => Condition::Empty,
            "first-child" => nth(0, 1, false, false),
            "last-child" => nth(0, 1, true, false),
            "first-of-type" => nth(0, 1, false, true),
            "last-of-type" => nth(0, 1, true, true),
            "only-child" => Condition::Only { is_of_type: false },
            "only-of-type" => Condition::Only { is_of_type: true },
            "link" | "any-link" => Condition::Attribute {
                name: "href".to_owned(),
                test: AttributeTest::Exists,
                ignores_case: false,
            },
            "checked" => Condition::Checked,
            "disabled" => Condition::Disabled,
            "hover" | "focus" | "focus-within" | "focus-visible" | "active" | "visited" | "target"
            | "invalid" | "user-invalid" | "indeterminate" | "placeholder-shown" | "autofill"
            | "-webkit-autofill" | "fullscreen" | "modal" | "popover-open" | "playing" | "paused" => {
                Condition::Never
            }
            _ => return unread_error(),
        },
        Token::Function(name) => parse_functional_pseudo_class(&name, input, depth)?,
        _ => return unread_error(),
    };
    Ok(Some(condition))
}

fn parse_functional_pseudo_class(
    name: &CowRcStr<'_>,
    input: &mut Parser<'_>,
    depth: usize,
) -> Result<Condition, SelectorError> {
    let name = name.to_ascii_lowercase();
    input.parse_nested_block(|input| {
        let is_of_type = name.ends_with("of-type");
        match name.as_str() {
            "nth-child" | "nth-last-child" | "nth-of-type" | "nth-last-of-type" => {
                let (step, first) = parse_nth(input)?;
                let is_from_end = name.starts_with("nth-last");
                Ok(Condition::Nth { step, first, is_from_end, is_of_type })
            }
            "not" | "is" | "where" | "matches" | "-webkit-any" | "-moz-any" => {
                let list = parse_selector_list(input, None, depth + 1);
                if list.unread > 0 {
                    return unread_error();
                }
                let selectors = list.selectors.into();
                Ok(match name.as_str() {
                    "not" => Condition::Not(selectors),
                    name => Condition::Any { selectors, is_weightless: name == "where" },
                })
            }
            _ => unread_error(),
        }
    })
}
