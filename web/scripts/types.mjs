// Writes src/api/types.ts from docs/openapi.json, so that a change of the API that the page does not know is an error of its types.
import { readFileSync, writeFileSync } from "node:fs";

const document = JSON.parse(readFileSync(new URL("../../docs/openapi.json", import.meta.url)));
const schemas = document.components.schemas;

const name = (text) => text.replace(/[^A-Za-z0-9_]/g, "_");
const key = (text) => (/^[A-Za-z_$][\w$]*$/.test(text) ? text : JSON.stringify(text));
const several = (types, by) => {
  const unique = [...new Set(types)];
  return unique.length > 1 ? unique.map((it) => (/[|&]/.test(it) ? `(${it})` : it)).join(by) : (unique[0] ?? "unknown");
};

function type(schema, indent = "") {
  if (schema === true || schema === undefined) return "unknown";
  if (schema === false) return "never";
  if (schema.$ref) return name(schema.$ref.split("/").pop());
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return several(schema.enum.map((it) => JSON.stringify(it)), " | ");
  const own = schema.properties ? object(schema, indent) : undefined;
  for (const word of ["oneOf", "anyOf"]) {
    if (!schema[word]) continue;
    const any = several(schema[word].map((it) => type(it, indent)), " | ");
    return own ? `${own} & (${any})` : any;
  }
  if (schema.allOf) return several([...(own ? [own] : []), ...schema.allOf.map((it) => type(it, indent))], " & ");
  if (Array.isArray(schema.type)) return several(schema.type.map((it) => type({ ...schema, type: it }, indent)), " | ");
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return `Array<${type(schema.items, indent)}>`;
    case "object":
      return own ?? (schema.additionalProperties ? `Record<string, ${type(schema.additionalProperties, indent)}>` : "Record<string, unknown>");
    default:
      return own ?? "unknown";
  }
}

function object(schema, indent) {
  const deeper = `${indent}  `;
  const needed = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties).map(([field, of]) => {
    const text = of.description ? `${deeper}/** ${of.description.replace(/\s+/g, " ").replace(/\*\//g, "")} */\n` : "";
    return `${text}${deeper}${key(field)}${needed.has(field) ? "" : "?"}: ${type(of, deeper)};`;
  });
  if (schema.additionalProperties && schema.additionalProperties !== true) return `{\n${fields.join("\n")}\n${indent}}`;
  return `{\n${fields.join("\n")}\n${indent}}`;
}

const lines = ["// Written by scripts/types.mjs from docs/openapi.json. Do not change by hand.", ""];
for (const [of, schema] of Object.entries(schemas)) {
  if (schema.description) lines.push(`/** ${schema.description.replace(/\s+/g, " ").replace(/\*\//g, "")} */`);
  lines.push(`export type ${name(of)} = ${type(schema)};`, "");
}
writeFileSync(new URL("../src/api/types.ts", import.meta.url), lines.join("\n"));
