//! What the document says of a route.

use axum::routing::MethodFilter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::error::Problem;

/// Makes a schema.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The schema of a type.
pub(crate) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

impl Verb {
    pub(crate) fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Delete => MethodFilter::DELETE,
        }
    }

    /// The word in the document.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
            Self::Delete => "delete",
        }
    }
}

/// What a route answers when all is well.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) means: &'static str,
    pub(crate) media: &'static str,
    /// None, if there is no body, or one without a schema.
    pub(crate) body: Option<SchemaOf>,
}

impl Answer {
    /// JSON.
    pub(crate) const fn json(status: u16, means: &'static str, body: SchemaOf) -> Self {
        Self { status, means, media: "application/json", body: Some(body) }
    }

    /// Something else.
    pub(crate) const fn other(status: u16, means: &'static str, media: &'static str) -> Self {
        Self { status, means, media, body: None }
    }
}

/// A route.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) query: Option<SchemaOf>,
    pub(crate) body: Option<SchemaOf>,
    pub(crate) answers: &'static [Answer],
    pub(crate) problems: &'static [Problem],
}
