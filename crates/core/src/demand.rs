//! What must hold for a condition to hold, as far as it can be told without evaluating it.
//!
//! A condition is often a chain of `&&`. If one link is false, all of it is, whatever the others are or fail with; so a plain
//! link that is false spares the evaluation. What is not plain is left to the evaluation.

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr as Node, IdedExpr, LiteralValue};

use crate::expr::Expr;

/// A plain link of a condition over a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// The text at this path is this.
    Is(Vec<String>, String),
    /// The list at this path has this.
    Has(Vec<String>, String),
    /// The text at this path begins so.
    Begins(Vec<String>, String),
    /// The text at this path ends so.
    Ends(Vec<String>, String),
    /// The number at this path is more than this.
    Above(Vec<String>, i64),
    /// One of the texts of the list at this path is, begins or ends so.
    Any(Vec<String>, Way, String),
}

/// How a text is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Is,
    Begins,
    Ends,
    Contains,
}

impl Way {
    /// Whether `text` is so.
    pub(crate) fn holds(self, text: &str, wanted: &str) -> bool {
        match self {
            Self::Is => text == wanted,
            Self::Begins => text.starts_with(wanted),
            Self::Ends => text.ends_with(wanted),
            Self::Contains => text.contains(wanted),
        }
    }
}

impl Demand {
    /// The plain links of a condition over `variable`.
    pub(crate) fn of(expr: &Expr, variable: &str) -> Vec<Self> {
        let mut demands = Vec::new();
        let mut todo = vec![expr.root()];
        while let Some(node) = todo.pop() {
            match &node.expr {
                Node::Call(call) if call.func_name == "_&&_" => todo.extend(&call.args),
                Node::Call(call) => demands.extend(plain(call, variable)),
                Node::Comprehension(each) => demands.extend(any(each, variable)),
                _ => {}
            }
        }
        demands
    }
}

fn plain(call: &CallExpr, variable: &str) -> Option<Demand> {
    let path = |node: &IdedExpr| path(node, variable);
    match (call.func_name.as_str(), &call.target, call.args.as_slice()) {
        ("_==_", None, [one, other]) => match (path(one), text(other)) {
            (Some(path), Some(text)) => Some(Demand::Is(path, text)),
            _ => Some(Demand::Is(path(other)?, text(one)?)),
        },
        ("@in", None, [item, list]) => Some(Demand::Has(path(list)?, text(item)?)),
        ("startsWith", Some(target), [start]) => Some(Demand::Begins(path(target)?, text(start)?)),
        ("endsWith", Some(target), [end]) => Some(Demand::Ends(path(target)?, text(end)?)),
        ("_>_", None, [number, bound]) => Some(Demand::Above(path(number)?, whole(bound)?)),
        _ => None,
    }
}

/// `list.exists(x, x.endsWith("…"))` and its like.
fn any(each: &ComprehensionExpr, variable: &str) -> Option<Demand> {
    let list = path(&each.iter_range, variable)?;
    let is = |node: &IdedExpr, name: &str| matches!(&node.expr, Node::Ident(it) if it == name);
    let starts_false =
        matches!(&each.accu_init.expr, Node::Literal(LiteralValue::Boolean(it)) if !*it.inner());
    let (Node::Call(step), true) = (&each.loop_step.expr, starts_false) else { return None };
    let [before, Node::Call(test)] = (match (step.func_name.as_str(), step.args.as_slice()) {
        ("_||_", [before, test]) if is(&each.result, &each.accu_var) => [&before.expr, &test.expr],
        _ => return None,
    }) else {
        return None;
    };
    if !matches!(before, Node::Ident(it) if *it == each.accu_var) {
        return None;
    }
    let (way, wanted) = match (test.func_name.as_str(), &test.target, test.args.as_slice()) {
        ("_==_", None, [one, other]) if is(one, &each.iter_var) => (Way::Is, text(other)?),
        (name, Some(target), [wanted]) if is(target, &each.iter_var) => {
            let way = match name {
                "startsWith" => Way::Begins,
                "endsWith" => Way::Ends,
                "contains" => Way::Contains,
                _ => return None,
            };
            (way, text(wanted)?)
        }
        _ => return None,
    };
    Some(Demand::Any(list, way, wanted))
}

/// The fields below the variable, outermost first.
pub(crate) fn path(node: &IdedExpr, variable: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut at = node;
    loop {
        match &at.expr {
            Node::Select(select) if !select.test => {
                fields.push(select.field.clone());
                at = &select.operand;
            }
            Node::Ident(name) if name == variable && !fields.is_empty() => {
                fields.reverse();
                return Some(fields);
            }
            _ => return None,
        }
    }
}

/// The text that is written there.
pub(crate) fn text(node: &IdedExpr) -> Option<String> {
    match &node.expr {
        Node::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
    }
}

/// The whole number that is written there.
pub(crate) fn whole(node: &IdedExpr) -> Option<i64> {
    match &node.expr {
        Node::Literal(LiteralValue::Int(number)) => Some(*number.inner()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demands(source: &str) -> Vec<Demand> {
        Demand::of(&Expr::compile(source, &["a"]).unwrap(), "a")
    }

    #[test]
    fn plain_links_are_found() {
        let path = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let found = demands("a.x == 'y' && ('e' in a.l) && a.b.c.startsWith('s') && a.n.m > 3");
        for demand in [
            Demand::Is(path(&["x"]), "y".into()),
            Demand::Has(path(&["l"]), "e".into()),
            Demand::Begins(path(&["b", "c"]), "s".into()),
            Demand::Above(path(&["n", "m"]), 3),
        ] {
            assert!(found.contains(&demand), "{found:?}");
        }
        let any = Demand::Any(path(&["l"]), Way::Ends, "z".into());
        assert_eq!(demands("a.l.exists(x, x.endsWith('z'))"), [any]);
        assert!(demands("a.l.all(x, x.endsWith('z'))").is_empty());
        assert!(demands("a.l.exists(x, x.endsWith(a.z))").is_empty());
        assert_eq!(demands("'y' == a.x"), [Demand::Is(path(&["x"]), "y".into())]);
        for other in
            ["a.x == 'y' || a.z == 'y'", "!(a.x == 'y')", "a.x != 'y'", "a.x == a.y", "true"]
        {
            assert!(demands(other).is_empty(), "{other}");
        }
    }
}
