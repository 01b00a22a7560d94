//! Models in `signoff.toml`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use signoff_models::{Deps, Fallbacks, Provider, ProviderConfig, ScriptReader};
use signoff_runtime::{Clock, SystemClock};

use crate::failure::{Failure, Result};

/// A model, or several under one name.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(super) enum Model {
    /// A model.
    One(Box<ProviderConfig>),
    /// Other models by their aliases, best first: the next is asked where one fails.
    Several(Vec<String>),
}

// By hand, so that an error is about the setting that is wrong and not about "any variant".
impl<'de> Deserialize<'de> for Model {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Model;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a model's settings, or a list of other models")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Model, A::Error> {
                ProviderConfig::deserialize(MapAccessDeserializer::new(map))
                    .map(|config| Model::One(Box::new(config)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> std::result::Result<Model, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Model::Several)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A model as it is configured.
pub(super) fn provider(
    alias: &str,
    config: &ProviderConfig,
    script: &ScriptReader,
) -> Result<Arc<dyn Provider>> {
    let deps = Deps {
        env: &|name| std::env::var(name).ok(),
        now: Arc::new(|| SystemClock.now()),
        chance: Arc::new(chance),
        script,
    };
    let built = signoff_models::build(alias, config, &deps);
    Ok(built.map_err(|error| Failure::usage(error.to_string()))?)
}

/// Models in the order in which they are asked.
pub(super) fn several(
    alias: &str,
    names: &[String],
    models: &BTreeMap<&str, Arc<dyn Provider>>,
) -> Result<Arc<dyn Provider>> {
    let mut candidates = Vec::new();
    for name in names {
        let Some(model) = models.get(name.as_str()) else {
            let problem = format!("models.{alias}: there is no model `{name}`");
            return Err(Failure::usage(problem)
                .hint("a list names models that have settings of their own")
                .into());
        };
        candidates.push((name.as_str().into(), Arc::clone(model)));
    }
    match Fallbacks::new(candidates) {
        Some(fallbacks) => Ok(Arc::new(fallbacks)),
        None => Err(Failure::usage(format!("models.{alias}: the list is empty")).into()),
    }
}

/// A number from 0 to 1, to spread the retries of many processes. Nothing secret depends on it.
fn chance() -> f64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
}
