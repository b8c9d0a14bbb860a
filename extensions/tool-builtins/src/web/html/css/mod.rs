//! The text that the styles of a page hide.
//!
//! Each element gets the declarations of its inline style and of the `<style>` elements of the page, by the order that browsers
//! follow; a text is hidden by an element around it, or by what it has from it, such as a colour. What is not understood, or would
//! take too long, is counted, so that the result can say it.

mod declaration;
mod hiding;
mod layout;
mod length;
mod matcher;
mod media;
mod selector;
mod sheet;
#[cfg(test)]
mod tests;
mod validity;

use std::sync::atomic::{AtomicBool, Ordering};

use self::{
    declaration::{Declaration, Property, inline_declarations},
    hiding::{ElementStyle, HidingSource, TextStyle},
    matcher::SelectorMatcher,
    sheet::{RuleKey, StyleRule, StyleRules},
};
use super::{
    tree::{DOCUMENT, HtmlTree, NodeData, NodeId, TreeLimit, Visit},
    visible::is_never_text,
};

/// Nodes between two looks at `stop`.
const NODES_PER_CHECK: usize = 1024;

/// The text of a page that style sheets hide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HiddenText {
    /// Characters of text, without blanks, that style sheets hide.
    pub(crate) chars: usize,
    /// Selectors that can hide text, and were not understood or compared.
    pub(crate) unread: usize,
}

/// Hides the nodes of a page that its styles hide; without `has_sheets`, those that its elements hide themselves.
pub(super) fn hide_nodes(
    tree: &mut HtmlTree,
    has_sheets: bool,
    stop: &AtomicBool,
) -> Result<HiddenText, TreeLimit> {
    let mut rules = StyleRules::default();
    if has_sheets {
        add_rules_of_sheets(tree, &mut rules, stop);
    }
    let mut walk = StyleWalk::new(tree, &rules);
    walk.visit_all(stop)?;
    let not_compared = if walk.matcher.is_exhausted() { rules.rules.len() } else { 0 };
    let report = HiddenText { chars: walk.hidden_chars, unread: rules.unread + not_compared };
    let hidden = walk.hidden;
    tree.set_hidden(&hidden);
    Ok(report)
}

fn add_rules_of_sheets(tree: &HtmlTree, rules: &mut StyleRules, stop: &AtomicBool) {
    // A template is no part of the page.
    for id in tree.descendants(DOCUMENT, |id| tree.tag(id) == "template") {
        let attribute = |name| tree.attribute(id, name).unwrap_or_default();
        let is_embedded =
            |href: &str| href.trim_start().get(..5).is_some_and(|it| it.eq_ignore_ascii_case("data:"));
        if tree.tag(id) == "link" && is_embedded(attribute("href")) {
            rules.unread += usize::from(attribute("rel").to_ascii_lowercase().contains("stylesheet"));
        }
        let kind = attribute("type").trim();
        if !tree.is_style(id) || !(kind.is_empty() || kind.eq_ignore_ascii_case("text/css")) {
            continue;
        }
        if !media::is_for_screen(&attribute("media").to_ascii_lowercase()) {
            continue;
        }
        let mut text = String::new();
        for child in std::iter::successors(tree.first_child(id), |child| tree.next(*child)) {
            if let NodeData::Text(part) = tree.data(child) {
                text.push_str(part);
            }
        }
        rules.read_sheet(&text, stop);
    }
}

struct StyleWalk<'t> {
    tree: &'t HtmlTree,
    rules: &'t StyleRules,
    matcher: SelectorMatcher<'t>,
    hidden: Vec<NodeId>,
    hidden_chars: usize,
    /// The styles of the text in the open elements.
    around: Vec<TextStyle>,
}

impl<'t> StyleWalk<'t> {
    fn new(tree: &'t HtmlTree, rules: &'t StyleRules) -> Self {
        Self {
            tree,
            rules,
            matcher: SelectorMatcher::new(tree),
            hidden: Vec::new(),
            hidden_chars: 0,
            around: vec![TextStyle::PLAIN],
        }
    }

    fn visit_all(&mut self, stop: &AtomicBool) -> Result<(), TreeLimit> {
        let mut upcoming = Some(Visit::Enter(DOCUMENT));
        let mut visits: usize = 0;
        while let Some(visit) = upcoming {
            visits += 1;
            if visits.is_multiple_of(NODES_PER_CHECK) && stop.load(Ordering::Relaxed) {
                return Err(TreeLimit::Stopped);
            }
            upcoming = match visit {
                Visit::Enter(id) if !self.judge_node(id) => Some(Visit::Leave(id)),
                Visit::Enter(_) => self.tree.next_visit(DOCUMENT, visit),
                Visit::Leave(id) => {
                    if let NodeData::Element { .. } = self.tree.data(id) {
                        self.around.pop();
                    }
                    self.tree.next_visit(DOCUMENT, visit)
                }
            };
        }
        Ok(())
    }

    /// Judges a node; `false` if nothing in it is shown.
    fn judge_node(&mut self, id: NodeId) -> bool {
        let around = self.around.last().copied().unwrap_or(TextStyle::PLAIN);
        if let NodeData::Text(_) = self.tree.data(id) {
            if let Some(source) = around.hiding_source() {
                self.record_hidden(id, source);
            }
            return false;
        }
        if !matches!(self.tree.data(id), NodeData::Element { .. }) {
            return true;
        }
        let declarations = own_declarations(self.tree, id);
        let mut style = ElementStyle::default();
        for declaration in &declarations.attributes {
            style.add_if_stronger(declaration, CascadeWeight::default(), HidingSource::Element);
        }
        self.add_rules(&mut style, id);
        for declaration in &declarations.inline {
            style.add_if_stronger(declaration, CascadeWeight::of_inline(declaration), HidingSource::Element);
        }
        let is_link = self.tree.tag(id) == "a" && self.tree.attribute(id, "href").is_some();
        let source = style.hiding_source(self.tree.tag(id), around.layout);
        let text = around.inherited_by(&style, is_link);
        self.around.push(text);
        // An image is shown as its description.
        let is_image = self.tree.tag(id) == "img";
        let source = source.or_else(|| text.hiding_source().filter(|_| is_image));
        match source {
            Some(source) => self.record_hidden(id, source),
            None => return !is_never_text(self.tree, id),
        }
        false
    }

    fn record_hidden(&mut self, id: NodeId, source: HidingSource) {
        self.hidden.push(id);
        if source == HidingSource::StyleSheet {
            let texts = self.tree.descendants(id, |it| is_never_text(self.tree, it));
            let chars = |id| match self.tree.data(id) {
                NodeData::Text(text) => text.chars().filter(|it| !it.is_whitespace()).count(),
                _ => 0,
            };
            self.hidden_chars += texts.map(chars).sum::<usize>();
        }
    }

    /// Adds the declarations of the rules whose selector is about the element.
    fn add_rules<'s>(&self, style: &mut ElementStyle<'s>, id: NodeId)
    where
        't: 's,
    {
        if self.rules.rules.is_empty() {
            return;
        }
        let mut add = |key: &RuleKey| {
            for (index, rule) in self.rules.rules_of(key) {
                if self.matcher.is_exhausted() {
                    return;
                }
                if self.matcher.matches(&rule.selector, id) {
                    add_rule(style, index, rule);
                }
            }
        };
        add(&RuleKey::Any);
        add(&RuleKey::tag(self.tree.tag(id)));
        if let Some(name) = self.tree.attribute(id, "id") {
            add(&RuleKey::id(name));
        }
        for class in self.tree.attribute(id, "class").unwrap_or_default().split_ascii_whitespace() {
            add(&RuleKey::class(class));
        }
    }
}

fn add_rule<'s>(style: &mut ElementStyle<'s>, index: usize, rule: &'s StyleRule) {
    for declaration in rule.declarations.iter() {
        let weight = CascadeWeight::of_rule(declaration, index, rule);
        style.add_if_stronger(declaration, weight, HidingSource::StyleSheet);
    }
}

/// The precedence of a declaration: of two, the first field decides in which they differ. The default is the least one, which old
/// attributes have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct CascadeWeight {
    is_important: bool,
    is_inline: bool,
    /// It is of no layer; among important declarations, those of a layer win.
    is_strong: bool,
    specificity: u32,
    index: usize,
}

impl CascadeWeight {
    fn of_inline(declaration: &Declaration) -> Self {
        Self { is_important: declaration.is_important, is_inline: true, ..Self::default() }
    }

    fn of_rule(declaration: &Declaration, index: usize, rule: &StyleRule) -> Self {
        let is_important = declaration.is_important;
        let is_strong = rule.is_layered == is_important;
        Self { is_important, is_inline: false, is_strong, specificity: rule.selector.specificity, index }
    }
}

/// The declarations of an element itself.
struct OwnDeclarations {
    attributes: Vec<Declaration>,
    inline: Vec<Declaration>,
}

fn own_declarations(tree: &HtmlTree, id: NodeId) -> OwnDeclarations {
    let of_attribute = |name, property| {
        let value = tree.attribute(id, name)?.trim().to_ascii_lowercase();
        Some(Declaration { property, value, is_important: false })
    };
    let attributes = [of_attribute("color", Property::Color), of_attribute("bgcolor", Property::Background)];
    OwnDeclarations {
        attributes: attributes.into_iter().flatten().collect(),
        inline: tree.attribute(id, "style").map(inline_declarations).unwrap_or_default(),
    }
}
