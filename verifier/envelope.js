/**
 * A stored event: its envelope (docs/reference/topics.md) and the fields that its type and version have.
 */

import { hex, utf8 } from "./bytes.js";
import { RANKS, SUITS } from "./cards.js";
import { PARTS, TYPES } from "./event_types.js";
import { sha256 } from "./sha256.js";

const ENVELOPE = {
  event_id: "string", stream: "string", position: "integer", type: "string", v: "integer",
  at: "string", actor: "string", cause: "string", correlation: "string", data: "any", "salt?": "string",
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
export function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const checks = new Map();

/** @param {string} spec as in event_types.js @returns {(value: unknown) => boolean} made once for each spec */
function check(spec) {
  if (!checks.has(spec)) checks.set(spec, makeCheck(spec));
  return checks.get(spec);
}

/** @param {string} spec @returns {(value: unknown) => boolean} */
function makeCheck(spec) {
  if ("[{".includes(spec[0])) {
    const inner = check(spec.slice(1, -1));
    if (spec[0] === "[") return (value) => Array.isArray(value) && value.every(inner);
    return (value) => isTable(value) && Object.values(value).every(inner);
  }
  const choices = spec.split("|").map((one) => (one === spec ? null : check(one)));
  if (choices.length > 1) return (value) => choices.some((choice) => choice(value));
  if (spec[0] === "=") return (value) => value === spec.slice(1);
  return PLAIN[spec] ?? ((value) => isTable(value) && fault(value, PARTS[spec]) === null);
}

const rows = new Map();

/** @param {object} fields @returns {{name: string, needed: boolean, spec: string, fits: Function}[]} made once */
function rowsOf(fields) {
  if (!rows.has(fields)) {
    const made = Object.entries(fields).map(([key, spec]) => {
      const name = key.replace("?", "");
      return { name, needed: name === key, spec, fits: check(spec) };
    });
    rows.set(fields, made);
  }
  return rows.get(fields);
}

/** @param {object} table @param {Object<string, string>} fields as in event_types.js @returns {string|null} what is wrong */
export function fault(table, fields) {
  let known = 0;
  for (const { name, needed, spec, fits } of rowsOf(fields)) {
    if (!Object.hasOwn(table, name)) {
      if (needed) return `${name} is missing`;
    } else if (!fits(table[name])) {
      return `${name} is no ${spec.replaceAll("=", "").replaceAll("|", " or ")}`;
    } else {
      known += 1;
    }
  }
  return Object.keys(table).length === known ? null : "unknown field";
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
  if (JSON.stringify(event) !== stored) throw new Error("a key stands twice, or it is in another form than stored events are");
  const wrong = isTable(event) ? fault(event, ENVELOPE) : "no envelope";
  if (wrong) throw new Error(wrong);
  const type = TYPES[`${event.type}/${event.v}`];
  if (!type) throw new Error(`unknown event type ${event.type}, version ${event.v}`);
  const within = isTable(event.data) ? fault(event.data, PARTS[type]) : "no fields";
  if (within) throw new Error(`${event.type}: ${within}`);
  checkCoup(event, `${stream.split("/")[1]}/`);
  if (event.stream !== stream) throw new Error(`of another log: ${event.stream}`);
  if (event.position !== position) throw new Error(`says that it stands at ${event.position}`);
  return event;
}

/** The coup that an event names is the same everywhere in it. */
function checkCoup({ type, correlation, data }, table) {
  // Old commission may name no coup, and then has none.
  const old = type.startsWith("commission_") && !data.currency;
  const { coup = old ? "" : null, settlements = [], settlement_id: id } = data;
  if (coup === null) return;
  if (coup !== correlation) throw new Error(`${type}: it is correlated with another coup`);
  if (!coup && !old) throw new Error(`${type}: it names no coup`);
  if (type === "coup_settled" && data.settlement.coup !== coup) throw new Error(`${type}: its settlement is of another coup`);
  const named = id === undefined ? settlements : [id];
  if (!named.every((one) => one.startsWith(`${table}${coup}/`))) throw new Error(`${type}: it is about the settlement of another coup`);
}

/** @param {string} cause @param {number} index among the events of that cause @returns {string} */
export function eventId(cause, index) {
  return hex(sha256(utf8(`${cause}\n${index}`))).slice(0, 32);
}
