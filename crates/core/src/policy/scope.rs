//! An action as conditions see it, made for their evaluation: borrowed, and only what they ask for.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use cel::common::types::{CelDouble, CelInt, CelList, CelMap, CelNull, CelString};
use cel::common::value::Val;
use serde_json::Value;

use super::{Action, FIELDS};
use crate::expr::{Expr, Scope, borrowed};

/// The variable that conditions are about.
const ACTION: &str = "action";
const ARGUMENTS: &str = "arguments";

/// The fields as conditions write them. A name that is written whole is found at once, and not part by part.
static WRITTEN: LazyLock<Vec<String>> =
    LazyLock::new(|| FIELDS.iter().map(|field| format!("{ACTION}.{field}")).collect());

/// What of an action a condition asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// It looks at the action itself, and not only at fields that it names.
    whole: bool,
    /// A bit for each of the fields.
    fields: u16,
    /// The arguments it names; all of them, if none.
    arguments: Option<BTreeSet<String>>,
}

impl Needs {
    /// What `expr` asks for.
    pub(crate) fn of(expr: &Expr) -> Self {
        let Some(asked) = expr.only_fields_of(&[ACTION]) else { return Self::all() };
        let bit = |n: usize| 1_u16 << n;
        let asks = |(n, field): (usize, &&str)| asked.contains(*field).then(|| bit(n));
        let fields = FIELDS.iter().enumerate().filter_map(asks).fold(0, |all, one| all | one);
        let whole = expr.tests_fields_of(&[ACTION]);
        Self { whole, fields, arguments: expr.only_fields_of(&[ACTION, ARGUMENTS]) }
    }

    /// Everything.
    fn all() -> Self {
        Self { whole: true, fields: u16::MAX, arguments: None }
    }
}

impl Action {
    /// This action as the variable of conditions that need so much.
    pub(super) fn scope(&self, needs: &[&Needs]) -> Scope<'_> {
        let fields = needs.iter().fold(0, |all, one| all | one.fields);
        let asked = FIELDS.iter().enumerate().filter(|(n, _)| fields & (1 << n) != 0);
        let arguments = self.arguments_for(needs);
        let value = |field: &str| match (field, &arguments) {
            (ARGUMENTS, Some(named)) => {
                let members = named.iter().map(|(name, value)| ((*name).into(), borrowed(value)));
                Box::new(CelMap::from(members.collect::<HashMap<_, _>>())) as Box<dyn Val>
            }
            (ARGUMENTS, None) => borrowed(&self.arguments),
            (field, _) => self.member(field),
        };
        let mut scope = Scope::new(&[]);
        if needs.iter().any(|it| it.whole) {
            let members: HashMap<_, _> =
                asked.map(|(_, field)| ((*field).into(), value(field))).collect();
            scope.add(ACTION, Box::new(CelMap::from(members)));
            return scope;
        }
        for (n, field) in asked {
            scope.add(&WRITTEN[n], value(field));
            if *field == ARGUMENTS {
                // Most ask for one of them, and that is text.
                let named = arguments.iter().flatten();
                for (name, value) in named.filter(|(_, value)| value.is_string()) {
                    scope.add(&format!("{}.{name}", WRITTEN[n]), borrowed(value));
                }
            }
        }
        scope
    }

    /// The arguments that somebody asks for, as they may be large; none, if all of them must be there.
    fn arguments_for(&self, needs: &[&Needs]) -> Option<Vec<(&str, &Value)>> {
        let argument = 1_u16 << FIELDS.iter().position(|it| *it == ARGUMENTS).unwrap_or(15);
        let asking = needs.iter().filter(|it| it.fields & argument != 0);
        let whole = asking.clone().any(|it| it.arguments.is_none());
        let given = self.arguments.as_object().filter(|_| !whole)?;
        let named = |name: &String| {
            asking.clone().any(|it| it.arguments.as_ref().is_some_and(|all| all.contains(name)))
        };
        let members = given.iter().filter(|(name, _)| named(name));
        Some(members.map(|(name, value)| (name.as_str(), value)).collect())
    }

    /// A field, as [`Action::to_json`] has it.
    fn member(&self, field: &str) -> Box<dyn Val + '_> {
        match field {
            "kind" => text(self.kind.as_str()),
            "tool" => text(&self.name),
            "effects" => list(self.effects.names().into_iter()),
            "targets" => list(self.targets.iter().map(String::as_str)),
            "command" => list(self.command.iter().map(String::as_str)),
            "agent" => perhaps(self.agent_path.last().map(|agent| &**agent)),
            "agent_path" => list(self.agent_path.iter().map(|agent| &**agent)),
            "workflow" => text(&self.workflow),
            "phase" => perhaps(self.phase.as_deref()),
            "step" => match self.step {
                Some(step) => number(step),
                None => Box::new(CelNull),
            },
            "environment" => text(&self.environment),
            "counts" => {
                let counts = self.counts;
                let members: HashMap<_, Box<dyn Val>> = [
                    ("calls".into(), number(counts.calls)),
                    ("writes".into(), number(counts.writes)),
                    ("failures".into(), number(counts.failures)),
                    ("repeats".into(), number(counts.repeats)),
                    ("denials".into(), number(counts.denials)),
                    ("recent_denials".into(), number(counts.recent_denials)),
                    ("cost".into(), Box::new(CelDouble::from(counts.spent())) as Box<dyn Val>),
                ]
                .into();
                Box::new(CelMap::from(members))
            }
            _ => perhaps(self.opaque.as_deref()),
        }
    }
}

fn text(text: &str) -> Box<dyn Val + '_> {
    Box::new(CelString::from(text))
}

fn perhaps(given: Option<&str>) -> Box<dyn Val + '_> {
    match given {
        Some(given) => text(given),
        None => Box::new(CelNull),
    }
}

fn number(number: u32) -> Box<dyn Val> {
    Box::new(CelInt::from(i64::from(number)))
}

fn list<'v>(items: impl Iterator<Item = &'v str>) -> Box<dyn Val + 'v> {
    Box::new(CelList::from(items.map(text).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::journal::Cost;
    use crate::policy::{ActionKind, Counts};
    use crate::tool::Effects;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9_f64).prop_map(Value::from),
            "[a-zé ]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    prop_compose! {
        fn actions()(
            arguments in values(),
            (name, agents) in ("[a-z]{0,5}", prop::collection::vec("[a-z]{1,4}", 0..3)),
            words in prop::collection::vec("[a-z]{1,4}", 0..3),
            (phase, step) in (prop::option::of("[a-z]{1,4}"), prop::option::of(any::<u32>())),
            (calls, cost) in (any::<u32>(), 0..1_000_000_000_000_u64),
            (edits, hidden) in (any::<bool>(), prop::option::of("[a-z ]{1,9}")),
        ) -> Action {
            let effects = Effects { file_edit: edits, network: !edits, ..Effects::default() };
            Action {
                kind: if edits { ActionKind::Tool } else { ActionKind::Command },
                agent_path: agents.into_iter().map(Into::into).collect(),
                command: words.clone(),
                phase: phase.map(Into::into),
                step,
                counts: Counts { calls, writes: calls / 2, cost: Cost(cost), ..Counts::default() },
                opaque: hidden,
                ..Action::tool(name, arguments, effects)
            }
        }
    }

    fn same(found: &Value, expected: &Value) -> bool {
        match (found, expected) {
            (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
            }
            (a, b) => a == b,
        }
    }

    proptest! {
        #[test]
        fn what_is_borrowed_is_what_the_json_says(action in actions()) {
            let whole = Expr::compile(ACTION, &[ACTION]).unwrap();
            let needs = Needs::of(&whole);
            let direct = whole.eval_in(&action.scope(&[&needs])).unwrap();
            prop_assert!(same(&direct, &action.to_json()), "{direct} {}", action.to_json());
        }

        #[test]
        fn a_condition_finds_what_it_asks_for(action in actions(), which in 0..13_usize) {
            let conditions = [
                "action.arguments.a == 1",
                "has(action.arguments.b) && action.arguments.b == action.arguments['b']",
                "'a' in action.arguments",
                "action.counts.calls > 5 && action.counts.cost < 100.0",
                "action.agent == 'x' || action.agent_path.size() > 1",
                "action.step == null ? action.phase == null : action.step > 3",
                "{'a': action.tool}['a'] == action.tool",
                "[action.kind].exists(k, k == 'tool')",
                "action['tool'] == action.tool",
                "has(action.phase) && action.phase == 'a'",
                "has(action.arguments.b.c) || action.arguments.b.c == 1",
                "action.arguments.exists(name, action.arguments[name] == action.tool)",
                "action.targets.exists(action, action.startsWith('a'))",
            ];
            let all: Vec<Expr> =
                conditions.iter().map(|it| Expr::compile(it, &[ACTION]).unwrap()).collect();
            let needs: Vec<Needs> = all.iter().map(Needs::of).collect();
            let told = |of: &[&Needs]| all[which].holds_in(&action.scope(of)).ok();
            let json = action.to_json();
            let expected = all[which].holds(&[(ACTION, &json)]).ok();
            prop_assert_eq!(told(&[&needs[which]]), expected, "{}", conditions[which]);
            // And so it does where others ask for other things.
            let together: Vec<&Needs> = needs.iter().collect();
            prop_assert_eq!(told(&together), expected, "{}", conditions[which]);
        }
    }

    #[test]
    fn only_what_is_asked_for_is_made() {
        let needs = |source: &str| Needs::of(&Expr::compile(source, &[ACTION]).unwrap());
        assert_eq!(
            needs("action.tool == 'x'"),
            Needs { whole: false, fields: 2, arguments: Some(BTreeSet::new()) }
        );
        let path = needs("has(action.arguments.path) && action.arguments.path.size() > 3");
        assert_eq!(path.arguments, Some(["path".to_owned()].into()));
        assert_eq!(needs("action.arguments == 1").arguments, None);
        assert_eq!(needs("[action].size() == 1"), Needs::all());
        assert_eq!(needs("{'x': action.tool}.size() == 1"), Needs::all());
        let large = json!({ "path": "a", "content": "x".repeat(9) });
        let action = Action::tool("t", large, Effects::default());
        let given = Expr::compile("action.arguments", &[ACTION]).unwrap();
        assert_eq!(given.eval_in(&action.scope(&[&path])), Ok(json!({ "path": "a" })));
        assert!(needs("has(action.phase)").whole, "that asks the action itself");
    }
}
