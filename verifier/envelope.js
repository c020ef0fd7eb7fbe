/**
 * A stored event: its envelope (docs/bus.md) and the fields that its type and version have.
 */

import { RANKS, SUITS } from "./cards.js";
import { PARTS, TYPES } from "./event_types.js";

const ENVELOPE = {
  event_id: "string",
  stream: "string",
  position: "integer",
  type: "string",
  v: "integer",
  at: "string",
  actor: "string",
  cause: "string",
  correlation: "string",
  data: "any",
};

/** The largest an event may be: 4 MiB. */
const MOST_BYTES = 4 * 1024 * 1024;

const PLAIN = {
  string: (value) => typeof value === "string",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  any: () => true,
  card: (value) => typeof value === "string" && value.length === 2 && RANKS.includes(value[0]) && SUITS.includes(value[1]),
  report: (value) => isTable(value) && `report.${value.kind}` in PARTS && fault(value, PARTS[`report.${value.kind}`]) === null,
};

/** @param {unknown} value @returns {boolean} */
function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value @param {string} spec as in event_types.js @returns {boolean} */
function fits(value, spec) {
  if (spec[0] === "[") return Array.isArray(value) && value.every((one) => fits(one, spec.slice(1, -1)));
  if (spec[0] === "{") return isTable(value) && Object.values(value).every((one) => fits(one, spec.slice(1, -1)));
  const choices = spec.split("|");
  if (choices.length > 1) return choices.some((choice) => fits(value, choice));
  if (spec[0] === "=") return String(value) === spec.slice(1) && typeof value !== "boolean";
  if (spec in PLAIN) return PLAIN[spec](value);
  return isTable(value) && fault(value, PARTS[spec]) === null;
}

/** @param {object} table @param {Object<string, string>} fields as in event_types.js @returns {string|null} what is wrong */
export function fault(table, fields) {
  for (const name of Object.keys(table)) {
    if (!(name in fields) && !(`${name}?` in fields)) return `unknown field ${name}`;
  }
  for (const [name, spec] of Object.entries(fields)) {
    const key = name.replace("?", "");
    if (!Object.hasOwn(table, key)) {
      if (key === name) return `${key} is missing`;
    } else if (!fits(table[key], spec)) {
      return `${key} is no ${spec}`;
    }
  }
  return null;
}

/**
 * Read a stored event.
 * @param {string} stored the envelope as JSON
 * @param {{stream: string, position: number}} place where it must stand
 * @returns {object} the envelope; throws with the reason where it cannot be read
 */
export function readEvent(stored, { stream, position }) {
  if (stored.length > MOST_BYTES) throw new Error("larger than 4 MiB");
  let event;
  try {
    event = JSON.parse(stored);
  } catch {
    throw new Error("no JSON");
  }
  const wrong = isTable(event) ? fault(event, ENVELOPE) : "no envelope";
  if (wrong) throw new Error(wrong);
  const type = TYPES[`${event.type}/${event.v}`];
  if (!type) throw new Error(`unknown event type ${event.type}, version ${event.v}`);
  const within = isTable(event.data) ? fault(event.data, PARTS[type]) : "no fields";
  if (within) throw new Error(`${event.type}: ${within}`);
  if (event.stream !== stream) throw new Error(`of another log: ${event.stream}`);
  if (event.position !== position) throw new Error(`says that it stands at ${event.position}`);
  return event;
}
