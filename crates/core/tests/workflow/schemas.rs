//! The JSON Schemas inside of a file.

use std::fmt::Write as _;

use serde_json::json;

use crate::support::{GOOD, changed, good, wrong};

#[test]
fn schemas_that_are_none() {
    for (old, new, message) in [
        (
            "input: { type: string }",
            "input: { type: strin }",
            "5:16: `strin` is not a type of JSON Schema\nhint: did you mean `string`?",
        ),
        (
            "input: { type: string }",
            "input: text",
            "5:8: a JSON Schema is a mapping\nhint: write for example `{ type: string }`",
        ),
        (
            "output: { $ref: \"#/types/SpecialistOutput\" }\n    answer",
            "output: { $ref: \"#/types/SpecialistOutpt\" }\n    answer",
            "23:13: the output of specialist `venue` has no `next_agent`\n\
             hint: add `next_agent: { type: [string, \"null\"] }` to its properties\n\
             23:21: there is no type `SpecialistOutpt`\nhint: did you mean `SpecialistOutput`?",
        ),
        (
            "input: { type: string }",
            "input: { $ref: \"http://example.org/schema\" }",
            "5:16: `http://example.org/schema` is not a reference to a type\nhint: write `#/types/NAME`",
        ),
        (
            "input: { type: string }",
            "input: { $id: x }",
            "5:10: `$id` is not supported here\nhint: put shared schemas under `types` and refer to `#/types/NAME`",
        ),
        (
            "Plan a party for 30 people",
            "[7]",
            "7:5: the sample does not fit `input`: [7] is not of type \"string\"",
        ),
    ] {
        assert_eq!(wrong(&changed(old, new)), message, "{new}");
    }
    let text = wrong(&changed("input: { type: string }", "input: { minLength: [] }"));
    assert!(text.starts_with("5:21: `minLength` is not right in a JSON Schema"), "{text}");
    let text = wrong(&changed("input: { type: string }", "input: { pattern: '(' }"));
    assert!(text.starts_with("5:"), "{text}");
}

/// Types that refer to each other until nobody can follow.
fn with_types(types: &str) -> String {
    GOOD.replacen("types:\n", &format!("types:\n{types}"), 1)
        .replacen("input: { type: string }", "input: { $ref: \"#/types/T0\" }", 1)
        .replacen("samples:\n  - Plan a party for 30 people\n", "", 1)
}

#[test]
fn schema_bombs() {
    let mut types = String::new();
    for n in 0..30 {
        let next = format!("{{ $ref: \"#/types/T{}\" }}", n + 1);
        let _ = writeln!(types, "  T{n}: {{ allOf: [{next}, {next}] }}");
    }
    types.push_str("  T30: { type: string }\n");
    let text = wrong(&with_types(&types));
    assert!(text.contains("with its references followed"), "{text}");

    let mut types = String::new();
    for n in 0..200 {
        let _ = writeln!(types, "  T{n}: {{ $ref: \"#/types/T{}\" }}", n + 1);
    }
    types.push_str("  T200: { type: string }\n");
    assert_eq!(wrong(&with_types(&types)), "nothing");

    let types = "  T0: { anyOf: [{ $ref: \"#/types/T1\" }] }\n  T1: { $ref: \"#/types/T0\" }\n";
    let text = wrong(&with_types(types));
    assert!(text.contains("type `T0` is defined by itself"), "{text}");

    let types = "  T0: { type: object, properties: { more: { $ref: \"#/types/T0\" } } }\n";
    assert_eq!(wrong(&with_types(types)), "nothing");

    let deep = format!("input: {}1{}", "{ not: ".repeat(40), " }".repeat(40));
    let text = wrong(&changed("input: { type: string }", &deep));
    assert!(text.starts_with("5:"), "{text}");
    let large = format!("input: {{ enum: [{}] }}", "x".repeat(70_000));
    let text = wrong(&changed("input: { type: string }", &large));
    assert!(text.contains("5:8: the schema has 70013 bytes; at most 65536 are accepted"), "{text}");
}

#[test]
fn a_schema_stands_alone() {
    let workflow = good(GOOD);
    let schema = workflow.output_schema("venue").unwrap();
    assert_eq!(schema["$ref"], "#/$defs/SpecialistOutput");
    assert!(
        signoff_core::schema::check(&schema, &json!({ "summary": "x", "next_agent": null }))
            .is_ok()
    );
    assert!(signoff_core::schema::check(&schema, &json!({ "summary": 7 })).is_err());
    assert_eq!(workflow.output_schema("coordinator"), None);
    assert_eq!(workflow.output_schema("nobody"), None);
    assert_eq!(workflow.input_schema(), json!({ "type": "string" }));
}

#[test]
fn data_in_a_schema_is_not_a_reference() {
    let text = changed(
        "input: { type: string }",
        "input: { default: { $ref: x }, properties: { $ref: { type: string }, default: { $ref: \"#/types/SpecialistOutput\" } } }",
    );
    let workflow = good(&text);
    let schema = workflow.input_schema();
    assert_eq!(schema["default"]["$ref"], "x");
    assert_eq!(schema["properties"]["default"]["$ref"], "#/$defs/SpecialistOutput");
    assert!(schema["$defs"]["SpecialistOutput"].is_object());
}
