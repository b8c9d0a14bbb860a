//! All mutants of a file, as edits of its text.
//!
//! An edit inserts text around the existing text, or puts the old and the new text into the branches of an
//! `if`. Either way the program is compiled once, and a switch selects the mutant at run time.

use std::{fmt, ops::Range};

use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprBinary, ExprClosure, ExprIf, ExprLit, ExprMatch, ExprRepeat,
    ExprUnary, ExprWhile, FnArg, GenericArgument, ImplItemConst, ImplItemFn, Item, ItemConst, ItemFn,
    ItemImpl, ItemStatic, ItemTrait, Lit, Macro, Pat, PathArguments, ReceiverKind, ReturnType, Signature,
    Stmt, TraitItemConst, TraitItemFn, Type, UnOp,
    spanned::Spanned,
    visit::{self, Visit},
};

/// One change of one file.
#[derive(Debug, Clone)]
pub struct Mutant {
    pub file: String,
    pub function: String,
    pub line: usize,
    /// The description of the change, which identifies accepted survivors.
    pub change: String,
    pub edit: Edit,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, function, line, change, .. } = self;
        write!(f, "{file}:{line} in {function}: {change}")
    }
}

/// An edit of the text; `@` stands for the switch of the mutant.
#[derive(Debug, Clone)]
pub enum Edit {
    /// Text before and after a range, which may contain other edits.
    Around(Range<usize>, String, String),
    /// A replacement of a range, which contains no other edit.
    Instead(Range<usize>, String),
}

impl Edit {
    pub fn range(&self) -> &Range<usize> {
        match self {
            Self::Around(range, ..) | Self::Instead(range, _) => range,
        }
    }

    /// Returns `true` if both edits can be made. Ranges of a syntax tree are disjoint or nested.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let apart = |one: &Range<usize>, two: &Range<usize>| one.end <= two.start || two.end <= one.start;
        let within = |outer: &Range<usize>, inner: &Range<usize>| {
            outer != inner && outer.start <= inner.start && inner.end <= outer.end
        };
        let (one, two) = (self.range(), other.range());
        match (self, other) {
            (Self::Around(..), Self::Around(..)) => true,
            (Self::Around(..), Self::Instead(..)) => apart(one, two) || within(one, two),
            (Self::Instead(..), Self::Around(..)) => apart(one, two) || within(two, one),
            (Self::Instead(..), Self::Instead(..)) => apart(one, two),
        }
    }
}

/// Returns all mutants of `text`, the content of `file`.
pub fn find_mutants(file: &str, text: &str) -> syn::Result<Vec<Mutant>> {
    let parsed = syn::parse_file(text)?;
    let mut finder = Finder { file, text, names: Vec::new(), found: Vec::new() };
    finder.visit_file(&parsed);
    Ok(finder.found)
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    /// The enclosing impl and functions.
    names: Vec<String>,
    found: Vec<Mutant>,
}

impl Finder<'_> {
    fn text_of(&self, spanned: &impl Spanned) -> &str {
        &self.text[spanned.span().byte_range()]
    }

    fn add_mutant(&mut self, change: String, edit: Edit) {
        let line = 1 + self.text[..edit.range().start].matches('\n').count();
        let change = change.split_whitespace().collect::<Vec<_>>().join(" ");
        let (file, function) = (self.file.to_owned(), self.names.join("::"));
        self.found.push(Mutant { file, function, line, change, edit });
    }

    fn add_around(&mut self, spanned: &impl Spanned, change: &str, before: &str, after: &str) {
        let change = format!("`{}`: {change}", self.text_of(spanned));
        self.add_mutant(
            change,
            Edit::Around(spanned.span().byte_range(), before.to_owned(), after.to_owned()),
        );
    }

    fn add_replacement(&mut self, spanned: &impl Spanned, new: &str) {
        let old = self.text_of(spanned);
        let edit = Edit::Instead(spanned.span().byte_range(), format!("(if @ {{ {new} }} else {{ {old} }})"));
        self.add_mutant(format!("`{old}`: `{new}`"), edit);
    }

    /// Replaces a condition by `true` and by `false`.
    fn add_condition_mutants(&mut self, cond: &Expr) {
        if has_let(cond) {
            return;
        }
        self.add_around(cond, "true", "(@ || (", "))");
        self.add_around(cond, "false", "(!@ && (", "))");
    }

    fn visit_function(&mut self, signature: &Signature, block: &Block, visit: impl FnOnce(&mut Self)) {
        if signature.constness.is_some() {
            return;
        }
        self.names.push(signature.ident.to_string());
        let open = block.brace_token.span.open().byte_range().end;
        if !block.stmts.is_empty() {
            // A function that only returns this value is no mutant.
            let statements: Vec<_> = block.stmts.iter().filter(|it| !marks_as_unused(it)).collect();
            let body = match statements.as_slice() {
                [Stmt::Expr(body, None)] => self.text_of(body).to_owned(),
                _ => String::new(),
            };
            for value in constant_results(signature).into_iter().filter(|value| *value != body) {
                let edit = Edit::Around(open..open, format!("if @ {{ return {value}; }}"), String::new());
                self.add_mutant(format!("return `{value}`"), edit);
            }
        }
        visit(self);
        self.names.pop();
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(it) => &it.attrs,
            Item::Impl(it) => &it.attrs,
            Item::Mod(it) => &it.attrs,
            Item::Trait(it) => &it.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_conditional(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let of_trait = item.trait_.as_ref().and_then(|it| it.0.segments.last());
        // The output of `Debug` is not specified.
        if of_trait.is_some_and(|it| it.ident == "Debug") {
            return;
        }
        let mut name = name_of(&item.self_ty);
        if let Some(of_trait) = of_trait {
            name = format!("<{name} as {}>", of_trait.ident);
        }
        self.names.push(name);
        visit::visit_item_impl(self, item);
        self.names.pop();
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.names.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.names.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.visit_function(&item.sig, &item.block, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_conditional(&item.attrs) {
            self.visit_function(&item.sig, &item.block, |this| visit::visit_impl_item_fn(this, item));
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.visit_function(&item.sig, block, |this| visit::visit_trait_item_fn(this, item));
        }
    }

    // Constants, or not an expression.
    fn visit_item_const(&mut self, _: &'ast ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_generic_argument(&mut self, _: &'ast GenericArgument) {}
    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_pat(&mut self, pat: &'ast Pat) {
        if let Pat::Guard(it) = pat {
            self.visit_expr(&it.guard);
        }
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_macro(&mut self, _: &'ast Macro) {}

    fn visit_expr_repeat(&mut self, expr: &'ast ExprRepeat) {
        self.visit_expr(&expr.expr);
    }

    fn visit_expr_closure(&mut self, expr: &'ast ExprClosure) {
        self.visit_expr(&expr.body);
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        if let Stmt::Expr(expr, Some(_)) = stmt
            && is_effect(expr)
        {
            self.add_around(stmt, "removed", "if !@ { ", " }");
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_expr_if(&mut self, expr: &'ast ExprIf) {
        self.add_condition_mutants(&expr.cond);
        visit::visit_expr_if(self, expr);
    }

    fn visit_expr_while(&mut self, expr: &'ast ExprWhile) {
        if !has_let(&expr.cond) {
            self.add_around(&*expr.cond, "false", "(!@ && (", "))");
        }
        visit::visit_expr_while(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast ExprMatch) {
        let rest = expr.arms.iter().position(|arm| matches!(arm.pat, Pat::Wild(_)));
        for (at, arm) in expr.arms.iter().enumerate() {
            match &arm.pat {
                Pat::Guard(it) => self.add_condition_mutants(&it.guard),
                _ if rest.is_some_and(|rest| at < rest) => self.add_arm_removal(arm),
                _ => {}
            }
        }
        visit::visit_expr_match(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast ExprUnary) {
        if let UnOp::Not(_) = expr.op {
            self.add_around(expr, "without `!`", "(@ ^ (", "))");
        }
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_binary(&mut self, expr: &'ast ExprBinary) {
        let new = match expr.op {
            BinOp::Eq(_) | BinOp::Ne(_) => {
                self.add_around(expr, "negated", "(@ ^ (", "))");
                return visit::visit_expr_binary(self, expr);
            }
            BinOp::And(_) | BinOp::Or(_) if has_let(&expr.left) || has_let(&expr.right) => &[][..],
            BinOp::And(_) => &["||"],
            BinOp::Or(_) => &["&&"],
            BinOp::Lt(_) => &["<=", ">"],
            BinOp::Le(_) => &["<", ">"],
            BinOp::Gt(_) => &[">=", "<"],
            BinOp::Ge(_) => &[">", "<"],
            BinOp::Add(_) => &["-"],
            BinOp::Sub(_) => &["+"],
            BinOp::Mul(_) => &["+"],
            BinOp::Div(_) => &["*"],
            BinOp::Rem(_) => &["/"],
            BinOp::BitAnd(_) => &["|"],
            BinOp::BitOr(_) => &["&"],
            BinOp::Shl(_) => &[">>"],
            BinOp::Shr(_) => &["<<"],
            BinOp::AddAssign(_) => &["-="],
            BinOp::SubAssign(_) => &["+="],
            BinOp::BitOrAssign(_) => &["&="],
            BinOp::BitAndAssign(_) => &["|="],
            _ => &[],
        };
        for new in new {
            let new = format!("{} {new} {}", self.text_of(&expr.left), self.text_of(&expr.right));
            self.add_replacement(expr, &new);
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_lit(&mut self, expr: &'ast ExprLit) {
        match &expr.lit {
            Lit::Bool(it) => {
                let change = if it.value { "false" } else { "true" };
                self.add_around(expr, change, "(@ ^ ", ")");
            }
            Lit::Int(it) => {
                if let Ok(value) = it.base10_parse::<u128>() {
                    self.add_replacement(expr, &format!("{}{}", value.saturating_add(1), it.suffix()));
                }
            }
            _ => {}
        }
    }
}

impl Finder<'_> {
    /// Removes `arm` from a match, so that another arm applies.
    fn add_arm_removal(&mut self, arm: &Arm) {
        let end = arm.pat.span().byte_range().end;
        let change = format!("match without `{}`", self.text_of(&arm.pat));
        self.add_mutant(change, Edit::Around(end..end, " if !@".to_owned(), String::new()));
    }
}

/// Returns `true` if the item is a test or depends on a feature.
fn is_conditional(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| it.path().is_ident("cfg"))
}

/// Returns `true` if a statement is evaluated only for its effect.
fn is_effect(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_) => true,
        Expr::Binary(it) => matches!(
            it.op,
            BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::BitOrAssign(_) | BinOp::BitAndAssign(_)
        ),
        Expr::Await(it) => is_effect(&it.base),
        Expr::Try(it) => is_effect(&it.expr),
        _ => false,
    }
}

/// Returns `true` for `let _ = parameter;`.
fn marks_as_unused(statement: &Stmt) -> bool {
    let Stmt::Local(local) = statement else { return false };
    let has_no_effect =
        local.init.as_ref().is_some_and(|init| matches!(*init.expr, Expr::Path(_) | Expr::Tuple(_)));
    has_no_effect && matches!(local.pat, Pat::Wild(_))
}

/// Returns `true` if a condition binds names, or belongs to a chain with a condition that does.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(it) if matches!(it.op, BinOp::And(_)) => has_let(&it.left) || has_let(&it.right),
        _ => false,
    }
}

fn name_of(ty: &Type) -> String {
    match ty {
        Type::Path(it) => it.path.segments.last().map_or("_".to_owned(), |it| it.ident.to_string()),
        Type::Reference(it) => name_of(&it.elem),
        _ => "_".to_owned(),
    }
}

/// Returns constant results for a function, by its signature.
fn constant_results(signature: &Signature) -> Vec<String> {
    let by_value = signature
        .inputs
        .iter()
        .any(|it| matches!(it, FnArg::Receiver(it) if matches!(it.kind, ReceiverKind::Value)));
    match &signature.output {
        ReturnType::Default => vec!["()".to_owned()],
        ReturnType::Type(_, ty) if by_value && name_of(ty) == "Self" => vec!["self".to_owned()],
        ReturnType::Type(_, ty) => plausible_values(ty),
    }
}

/// Returns plausible values of a type.
fn plausible_values(ty: &Type) -> Vec<String> {
    let several = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    match ty {
        Type::Tuple(it) if it.elems.is_empty() => several(&["()"]),
        Type::Tuple(it) => {
            let firsts: Option<Vec<_>> =
                it.elems.iter().map(|it| plausible_values(it).into_iter().next()).collect();
            firsts.map(|firsts| format!("({})", firsts.join(", "))).into_iter().collect()
        }
        Type::Reference(it) if it.mutability.is_none() => match &*it.elem {
            Type::Slice(_) => several(&["&[]"]),
            Type::Path(path) if path.path.is_ident("str") => several(&["\"\"", "\"xyzzy\""]),
            _ => Vec::new(),
        },
        Type::Path(it) => {
            let Some(last) = it.path.segments.last() else { return Vec::new() };
            let inner: Vec<&Type> = match &last.arguments {
                PathArguments::AngleBracketed(it) => {
                    let types = it.args.iter().filter_map(|it| match it {
                        GenericArgument::Type(ty) => Some(ty),
                        _ => None,
                    });
                    types.collect()
                }
                _ => Vec::new(),
            };
            let each = |at: usize, wrap: &dyn Fn(String) -> String| -> Vec<String> {
                inner.get(at).map_or(Vec::new(), |ty| plausible_values(ty).into_iter().map(wrap).collect())
            };
            match last.ident.to_string().as_str() {
                "bool" => several(&["true", "false"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128"
                | "isize" => several(&["0", "1"]),
                "f32" | "f64" => several(&["0.0"]),
                "String" => several(&["String::new()", "\"xyzzy\".into()"]),
                "Cow" => several(&["Default::default()"]),
                "Option" => [several(&["None"]), each(0, &|it| format!("Some({it})"))].concat(),
                "Vec" => [several(&["vec![]"]), each(0, &|it| format!("vec![{it}]"))].concat(),
                // `fmt::Result` has no arguments.
                "Result" if inner.is_empty() => several(&["Ok(())"]),
                "Result" => each(0, &|it| format!("Ok({it})")),
                "Poll" => each(0, &|it| format!("std::task::Poll::Ready({it})")),
                "Box" => each(0, &|it| format!("Box::new({it})")),
                "Arc" => each(0, &|it| format!("std::sync::Arc::new({it})")),
                "BoxFuture" => each(0, &|it| format!("Box::pin(async move {{ {it} }})")),
                "Self" => Vec::new(),
                _ => several(&["Default::default()"]),
            }
        }
        _ => Vec::new(),
    }
}
