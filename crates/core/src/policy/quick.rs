//! Conditions that are plain enough to be told without the library: nothing is allocated for them.
//!
//! It says what the library would say, or nothing: what is not plain, is not there, or is of another type than usual is left to
//! the library, which also has the words for what is wrong.

use cel::common::ast::{CallExpr, Expr as Node, IdedExpr, LiteralValue};

use super::Action;
use crate::demand::{Way, path, text, whole};
use crate::expr::Expr;

/// The variable that conditions are about.
const ACTION: &str = "action";

/// A condition, as far as it is plain.
#[derive(Clone, Debug, Default)]
pub(crate) enum Quick {
    /// It is not.
    #[default]
    Unclear,
    Known(bool),
    Both(Box<(Quick, Quick)>),
    Either(Box<(Quick, Quick)>),
    Not(Box<Quick>),
    /// An argument is given.
    Given(String),
    Compared(Term, Order, Term),
    Text(Way, Vec<String>, String),
    /// A text is in a list.
    Among(String, Vec<String>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Is,
    IsNot,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    At(Vec<String>),
    Size(Vec<String>),
    Number(i64),
    Text(String),
}

/// What stands there.
enum Seen<'a> {
    Number(i64),
    Text(&'a str),
}

impl Quick {
    /// What of `expr` is plain.
    pub(crate) fn of(expr: &Expr) -> Self {
        read(expr.root())
    }

    /// Whether it holds, if that can be told.
    pub(crate) fn holds(&self, action: &Action) -> Option<bool> {
        match self {
            Self::Unclear => None,
            Self::Known(holds) => Some(*holds),
            // What decides by itself does so whatever the other side is or fails with.
            Self::Both(sides) => match sides.0.holds(action) {
                Some(false) => Some(false),
                Some(true) => sides.1.holds(action),
                None => sides.1.holds(action).filter(|holds| !holds),
            },
            Self::Either(sides) => match sides.0.holds(action) {
                Some(true) => Some(true),
                Some(false) => sides.1.holds(action),
                None => sides.1.holds(action).filter(|holds| *holds),
            },
            Self::Not(other) => other.holds(action).map(|holds| !holds),
            Self::Given(name) => match action.arguments.as_object()?.get(name) {
                Some(value) if value.is_null() => None,
                found => Some(found.is_some()),
            },
            Self::Compared(one, order, other) => {
                order.holds(one.seen(action)?, other.seen(action)?)
            }
            Self::Text(way, path, wanted) => Some(way.holds(action.text_at(path)?, wanted)),
            Self::Among(item, list) => match list.first()?.as_str() {
                "effects" => Some(action.effects.names().contains(&item.as_str())),
                "targets" => Some(action.targets.contains(item)),
                "command" => Some(action.command.contains(item)),
                "agent_path" => Some(action.agent_path.iter().any(|agent| **agent == **item)),
                _ => None,
            },
        }
    }
}

impl Term {
    fn seen<'a>(&'a self, action: &'a Action) -> Option<Seen<'a>> {
        match self {
            Self::Number(number) => Some(Seen::Number(*number)),
            Self::Text(text) => Some(Seen::Text(text)),
            Self::At(path) => match action.text_at(path) {
                Some(text) => Some(Seen::Text(text)),
                None => action.number_at(path).map(Seen::Number),
            },
            Self::Size(path) => {
                let size = match (action.text_at(path), path.as_slice()) {
                    (Some(text), _) => text.chars().count(),
                    (None, [list]) => match list.as_str() {
                        "targets" => action.targets.len(),
                        "command" => action.command.len(),
                        "agent_path" => action.agent_path.len(),
                        _ => return None,
                    },
                    _ => return None,
                };
                i64::try_from(size).ok().map(Seen::Number)
            }
        }
    }
}

impl Order {
    fn holds(self, one: Seen<'_>, other: Seen<'_>) -> Option<bool> {
        match (self, one, other) {
            (order, Seen::Number(one), Seen::Number(other)) => Some(match order {
                Self::Is => one == other,
                Self::IsNot => one != other,
                Self::Less => one < other,
                Self::AtMost => one <= other,
                Self::More => one > other,
                Self::AtLeast => one >= other,
            }),
            (Self::Is, Seen::Text(one), Seen::Text(other)) => Some(one == other),
            (Self::IsNot, Seen::Text(one), Seen::Text(other)) => Some(one != other),
            _ => None,
        }
    }
}

fn read(node: &IdedExpr) -> Quick {
    match &node.expr {
        Node::Literal(LiteralValue::Boolean(known)) => Quick::Known(*known.inner()),
        Node::Select(select) if select.test => {
            let arguments = path(&select.operand, ACTION);
            match arguments.as_deref() {
                Some([of]) if of == "arguments" => Quick::Given(select.field.clone()),
                _ => Quick::Unclear,
            }
        }
        Node::Call(call) => called(call).unwrap_or_default(),
        _ => Quick::Unclear,
    }
}

fn called(call: &CallExpr) -> Option<Quick> {
    let order = |order: Order, one: &IdedExpr, other: &IdedExpr| {
        Some(Quick::Compared(term(one)?, order, term(other)?))
    };
    let wanted = |way: Way, at: &IdedExpr, wanted: &IdedExpr| {
        Some(Quick::Text(way, path(at, ACTION)?, text(wanted)?))
    };
    match (call.func_name.as_str(), &call.target, call.args.as_slice()) {
        ("_&&_", None, [one, other]) => Some(Quick::Both(Box::new((read(one), read(other))))),
        ("_||_", None, [one, other]) => Some(Quick::Either(Box::new((read(one), read(other))))),
        ("!_", None, [other]) => Some(Quick::Not(Box::new(read(other)))),
        ("_==_", None, [one, other]) => order(Order::Is, one, other),
        ("_!=_", None, [one, other]) => order(Order::IsNot, one, other),
        ("_<_", None, [one, other]) => order(Order::Less, one, other),
        ("_<=_", None, [one, other]) => order(Order::AtMost, one, other),
        ("_>_", None, [one, other]) => order(Order::More, one, other),
        ("_>=_", None, [one, other]) => order(Order::AtLeast, one, other),
        ("@in", None, [item, list]) => Some(Quick::Among(text(item)?, only(path(list, ACTION)?)?)),
        ("startsWith", Some(at), [start]) => wanted(Way::Begins, at, start),
        ("endsWith", Some(at), [end]) => wanted(Way::Ends, at, end),
        ("contains", Some(at), [part]) => wanted(Way::Contains, at, part),
        _ => None,
    }
}

fn term(node: &IdedExpr) -> Option<Term> {
    if let Node::Call(call) = &node.expr {
        return match (call.func_name.as_str(), &call.target, call.args.as_slice()) {
            ("size", None, [of]) => Some(Term::Size(path(of, ACTION)?)),
            ("size", Some(of), []) => Some(Term::Size(path(of, ACTION)?)),
            _ => None,
        };
    }
    let literal = whole(node).map(Term::Number).or_else(|| text(node).map(Term::Text));
    literal.or_else(|| path(node, ACTION).map(Term::At))
}

/// A path with one part.
fn only(path: Vec<String>) -> Option<Vec<String>> {
    (path.len() == 1).then_some(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::{ActionKind, Counts};
    use crate::tool::Effects;

    /// Conditions that are plain, and some that are not, put together in any way.
    fn conditions() -> impl Strategy<Value = String> {
        let atoms = [
            "true",
            "false",
            "action.kind == 'tool'",
            "'command' != action.kind",
            "action.tool == action.agent",
            "action.phase == 'a'",
            "action.step >= 2",
            "action.step == null",
            "has(action.arguments.a)",
            "has(action.phase)",
            "has(action.arguments.a.b)",
            "size(action.arguments.a) > 1",
            "action.arguments.a.size() <= 2",
            "action.arguments.a == 'b'",
            "action.arguments.a != 1",
            "action.arguments.a < 2",
            "action.arguments.a == action.arguments.b",
            "action.arguments.a.startsWith('a')",
            "action.arguments.a.b.endsWith('b')",
            "action.arguments.a.contains('é')",
            "'file_edit' in action.effects",
            "'a' in action.targets",
            "'a' in action.arguments",
            "'a' in action.arguments.a",
            "size(action.targets) == 1",
            "size(action.effects) == 1",
            "action.counts.writes > 3",
            "action.counts.cost > 3",
            "action.counts.writes % 2 == 1",
            "action.targets.exists(t, t == 'a')",
            "action.tool",
            "action.arguments.a",
        ];
        let atom = prop::sample::select(atoms.to_vec()).prop_map(str::to_owned);
        atom.prop_recursive(3, 12, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
                inner.prop_map(|a| format!("!({a})")),
            ]
        })
    }

    fn values() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3..4_i64).prop_map(Value::from),
            Just(json!(u64::MAX)),
            Just(json!(1.5)),
            "[abé]{0,3}".prop_map(Value::from),
            Just(json!(["a"])),
            Just(json!({ "b": "b" })),
        ]
    }

    prop_compose! {
        fn actions()(
            (a, b, other) in (prop::option::of(values()), values(), values()),
            (tool, agent) in ("[ab]{1,2}", prop::option::of("[ab]{1,2}")),
            (phase, step) in (prop::option::of("[ab]"), prop::option::of(0..4_u32)),
            (targets, writes) in (prop::collection::vec("[ab]", 0..3), 0..6_u32),
            (edits, plain) in (any::<bool>(), 0..8_u8),
        ) -> Action {
            let arguments = match (a, plain) {
                (_, 0) => other,
                (Some(a), _) => json!({ "a": a, "b": b }),
                (None, _) => json!({ "b": b }),
            };
            Action {
                kind: if edits { ActionKind::Tool } else { ActionKind::Command },
                agent_path: agent.into_iter().map(Into::into).collect(),
                phase: phase.map(Into::into),
                step,
                targets,
                counts: Counts { writes, ..Counts::default() },
                ..Action::tool(tool, arguments, Effects { file_edit: edits, ..Effects::default() })
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn it_says_what_the_library_says_or_nothing(condition in conditions(), action in actions()) {
            let expr = Expr::compile(&condition, &[ACTION]).unwrap();
            if let Some(holds) = Quick::of(&expr).holds(&action) {
                let json = action.to_json();
                prop_assert_eq!(expr.holds(&[(ACTION, &json)]), Ok(holds), "{} {}", condition, json);
            }
        }
    }

    #[test]
    fn plain_conditions_need_no_library() {
        let action = Action::tool("write", json!({ "path": "src/a.rs" }), Effects::default());
        for (condition, holds) in [
            ("has(action.arguments.path) && size(action.arguments.path) > 1000", Some(false)),
            (
                "action.arguments.path.startsWith('src/') || action.arguments.nothing == 1",
                Some(true),
            ),
            ("!has(action.arguments.host) && action.counts.calls < 3", Some(true)),
            ("action.arguments.nothing == 1", None),
            ("action.arguments.path.matches('^s')", None),
            ("action.arguments.path", None),
        ] {
            let expr = Expr::compile(condition, &[ACTION]).unwrap();
            assert_eq!(Quick::of(&expr).holds(&action), holds, "{condition}");
        }
    }
}
