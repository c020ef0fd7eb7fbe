/**
 * Write event_types.js from the published schemas: `node verifier/tools/make_types.mjs`.
 *
 * Sealed events carry no data on the bus, so theirs come from the newest recorded corpus. With
 * `--check` nothing is written, and the exit code says whether the file is current.
 */

import { readFileSync, writeFileSync } from "node:fs";

const ROOT = new URL("../../", import.meta.url);
const TARGET = new URL("../event_types.js", import.meta.url);
/** Fields whose values the schemas name, and that judging compares rather than reading. */
const JUDGED = ["AggregateCapped.scope", "CardDealt.source", "Settlement.phase", "SettlementLine.result", "ShoeLoaded.decks"];
const SEALED = ["shoe_reported/1", "shoe_audited/1", "books_closed/1"];
const read = (path) => JSON.parse(readFileSync(new URL(path, ROOT), "utf8"));

const defs = read("docs/reference/schema/messages.schema.json").$defs;
const recorded = read("tests/corpus/0.2.0/types.json");
const types = {};
const parts = {};

/** @param {object} schema @param {string} hint a name for what is described in place @returns {string} */
function spec(schema, hint) {
  if (schema.$ref) return part(schema.$ref.split("/").at(-1));
  if (schema.anyOf) return union(schema.anyOf, hint);
  if (JUDGED.includes(hint)) return typeof schema.enum[0] === "number" ? "integer" : "string";
  if (schema.enum) return schema.enum.length > 9 ? part("Card") : schema.enum.map((one) => `=${one}`).join("|");
  if (schema.type === "array") return `[${spec(schema.items, hint)}]`;
  if (schema.type !== "object") return schema.type;
  if (schema.additionalProperties) return `{${spec(schema.additionalProperties, hint)}}`;
  parts[hint] = fields(schema, hint);
  return hint;
}

/** Reports of the shoe are told apart by their kind; all else is a choice of plain types. */
function union(alternatives, hint) {
  if (!alternatives.every((one) => one.properties?.kind)) return alternatives.map((one) => spec(one, hint)).join("|");
  for (const one of alternatives) {
    const kind = one.properties.kind.enum[0];
    parts[`report.${kind}`] = fields(one, kind);
  }
  return "report";
}

/** @returns {string} the name of a part that stands in the schemas once */
function part(name) {
  if (name === "Card") return "card";
  if (defs[name].enum) return spec(defs[name], name);
  if (!(name in parts)) {
    parts[name] = null;
    parts[name] = fields(defs[name], name);
  }
  return name;
}

/** @returns {Object<string, string>} each field; a question mark behind those that may be absent */
function fields(schema, hint) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, inner]) => {
    const optional = schema.required?.includes(name) ? "" : "?";
    return [name + optional, spec(inner, `${hint}.${name}`)];
  });
  return Object.fromEntries(rows);
}

for (const name of Object.keys(defs)) {
  const [, type, version] = /^event\.(\w+)\.v(\d+)$/.exec(name) ?? [];
  if (!type || SEALED.includes(`${type}/${version}`)) continue;
  const data = defs[name].allOf.map((one) => one.properties?.data).find(Boolean);
  types[`${type}/${version}`] = data.$ref ? part(data.$ref.split("/").at(-1)) : spec(data, name);
}
for (const name of SEALED) {
  parts[name] = fields(recorded[name], name);
  types[name] = name;
}

const rows = (table) =>
  Object.keys(table)
    .sort()
    .map((key) => `  ${JSON.stringify(key)}: ${JSON.stringify(table[key])},\n`)
    .join("");
const text = `/**
 * Every event type and version with its fields. Written by tools/make_types.mjs; do not edit.
 */

export const TYPES = {
${rows(types)}};

export const PARTS = {
${rows(parts)}};
`;
if (!process.argv.includes("--check")) writeFileSync(TARGET, text);
else if (readFileSync(TARGET, "utf8") !== text) {
  console.error("verifier/event_types.js is not current: run node verifier/tools/make_types.mjs");
  process.exit(1);
}
