//! Templates: checked when the script is read, bounded when they run.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Object, Serde};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::Value;

use super::{ScriptError, dates};

/// How many instructions one template may take.
const FUEL: u64 = 200_000;
/// The longest text one template may give, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// A value of a script in which strings may be templates.
#[derive(Clone, Debug)]
pub(super) enum Template {
    /// Nothing in it changes.
    Fixed(Value),
    /// Exactly one expression: the value keeps its type.
    Expression { path: Arc<str>, source: Arc<str> },
    /// Text with expressions in it, kept in the environment under its path.
    Text { path: Arc<str> },
    /// A list.
    List(Vec<Template>),
    /// An object.
    Object(Vec<(String, Template)>),
}

/// The variables a template sees. Shared with the template while it runs, and not copied for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope(Arc<Variables>);

#[derive(Clone, Debug, Default)]
struct Variables(BTreeMap<Arc<str>, minijinja::Value>);

impl Object for Variables {
    fn get_value(self: &Arc<Self>, key: &minijinja::Value) -> Option<minijinja::Value> {
        self.0.get(key.as_str()?).cloned()
    }
}

impl Scope {
    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: &Value) {
        Arc::make_mut(&mut self.0).0.insert(name.into(), minijinja::Value::from(Serde(value)));
    }

    fn value(&self) -> minijinja::Value {
        minijinja::Value::from_dyn_object(Arc::clone(&self.0))
    }
}

/// All templates of a script.
#[derive(Debug)]
pub(super) struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    pub(super) fn new() -> Result<Self, ScriptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(64);
        // The endings of our paths (`.json`) must not be taken for file types.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| ScriptError::new("script", error))?);
        dates::add_to(&mut environment);
        Ok(Self { environment })
    }

    /// Takes in `value`, which stands at `path`.
    pub(super) fn add(&mut self, path: &str, value: &Value) -> Result<Template, ScriptError> {
        match value {
            Value::String(text) => self.add_text(path, text),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| self.add(&format!("{path}[{index}]"), item));
                Ok(Template::List(items.collect::<Result<_, _>>()?))
            }
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, field)| {
                    Ok((name.clone(), self.add(&format!("{path}.{name}"), field)?))
                });
                Ok(Template::Object(fields.collect::<Result<_, _>>()?))
            }
            fixed => Ok(Template::Fixed(fixed.clone())),
        }
    }

    fn add_text(&mut self, path: &str, text: &str) -> Result<Template, ScriptError> {
        if !text.contains("{{") && !text.contains("{%") && !text.contains("{#") {
            return Ok(Template::Fixed(text.into()));
        }
        let inner = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        if let Some(inner) = inner
            && self.environment.compile_expression_owned(inner.to_owned()).is_ok()
        {
            return Ok(Template::Expression { path: path.into(), source: inner.into() });
        }
        self.environment
            .add_template_owned(path.to_owned(), text.to_owned())
            .map_err(|error| ScriptError::new(path, error))?;
        Ok(Template::Text { path: path.into() })
    }

    /// Takes in `source`, which must be one expression.
    pub(super) fn add_expression(&self, path: &str, source: &str) -> Result<Template, ScriptError> {
        self.environment
            .compile_expression_owned(source.to_owned())
            .map_err(|error| ScriptError::new(path, error))?;
        Ok(Template::Expression { path: path.into(), source: source.into() })
    }

    /// The value of `template` with the variables of `scope`.
    pub(super) fn render(&self, template: &Template, scope: &Scope) -> Result<Value, ScriptError> {
        match template {
            Template::Fixed(value) => Ok(value.clone()),
            Template::Expression { path, source } => self.evaluate(path, source, scope),
            Template::Text { path } => {
                let text = self
                    .environment
                    .get_template(path)
                    .and_then(|template| template.render(scope.value()))
                    .map_err(|error| ScriptError::new(&**path, error))?;
                if text.len() > MAX_TEXT_BYTES {
                    return Err(ScriptError::new(
                        &**path,
                        format!("gives more than {MAX_TEXT_BYTES} bytes"),
                    ));
                }
                Ok(text.into())
            }
            Template::List(items) => items.iter().map(|item| self.render(item, scope)).collect(),
            Template::Object(fields) => fields
                .iter()
                .map(|(name, field)| Ok((name.clone(), self.render(field, scope)?)))
                .collect::<Result<serde_json::Map<_, _>, _>>()
                .map(Value::Object),
        }
    }

    fn evaluate(&self, path: &str, source: &str, scope: &Scope) -> Result<Value, ScriptError> {
        let value = self
            .environment
            .compile_expression_owned(source.to_owned())
            .and_then(|expression| expression.eval(scope.value()))
            .map_err(|error| ScriptError::new(path, error))?;
        if value.is_undefined() {
            return Err(ScriptError::new(path, format!("`{}` is undefined", source.trim())));
        }
        serde_json::to_value(&value).map_err(|error| ScriptError::new(path, error))
    }
}

/// A value as text: strings without quotes.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
