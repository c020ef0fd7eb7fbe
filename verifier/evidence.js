/**
 * Evidence for one coup: verified with the log's public key and nothing else (docs/reference/log-format.md).
 */

import { fromHex, hex, textOf, utf8 } from "./bytes.js";
import { Coup, Fault, same } from "./coup.js";
import { eventId, fault, readEvent } from "./envelope.js";
import { PARTS } from "./event_types.js";
import { isIncluded } from "./merkle.js";
import { isBoundTo, isSignedBy, parseCheckpoint } from "./note.js";
import { parseRulebook } from "./rulebook.js";
import { sha256 } from "./sha256.js";

export const FORM = "bac/evidence/1";

PARTS.Evidence = {
  form: "string", build: "string", origin: "string", coup: "string", expected: "Expected",
  checkpoint: "string", rulebooks: "[string]", events: "[Proved]", seal: "string",
};
PARTS.Expected = {
  player: "[card]", banker: "[card]", player_total: "integer|null", banker_total: "integer|null",
  winner: "=banker|=player|=tie|null", void: "boolean", rulebook: "string",
  lines: "[SettlementLine]", refunds: "[Refund]", staked: "integer", paid: "integer", commission: "integer",
};
PARTS.Proved = { position: "integer", stored: "string", proof: "[string]" };

/** @param {Uint8Array} data @returns {boolean} whether this means to be evidence, damaged or not */
export function isEvidence(data) {
  const text = new TextDecoder().decode(data);
  return text.includes('"form": "bac/evidence/') || text.includes('"seal": "');
}

/** Bring a table to its one form: fields in their order, defaults left out. */
function ordered(value, spec) {
  if (spec[0] === "[") return value.map((one) => ordered(one, spec.slice(1, -1)));
  if (!(spec in PARTS)) return value;
  const kept = Object.entries(PARTS[spec]).filter(([name]) => {
    const given = value[name.replace("?", "")];
    return !name.endsWith("?") || !(given == null || given === "chips");
  });
  return Object.fromEntries(kept.map(([name, inner]) => [name.replace("?", ""), ordered(value[name.replace("?", "")], inner)]));
}

/** @param {object} file @returns {string} the one way in which evidence is written */
export function written(file) {
  return `${JSON.stringify(ordered(file, "Evidence"), null, 2)}\n`;
}

/** @param {Uint8Array} data @returns {object} the file; throws a Fault of the part `form` */
function readForm(data) {
  let text;
  let file;
  try {
    text = textOf(data);
    file = JSON.parse(text);
  } catch (error) {
    throw new Fault("form", `damaged: ${error.message}`);
  }
  const wrong = typeof file === "object" && file !== null ? fault(file, PARTS.Evidence) : "no evidence";
  if (file?.form !== undefined && file.form !== FORM) throw new Fault("form", `${JSON.stringify(file.form)}; this verifier reads ${FORM}`);
  if (wrong) throw new Fault("form", `damaged: ${wrong}`);
  if (/[\ud800-\udfff]/u.test(text) || written(file) !== text || hasLoneSurrogate(file)) {
    throw new Fault("form", "not written in the one way that evidence is written");
  }
  return file;
}

/** @returns {boolean} whether a text holds half a character, which no UTF-8 can */
function hasLoneSurrogate(value) {
  if (typeof value === "string") return /[\ud800-\udfff]/u.test(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasLoneSurrogate);
}

/** @returns {Promise<object>} the checkpoint, and the key that signed it */
async function checkCheckpoint(file, keys) {
  let checkpoint;
  try {
    checkpoint = parseCheckpoint(file.checkpoint);
  } catch (error) {
    throw new Fault("checkpoint", error.message);
  }
  let signer = null;
  for (const key of keys) {
    const signed = await isSignedBy(checkpoint.note, key);
    if (signed === false) throw new Fault("checkpoint", `badly signed: what it says is not what ${key.name}+${key.id} signed`);
    if (signed) signer ??= key;
  }
  if (!signer) {
    const signers = checkpoint.note.signatures.map(({ name, id }) => `${name}+${id}`).join(", ");
    throw new Fault("checkpoint", `signed by ${signers}, and that key was not given`);
  }
  if (!isBoundTo(signer, checkpoint.origin)) throw new Fault("checkpoint", `of ${checkpoint.origin}, and signed by ${signer.name}, another table's key`);
  if (checkpoint.origin !== file.origin) throw new Fault("origin", `${file.origin}, but the checkpoint is of ${checkpoint.origin}`);
  return { ...checkpoint, signer };
}

/** @returns {object[]} the envelopes, each proved to stand at its position */
function provedEvents(file, { size, root, origin }) {
  return file.events.map(({ position, stored, proof }) => {
    const part = `event at ${position}`;
    if (!isProved(stored, position, size, proof, root)) throw new Fault(part, "its bytes, position and proof do not lead to the checkpoint", position);
    try {
      return readEvent(stored, { stream: origin, position });
    } catch (error) {
      throw new Fault(part, error.message, position);
    }
  });
}

/** @returns {boolean} */
function isProved(stored, position, size, proof, root) {
  if (position < 1 || !proof.every((step) => /^[0-9a-f]{64}$/.test(step))) return false;
  return isIncluded(utf8(stored), position, size, proof.map(fromHex), root);
}

/** @param {object} event @param {string} coup @returns {boolean} */
function isOf(event, coup) {
  return event.correlation === coup || event.data.coup === coup;
}

/** Read the rulebooks and let the events cite them. @returns {Map<string, object>} by hash */
function readRulebooks(file, events) {
  const books = new Map();
  for (const text of file.rulebooks) {
    const hash = hex(sha256(utf8(text)));
    if (books.has(hash)) throw new Fault("rulebook", "one rulebook is there twice");
    try {
      books.set(hash, parseRulebook(text));
    } catch (error) {
      throw new Fault("rulebook", error.message);
    }
  }
  for (const { type, data, position } of events) {
    if (!["betting_opened", "rulebook_corrected"].includes(type)) continue;
    if (books.get(data.rulebook_hash)?.id !== data.rulebook) {
      throw new Fault("rulebook", `the event at ${position} is by ${data.rulebook}, SHA-256 ${data.rulebook_hash}, which is not there`, position);
    }
  }
  return books;
}

/** Judge the coup from its events. @returns {Coup} */
function judgeCoup(file, events) {
  if (!events.some((event) => isOf(event, file.coup))) throw new Fault("coup", `no event of coup ${file.coup} is here`);
  checkCourse(file, events);
  const books = readRulebooks(file, events);
  const coup = new Coup(file.coup, file.origin.split("/")[1], (hash) => books.get(hash) ?? null);
  for (const event of events) {
    if (isOf(event, file.coup) || event.type === "shoe_reported") coup.take(event);
  }
  if (!coup.isOver) throw new Fault("events", `coup ${file.coup} is neither settled nor void here`);
  coup.endTransaction(null);
  return coup;
}

/** Nothing is left out up to the coup's end, and what stands behind it is of the coup. */
function checkCourse(file, events) {
  const ends = ({ type, data }) => type === "coup_voided" || (type === "coup_settled" && data.settlement.phase === 2);
  const behind = [];
  let over = false;
  let end = null;
  let last = null;
  for (const event of events) {
    const { position } = event;
    const ours = isOf(event, file.coup);
    if (last !== null && position <= last) throw new Fault(`event at ${position}`, "out of order", position);
    if (last !== null && !over && position !== last + 1) {
      throw new Fault("events", `position ${last + 1} is missing from the coup's course`, last + 1);
    }
    if (over && !ours) throw new Fault(`event at ${position}`, `is none of coup ${file.coup}`, position);
    if (over) behind.push(event);
    else if (ours && ends(event)) end = event;
    over ||= end !== null;
    last = position;
  }
  checkTransactions(end, behind);
}

/** What was said of the coup after its end is there from each transaction's first event on. */
function checkTransactions(end, behind) {
  const next = new Map();
  if (end) next.set(end.cause, indexOf(end) + 1);
  for (const event of behind) {
    const index = next.get(event.cause) ?? 0;
    // Payments of commission of several coups in one transaction: each names its coup.
    const partial = index === 0 && event.type.startsWith("commission_");
    if (!partial && eventId(event.cause, index) !== event.event_id) {
      throw new Fault("events", `the transaction of the event at ${event.position} is not whole: something before it is missing`, event.position);
    }
    if (!partial) next.set(event.cause, index + 1);
  }
}

/** @param {object} event @returns {number} its place among the events of its cause; -1 where its id has none */
function indexOf({ cause, event_id: id }) {
  for (let index = 0; index < 1000; index += 1) if (eventId(cause, index) === id) return index;
  return -1;
}

/** @param {object} file @returns {string} the hash over all but the seal itself */
export function sealOf(file) {
  return hex(sha256(utf8(written({ ...file, seal: "" }))));
}

/**
 * Verify an evidence file.
 * @param {Uint8Array} data the file
 * @param {import("./note.js").Key[]} keys the log's
 * @returns {Promise<object>} as `baccarat evidence verify --json` prints it
 */
export async function verifyEvidence(data, keys) {
  return (await inspectEvidence(data, keys)).verdict;
}

/**
 * Verify an evidence file, and say how far it was read.
 * @returns {Promise<{verdict: object, position: number|null, file: object|null, coup: Coup|null}>}
 */
export async function inspectEvidence(data, keys) {
  const verdict = { ok: false, part: null, reason: null, coup: null, origin: null, size: null, key: null, events: 0, expected: null, rulebooks: [] };
  const found = { verdict, position: null, file: null, coup: null };
  try {
    const file = readForm(data);
    found.file = file;
    verdict.coup = file.coup;
    const checkpoint = await checkCheckpoint(file, keys);
    found.coup = judgeCoup(file, provedEvents(file, checkpoint));
    if (!same(found.coup.expected(), file.expected)) throw new Fault("expected", "the coup comes to another result");
    if (sealOf(file) !== file.seal) throw new Fault("seal", "the file is not as it was sealed, though all that is signed is");
    const { origin, size, signer } = checkpoint;
    const rulebooks = file.rulebooks.map((text) => ({ id: parseRulebook(text).id, hash: hex(sha256(utf8(text))) }));
    Object.assign(verdict, { ok: true, rulebooks, origin, size, key: signer.text, events: file.events.length, expected: file.expected });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    Object.assign(verdict, { part: error.part, reason: error.message });
    found.position = error.position;
  }
  return found;
}
