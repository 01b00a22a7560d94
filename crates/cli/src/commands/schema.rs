//! `signoff schema`: what editors check files against.

use signoff_core::workflow;

use crate::args::{SchemaArgs, SchemaOf};
use crate::failure::{Exit, Result};
use crate::{config, out};

pub(crate) fn perform(args: &SchemaArgs) -> Result<Exit> {
    let schema = match args.of {
        SchemaOf::Workflow => workflow::json_schema(),
        SchemaOf::Config => config::json_schema(),
        SchemaOf::Policy => workflow::policy_schema(),
    };
    out::line(&serde_json::to_string_pretty(&schema)?)?;
    Ok(Exit::Done)
}
