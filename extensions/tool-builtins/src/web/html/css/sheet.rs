//! Style sheets, read as a browser reads them.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use cssparser::{
    AtRuleParser, CowRcStr, DeclarationParser, ParseError, Parser, ParserState, QualifiedRuleParser,
    RuleBodyItemParser, RuleBodyParser, StyleSheetParser,
};

use super::{
    declaration::{Declaration, read_and_push_declarations, read_condition_text},
    media::is_for_screen,
    selector::{Condition, Selector, SelectorGroup, SelectorList},
};

/// Selectors of a page whose rules can hide a text.
pub(super) const MAX_SELECTORS: usize = 16_384;

/// Levels of rules inside of others.
const MAX_DEPTH: usize = 24;

/// Characters of a name by which rules are found; the rest of it is compared with each.
const MAX_KEY_CHARS: usize = 64;

/// A rule for one selector.
#[derive(Debug)]
pub(super) struct StyleRule {
    pub(super) selector: Arc<Selector>,
    pub(super) declarations: Arc<[Declaration]>,
    /// A rule of a layer is weaker than one of none.
    pub(super) is_layered: bool,
}

/// The name that the last part of a selector asks for.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum RuleKey {
    Id(String),
    Class(String),
    Tag(String),
    Any,
}

/// The rules of the style sheets of a page that can hide a text.
#[derive(Debug, Default)]
pub(super) struct StyleRules {
    pub(super) rules: Vec<StyleRule>,
    by_key: HashMap<RuleKey, Vec<usize>>,
    /// Selectors that were not understood, or one too many.
    pub(super) unread: usize,
}

impl StyleRules {
    /// Adds the rules of one style sheet, until `stop` is set.
    pub(super) fn read_sheet(&mut self, text: &str, stop: &AtomicBool) {
        let mut input = Parser::new(text);
        let mut parser = RuleParser::new(self, stop);
        for rule in StyleSheetParser::new(&mut input, &mut parser) {
            // A rule with a mistake is none, in browsers as well.
            let _: Result<(), _> = rule;
            if stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// The rules whose selector may be about an element with one of the keys, in their order.
    pub(super) fn rules_of<'r>(&'r self, key: &RuleKey) -> impl Iterator<Item = (usize, &'r StyleRule)> {
        let indices = self.by_key.get(key).into_iter().flatten();
        indices.filter_map(|index| Some((*index, self.rules.get(*index)?)))
    }

    fn push_by_key(&mut self, rule: StyleRule) {
        let key = RuleKey::of_selector(&rule.selector);
        self.by_key.entry(key).or_default().push(self.rules.len());
        self.rules.push(rule);
    }
}

impl RuleKey {
    /// In small letters, since names of a page without a document type have no case.
    pub(super) fn id(name: &str) -> Self {
        Self::Id(key_name(name))
    }

    pub(super) fn class(name: &str) -> Self {
        Self::Class(key_name(name))
    }

    pub(super) fn tag(name: &str) -> Self {
        Self::Tag(key_name(name))
    }

    fn of_selector(selector: &Selector) -> Self {
        let conditions = || selector.compounds.last().into_iter().flat_map(|it| &it.conditions);
        let id = conditions().find_map(|it| match it {
            Condition::Id(name) => Some(Self::id(name)),
            _ => None,
        });
        let class = || {
            conditions().find_map(|it| match it {
                Condition::Class(name) => Some(Self::class(name)),
                _ => None,
            })
        };
        let tag = || {
            conditions().find_map(|it| match it {
                Condition::Tag(name) => Some(Self::tag(name)),
                _ => None,
            })
        };
        id.or_else(class).or_else(tag).unwrap_or(Self::Any)
    }
}

fn key_name(name: &str) -> String {
    name.chars().take(MAX_KEY_CHARS).map(|it| it.to_ascii_lowercase()).collect()
}

/// The declarations that decide: of one property the last, and the last important one.
fn last_declarations(declarations: Vec<Declaration>) -> Vec<Declaration> {
    let mut last: Vec<Declaration> = Vec::new();
    for declaration in declarations.into_iter().rev() {
        let is_same = |it: &Declaration| {
            (it.property, it.is_important) == (declaration.property, declaration.is_important)
        };
        if !last.iter().any(is_same) {
            last.push(declaration);
        }
    }
    last
}

/// Reads the content of a sheet, or of a rule.
struct RuleParser<'r> {
    rules: &'r mut StyleRules,
    /// The selectors of the rule around it.
    parent: Option<SelectorGroup>,
    unread_selectors: usize,
    /// Selectors of the rule that are counted as not read; a rule may have its declarations in many parts.
    counted_selectors: usize,
    declarations: Vec<Declaration>,
    is_layered: bool,
    depth: usize,
    stop: &'r AtomicBool,
}

impl<'r> RuleParser<'r> {
    fn new(rules: &'r mut StyleRules, stop: &'r AtomicBool) -> Self {
        Self {
            rules,
            stop,
            parent: None,
            unread_selectors: 0,
            counted_selectors: 0,
            declarations: Vec::new(),
            is_layered: false,
            depth: 0,
        }
    }

    /// Adds the declarations so far as rules; those of rules inside come after them.
    fn flush_declarations_as_rules(&mut self) {
        let declarations: Arc<[Declaration]> =
            last_declarations(std::mem::take(&mut self.declarations)).into();
        let Some(SelectorGroup { selectors, .. }) = self.parent.as_ref().filter(|_| !declarations.is_empty())
        else {
            return;
        };
        let room = MAX_SELECTORS.saturating_sub(self.rules.rules.len());
        for selector in selectors.iter().take(room) {
            let (selector, declarations) = (Arc::clone(selector), Arc::clone(&declarations));
            self.rules.push_by_key(StyleRule { selector, declarations, is_layered: self.is_layered });
        }
        let unread = self.unread_selectors + selectors.len().saturating_sub(room);
        self.rules.unread += unread.saturating_sub(self.counted_selectors);
        self.counted_selectors = self.counted_selectors.max(unread);
    }

    fn read_body(
        &mut self,
        selectors: Option<SelectorList>,
        is_layered: bool,
        input: &mut Parser<'_>,
    ) -> Result<(), ParseError<()>> {
        self.flush_declarations_as_rules();
        if self.depth == MAX_DEPTH {
            self.rules.unread += 1;
            return Err(ParseError::custom(()));
        }
        let is_rule = selectors.is_some();
        let (parent, unread_selectors, counted_selectors) = match selectors {
            // Inside of a rule whose selector is not read, none is compared.
            Some(list) => (Some(list.selectors.into()), self.unread_selectors + list.unread, 0),
            None => (self.parent.clone(), self.unread_selectors, self.counted_selectors),
        };
        let mut body = RuleParser {
            rules: &mut *self.rules,
            parent,
            unread_selectors,
            counted_selectors,
            declarations: Vec::new(),
            is_layered: self.is_layered || is_layered,
            depth: self.depth + 1,
            stop: self.stop,
        };
        for item in RuleBodyParser::new(input, &mut body) {
            let _: Result<(), _> = item;
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        body.flush_declarations_as_rules();
        if !is_rule {
            self.counted_selectors = body.counted_selectors;
        }
        Ok(())
    }
}

impl<'i> DeclarationParser<'i> for RuleParser<'_> {
    type Declaration = ();
    type Error = ();

    fn parse_value(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
        _: &ParserState,
    ) -> Result<(), ParseError<()>> {
        read_and_push_declarations(&name, input, &mut self.declarations)
    }
}

impl<'i> QualifiedRuleParser<'i> for RuleParser<'_> {
    type Prelude = SelectorList;
    type QualifiedRule = ();
    type Error = ();

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<SelectorList, ParseError<()>> {
        Ok(SelectorList::parse(input, self.parent.as_ref()))
    }

    fn parse_block(
        &mut self,
        selectors: SelectorList,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        self.read_body(Some(selectors), false, input)
    }
}

/// The rules inside of an at-rule that hold, and whether they are of a layer.
struct AtRuleBody {
    is_layered: bool,
}

impl<'i> AtRuleParser<'i> for RuleParser<'_> {
    type Prelude = AtRuleBody;
    type AtRule = ();
    type Error = ();

    fn parse_prelude(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
    ) -> Result<AtRuleBody, ParseError<()>> {
        let condition = read_condition_text(input)?;
        let name = name.to_ascii_lowercase();
        let holds = match name.as_str() {
            "media" => is_for_screen(&condition),
            // Their conditions are taken as true: what their rules hide may be hidden.
            "supports" | "container" | "layer" | "scope" => true,
            _ => false,
        };
        match holds {
            true => Ok(AtRuleBody { is_layered: name == "layer" }),
            false => Err(ParseError::custom(())),
        }
    }

    fn rule_without_block(&mut self, _: AtRuleBody, _: &ParserState) -> Result<(), ()> {
        Ok(())
    }

    fn parse_block(
        &mut self,
        body: AtRuleBody,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        self.read_body(None, body.is_layered, input)
    }
}

impl RuleBodyItemParser<'_, (), ()> for RuleParser<'_> {
    fn parse_declarations(&self) -> bool {
        self.parent.is_some()
    }

    fn parse_qualified(&self) -> bool {
        true
    }
}
