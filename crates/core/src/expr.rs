//! Conditions and small transformations in CEL, bounded.

mod bounds;
#[cfg(test)]
mod bounds_tests;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::common::ast::{EntryExpr, Expr as Node};
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelNull, CelString, CelUInt,
};
use cel::common::value::Val;
use serde_json::Value;

/// The functions of the language. To list them takes longer than to evaluate most expressions.
static FUNCTIONS: LazyLock<Arc<cel::Env>> = LazyLock::new(|| Arc::new(bounds::functions()));

/// The longest expression accepted.
pub const MAX_EXPR_BYTES: usize = 4 * 1024;
/// How many operators, brackets and spaces an expression may have, and how deep brackets may nest:
/// the parser and the evaluator work by recursion.
const MAX_OPERATORS: usize = 300;
const MAX_NESTING: usize = 32;

/// A compiled CEL expression.
pub struct Expr {
    source: String,
    program: cel::Program,
    /// The same with counters, if what it does must be counted.
    counted: Option<cel::IdedExpr>,
}

impl std::fmt::Debug for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Expr({:?})", self.source)
    }
}

impl Expr {
    /// Compiles `source`. `known` are the variables it may use.
    pub fn compile(source: &str, known: &[&str]) -> Result<Self, String> {
        if source.len() > MAX_EXPR_BYTES {
            return Err(format!(
                "the expression has {} bytes; at most {MAX_EXPR_BYTES} are accepted",
                source.len()
            ));
        }
        let (mut nesting, mut operators) = (0_usize, 0_usize);
        for byte in source.bytes() {
            match byte {
                b'(' | b'[' | b'{' | b'!' | b'-' | b'?' => nesting += 1,
                b')' | b']' | b'}' => nesting = nesting.saturating_sub(1),
                _ => {}
            }
            operators += usize::from(byte.is_ascii_punctuation() || byte == b' ');
            if nesting > MAX_NESTING || operators > MAX_OPERATORS {
                return Err(
                    "it is too long or nests too deep; do it in several executors, or in a \
                            function"
                        .to_owned(),
                );
            }
        }
        let program = cel::Program::compile(source).map_err(|errors| {
            let text = errors.to_string();
            text.lines().next().unwrap_or("it cannot be parsed").trim().to_owned()
        })?;
        let own = own_names(program.expression());
        let mut unknown: Vec<String> = program
            .references()
            .variables()
            .iter()
            .filter(|name| !known.contains(name) && !own.contains(**name))
            .map(ToString::to_string)
            .collect();
        unknown.sort();
        if !unknown.is_empty() {
            return Err(format!(
                "unknown name{} `{}`; known here: {}",
                if unknown.len() == 1 { "" } else { "s" },
                unknown.join("`, `"),
                known.join(", ")
            ));
        }
        if bounds::grows_too_much(program.expression()) {
            return Err("what it makes could be very much larger than what it is given".to_owned());
        }
        let counted = bounds::counted(program.expression());
        Ok(Self { source: source.to_owned(), program, counted })
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The expression itself.
    pub(crate) fn root(&self) -> &cel::common::ast::IdedExpr {
        self.program.expression()
    }

    /// The fields of `variable` that it asks for by name.
    pub fn fields_of(&self, variable: &str) -> std::collections::BTreeSet<String> {
        let mut fields = std::collections::BTreeSet::new();
        each(self.program.expression(), &mut |node| {
            if let Node::Select(select) = node
                && matches!(&select.operand.expr, Node::Ident(name) if name == variable)
            {
                fields.insert(select.field.clone());
            }
        });
        fields
    }

    /// The fields of what stands at `path` that it asks for by name, if it asks for nothing else of it: not for the
    /// whole, and not in a way that cannot be told.
    pub(crate) fn only_fields_of(
        &self,
        path: &[&str],
    ) -> Option<std::collections::BTreeSet<String>> {
        let mut fields = std::collections::BTreeSet::new();
        let (mut all, mut named, mut hidden) = (0_usize, 0_usize, false);
        each(self.program.expression(), &mut |node| {
            all += usize::from(is_at(node, path));
            match node {
                Node::Select(select) if is_at(&select.operand.expr, path) => {
                    named += 1;
                    fields.insert(select.field.clone());
                }
                // What is inside is not looked at.
                Node::Map(_) | Node::Struct(_) => hidden = true,
                _ => {}
            }
        });
        (all == named && !hidden).then_some(fields)
    }

    /// Whether it asks if what stands at `path` has a field.
    pub(crate) fn tests_fields_of(&self, path: &[&str]) -> bool {
        let mut tests = false;
        each(self.program.expression(), &mut |node| {
            tests |= matches!(node, Node::Select(it) if it.test && is_at(&it.operand.expr, path));
        });
        tests
    }

    /// Its value, with `variables` in place.
    pub fn eval(&self, variables: &[(&str, &Value)]) -> Result<Value, String> {
        self.eval_in(&Scope::new(variables))
    }

    /// The same in a scope.
    pub(crate) fn eval_in(&self, scope: &Scope<'_>) -> Result<Value, String> {
        let value = self.execute(scope)?;
        from_cel(&value)
            .ok_or_else(|| format!("`{}` gives a value JSON does not know", self.source))
    }

    /// Whether it holds. Anything but `true` or `false` is an error.
    pub fn holds(&self, variables: &[(&str, &Value)]) -> Result<bool, String> {
        self.holds_in(&Scope::new(variables))
    }

    /// The same for one of many that are judged in the same scope.
    pub fn holds_in(&self, scope: &Scope<'_>) -> Result<bool, String> {
        match self.execute(scope)? {
            cel::Value::Bool(holds) => Ok(holds),
            other => {
                let shown = from_cel(&other)
                    .map_or_else(|| "something else".to_owned(), |it| it.to_string());
                Err(format!("`{}` gives {shown}, not true or false", self.source))
            }
        }
    }

    fn execute(&self, scope: &Scope<'_>) -> Result<cel::Value, String> {
        let value = match &self.counted {
            Some(counted) => {
                bounds::begin();
                scope.0.resolve(counted)
            }
            None => self.program.execute(&scope.0),
        };
        value.map_err(|error| format!("`{}`: {error}", self.source))
    }
}

/// Whether this is what stands at `path`: a variable, or a field of one and so on.
fn is_at(node: &Node, path: &[&str]) -> bool {
    match (node, path) {
        (Node::Ident(name), [variable]) => name == variable,
        (Node::Select(select), [above @ .., field]) => {
            select.field == *field && is_at(&select.operand.expr, above)
        }
        _ => false,
    }
}

/// The names that an expression gives to things itself, as in `list.exists(x, x > 1)`.
fn own_names(expression: &cel::common::ast::IdedExpr) -> std::collections::BTreeSet<String> {
    let mut names = std::collections::BTreeSet::new();
    each(expression, &mut |node| {
        if let Node::Comprehension(it) = node {
            names.extend([it.iter_var.clone(), it.accu_var.clone()]);
        }
    });
    names
}

/// Calls `seen` with each part of an expression.
fn each(expression: &cel::common::ast::IdedExpr, seen: &mut impl FnMut(&Node)) {
    let mut todo = vec![expression];
    while let Some(node) = todo.pop() {
        seen(&node.expr);
        match &node.expr {
            Node::Select(select) => todo.push(&select.operand),
            Node::Call(call) => {
                todo.extend(call.target.as_deref());
                todo.extend(&call.args);
            }
            Node::List(list) => todo.extend(&list.elements),
            Node::Comprehension(it) => todo.extend([
                &it.iter_range,
                &it.accu_init,
                &it.loop_cond,
                &it.loop_step,
                &it.result,
            ]),
            Node::Map(map) => todo.extend(map.entries.iter().flat_map(within)),
            Node::Struct(it) => todo.extend(it.entries.iter().flat_map(within)),
            // A name by itself, a literal.
            _ => {}
        }
    }
}

/// The expressions in an entry of a map or a struct.
fn within(entry: &cel::common::ast::IdedEntryExpr) -> Vec<&cel::common::ast::IdedExpr> {
    match &entry.expr {
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
        EntryExpr::StructField(field) => vec![&field.value],
    }
}

/// Variables with their values, for any number of expressions. The values are borrowed.
pub struct Scope<'v>(cel::Context<'v, 'v>);

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scope")
    }
}

impl<'v> Scope<'v> {
    /// Puts a variable in it. A name may have parts: `a.b` is found before `b` of `a`.
    pub(crate) fn add(&mut self, name: &str, value: Box<dyn Val + 'v>) {
        self.0.add_variable_as_val(name, value);
    }

    /// A scope with these variables.
    pub fn new(variables: &[(&str, &'v Value)]) -> Self {
        let mut context = cel::Context::with_env(Arc::clone(&FUNCTIONS));
        for (name, value) in variables {
            context.add_variable_as_val(*name, borrowed(value));
        }
        Self(context)
    }
}

/// JSON as CEL sees it. Whole numbers are `int`, so that they compare and add with literals.
pub(crate) fn borrowed(value: &Value) -> Box<dyn Val + '_> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(flag) => Box::new(CelBool::from(*flag)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Box::new(CelInt::from(int)),
            (None, Some(uint)) => Box::new(CelUInt::from(uint)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => {
            Box::new(CelList::from(items.iter().map(borrowed).collect::<Vec<_>>()))
        }
        Value::Object(fields) => {
            let members =
                fields.iter().map(|(name, value)| (name.as_str().into(), borrowed(value)));
            Box::new(CelMap::from(members.collect::<HashMap<_, _>>()))
        }
    }
}

/// A CEL value as JSON, with object keys in order.
fn from_cel(value: &cel::Value) -> Option<Value> {
    Some(match value {
        cel::Value::List(items) => Value::Array(items.iter().map(from_cel).collect::<Option<_>>()?),
        cel::Value::Map(map) => {
            let mut fields: Vec<(String, Value)> = map
                .map
                .iter()
                .map(|(key, value)| Some((key.to_string(), from_cel(value)?)))
                .collect::<Option<_>>()?;
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect())
        }
        other => other.json().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions() {
        let expr = Expr::compile("output.score > 3 && input.startsWith('a')", &["output", "input"])
            .unwrap();
        let holds = |output: Value| expr.holds(&[("output", &output), ("input", &json!("abc"))]);
        assert_eq!(holds(json!({ "score": 4 })), Ok(true));
        assert_eq!(holds(json!({ "score": 2 })), Ok(false));
        assert!(holds(json!({})).is_err());
        let expr = Expr::compile("{'n': output.n + 1}", &["output"]).unwrap();
        assert_eq!(expr.eval(&[("output", &json!({ "n": 1 }))]), Ok(json!({ "n": 2 })));
    }

    #[test]
    fn wrong_expressions_are_named() {
        assert!(Expr::compile("outptu.x", &["output"]).unwrap_err().contains("outptu"));
        assert!(Expr::compile("output +", &["output"]).is_err());
        assert!(Expr::compile(&"(".repeat(5_000), &[]).is_err());
        assert!(Expr::compile(&"(".repeat(500), &[]).is_err());
        assert!(Expr::compile("", &[]).is_err());
        let exists = Expr::compile("output.list.exists(x, x > 2)", &["output"]).unwrap();
        assert_eq!(exists.holds(&[("output", &json!({ "list": [1, 3] }))]), Ok(true));
        assert!(Expr::compile("output.exists(x, y > 2)", &["output"]).unwrap_err().contains('y'));
    }

    #[test]
    fn the_longest_expressions_fit_a_worker_threads_stack() {
        let tests = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
            let value = json!([1, [1]]);
            for (piece, end) in [
                ("(", "1"),
                ("output[1][0]+", "1"),
                ("!", "true"),
                ("output[0].", "a"),
                ("1?2:", "3"),
            ] {
                for times in 1..=300 {
                    let close = if piece == "(" { ")".repeat(times) } else { String::new() };
                    let source = format!("{}{end}{close}", piece.repeat(times));
                    if let Ok(expr) = Expr::compile(&source, &["output"]) {
                        let _ = expr.eval(&[("output", &value)]);
                    }
                }
            }
        });
        tests.unwrap().join().unwrap();
    }
}
