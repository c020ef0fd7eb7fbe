/**
 * The shoe's recorded bytes, read again by the recorded wire profile (docs/shoe/profiles.md).
 *
 * One frame is read by itself. What a driver adds because of earlier frames (a lost report, a copy
 * that differs, the state of the link) has no meaning of its own in the bytes, and is not judged.
 */

import { fromHex, hex, textOf } from "./bytes.js";
import { RANKS, SUITS } from "./cards.js";
import { Unknown, contentOf, isReadable, must, valueOf } from "./framing.js";
import { parseToml } from "./toml.js";

const HANDS = { 0: null, 1: "player", 2: "banker" };
/** What the driver concludes from the link or from several frames: one frame cannot show it. */
const NOT_OF_A_FRAME = [
  "link_open", "link_up", "link_down", "link_stalled", "report_lost", "copy_conflict", "shoe_booted", "error_cleared",
];

/** Leave out what is not known: a hand, a number or a face. */
function told(report) {
  return Object.fromEntries(Object.entries(report).filter(([, value]) => value !== null && value !== false));
}

/** @param {number} number of a card @param {boolean} needed @returns {number|null} */
function cardNumber(number, needed) {
  must(number <= 3 && (number > 0 || !needed));
  return number || null;
}

// --- a kind byte and data bytes, as of enq-bcc ---------------------------------

/** @param {string} word of the profile for a result @returns {object} */
function winnerOf(word) {
  return { winner: word.replace("_six", ""), banker_six: word === "banker_six" };
}

/** The pieces of an `enq` report's data, by the profile's tables. */
const ENQ_PIECES = {
  target: (byte, codes) => {
    const name = codes.targets[(byte >> 4) & 7];
    must(name !== undefined);
    return { target: name, number: byte & 15 };
  },
  card: (byte, codes) => {
    if (byte === 0x80) return { face: null };
    const [suit, rank] = [codes.suits[(byte >> 4) & 7], codes.ranks[byte & 15]];
    must(suit !== undefined && rank !== undefined);
    return { face: rank + suit };
  },
  result: (byte, codes) => {
    const word = codes.results[(byte >> 4) & 7];
    must(word !== undefined && !(byte & 12));
    return { word, player_pair: Boolean(byte & 1), banker_pair: Boolean(byte & 2) };
  },
  error: (byte, codes) => {
    const number = byte & 63;
    return { code: codes.errors[number] ?? `error_${number}`, latched: Boolean(byte & 64) };
  },
};

/** Bring the pieces of a frame to a report of the given kind. */
const ENQ_REPORTS = {
  card_drawn: ({ target, number, face }) => {
    if (target === "first_card") return { kind: "first_card", face };
    if (target === "burn_card") return { kind: "burn_card", face, left: number };
    const hand = target === "other" ? null : target;
    return { kind: "card_drawn", hand, number: cardNumber(number, hand !== null), face };
  },
  card_revealed: ({ target, number, face }) => {
    must(["player", "banker"].includes(target) && face !== null);
    return { kind: "card_revealed", hand: target, number: cardNumber(number, true), face };
  },
  card_carried_over: ({ target, number, face }) => {
    must(["player", "banker"].includes(target));
    return { kind: "card_carried_over", hand: target, number: cardNumber(number, true), face };
  },
  card_out_of_game: ({ face }) => ({ kind: "card_out_of_game", face }),
  device_result: ({ word, player_pair, banker_pair }) => {
    if (word === "forced_end") return { kind: "round_forced_end" };
    return { kind: "device_result", ...winnerOf(word), player_pair, banker_pair };
  },
  error_raised: ({ code, latched }) => ({ kind: "error_raised", code, latched }),
  error_cleared: ({ code }) => ({ kind: "error_cleared", code }),
};

/** @param {Uint8Array} content @param {object} profile @returns {object[]} */
function readKinds(content, { codes, number }) {
  const [kind, ...data] = content.subarray(number ? (number.at ?? 0) + number.width : 0);
  const row = codes.kinds[String.fromCharCode(kind)];
  must(row !== undefined && (row.data ?? []).length === data.length);
  const pieces = Object.assign({}, ...(row.data ?? []).map((name, i) => ENQ_PIECES[name](data[i], codes)));
  const report = ENQ_REPORTS[row.report]?.(pieces) ?? { kind: row.report };
  return [{ ...report, ...row.fields }];
}

// --- fields of a site's own profile ------------------------------------------

/** Reports that name a place, and those that name a face. */
const PLACED = ["card_drawn", "card_revealed", "card_carried_over"];
const FACED = [...PLACED, "first_card", "burn_card", "card_out_of_game"];

/** @param {Uint8Array} content @param {object} profile @returns {object[]} */
function readFields(content, { codes }) {
  const latin = (bytes) => String.fromCharCode(...bytes);
  const parts = latin(content).split(codes.separator || ",");
  const piece = (name) => {
    const { at = 0, width, field } = codes.fields[name];
    const bytes = field === undefined ? content.subarray(at, at + width) : Uint8Array.from(parts[field] ?? "", (one) => one.charCodeAt(0));
    must(field === undefined ? bytes.length === width : parts[field] !== undefined);
    return bytes;
  };
  const code = (name) => (codes.text ? latin(piece(name)) : hex(piece(name)).toUpperCase());
  const count = (name) => {
    const told = codes.text ? latin(piece(name)).trim() : String(valueOf(piece(name)));
    must(/^[+-]?[0-9]+$/.test(told));
    return Number(told);
  };
  const has = (name) => name in (codes.fields ?? {});
  const row = codes.kinds[has("kind") ? code("kind") : ""];
  must(row !== undefined);
  const report = { kind: row.report, ...row.fields };
  if (PLACED.includes(row.report)) {
    if (has("hand")) must((report.hand = codes.hands?.[code("hand")]) !== undefined);
    if (has("number")) report.number = cardNumber(count("number"), true);
  }
  if (FACED.includes(row.report)) {
    if (row.report === "burn_card" && has("left")) report.left = count("left");
    const face = codes.faces[code("card")];
    if (face === undefined) return [{ kind: "card_unreadable", hand: report.hand, number: report.number }];
    must(face !== "withheld" || row.report !== "card_revealed");
    report.face = face === "withheld" ? null : face;
  }
  if (row.report.startsWith("error_")) report.code = codes.errors?.[code("error")] ?? `error_${code("error").toLowerCase()}`;
  if (row.report !== "device_result") return [report];
  const [word, pairs] = [codes.results?.[code("result")], count("pairs")];
  if (word === "forced_end") return [{ kind: "round_forced_end" }];
  must(word !== undefined && pairs >= 0 && pairs < 4);
  return [{ ...report, ...winnerOf(word), player_pair: Boolean(pairs & 1), banker_pair: Boolean(pairs & 2) }];
}

// --- ref-crc -----------------------------------------------------------------

/** @param {number} byte @param {boolean} needed @returns {{hand: string|null, number: number|null}} */
function place(byte, needed) {
  const hand = HANDS[byte >> 4];
  must(hand !== undefined && (hand !== null || (!needed && (byte & 15) === 0)));
  return { hand, number: cardNumber(byte & 15, needed) };
}

/** @param {number} byte @returns {string|null} a face; null where it is withheld */
function referenceCard(byte) {
  if (byte === 0) return null;
  const [suit, rank] = [SUITS[(byte >> 4) - 1], RANKS[(byte & 15) - 1]];
  must(suit !== undefined && rank !== undefined);
  return rank + suit;
}

/** One of the words of a table, or none that is right. */
function word(byte, words) {
  must(byte in words);
  return words[byte];
}

const named = (names, byte, kind) => names?.[byte] ?? `${kind}_${byte}`;

/** By kind: how long its payload is, and what it means. */
const REFERENCE = {
  0x01: [0, () => ({ kind: "shoe_booted" })],
  0x02: [0, () => ({ kind: "shoe_ready" })],
  0x10: [2, ([at, card]) => ({ kind: "card_drawn", ...place(at, false), face: referenceCard(card) })],
  0x11: [2, ([at, card]) => {
    must(card !== 0);
    return { kind: "card_revealed", ...place(at, true), face: referenceCard(card) };
  }],
  0x12: [1, ([at]) => ({ kind: "card_unreadable", ...place(at, false) })],
  0x13: [1, ([card]) => ({ kind: "first_card", face: referenceCard(card) })],
  0x14: [2, ([left, card]) => ({ kind: "burn_card", left: left === 255 ? null : left, face: referenceCard(card) })],
  0x15: [0, () => ({ kind: "cut_card" })],
  0x16: [2, ([reason, card], codes) => ({ kind: "card_out_of_game", reason: named(codes.reasons, reason, "reason"), face: referenceCard(card) })],
  0x17: [2, ([at, card]) => ({ kind: "card_carried_over", ...place(at, true), face: referenceCard(card) })],
  0x18: [1, ([at]) => ({ kind: "card_reversed", place: word(at, { 1: "exit", 2: "midway" }) })],
  0x20: [2, ([error, latched], codes) => ({ kind: "error_raised", code: named(codes.errors, error, "error"), latched: word(latched, { 0: false, 1: true }) })],
  0x21: [1, ([error], codes) => ({ kind: "error_cleared", code: named(codes.errors, error, "error") })],
  0x22: [1, ([locked]) => ({ kind: "lock_changed", locked: word(locked, { 0: false, 1: true }) })],
  0x30: [2, ([winner, flags]) => {
    must(flags < 8);
    const bits = { player_pair: Boolean(flags & 1), banker_pair: Boolean(flags & 2), banker_six: Boolean(flags & 4) };
    return { kind: "device_result", winner: word(winner, { 1: "player", 2: "banker", 3: "tie" }), ...bits };
  }],
  0x31: [0, () => ({ kind: "round_forced_end" })],
};

/** @param {Uint8Array} body @param {object} profile @returns {object[]} */
function readReference(body, profile) {
  must(body[0] === 1 && body[10] === body.length - 11);
  const payload = body.subarray(11);
  if (body[1] === 0x23) {
    must(payload.length > 0 && payload.length < 33 && payload.every((byte) => byte > 31 && byte < 127));
    return [{ kind: "mode_changed", mode: textOf(payload) }];
  }
  const row = REFERENCE[body[1]];
  must(row !== undefined && row[0] === payload.length);
  return [row[1]([...payload], profile.codes ?? {})];
}

// --- text-line ---------------------------------------------------------------

/** @param {string} text such as `4S`, `S4` or `10H` @returns {string|null} */
function faceOf(text) {
  const [, rank, suit, before, behind] = /^(?:([A2-9TJQK]|10)([SHDC])|([SHDC])([A2-9TJQK]|10))$/.exec(text) ?? [];
  return rank || behind ? (rank ?? behind).replace("10", "T") + (suit ?? before) : null;
}

/** @param {string} line @param {object} profile @returns {object[]} everything that the line may lead to */
function readBracket(line, profile) {
  const said = profile.codes.lines?.[line];
  if (said) return [{ kind: said.report, ...said.fields }];
  const alarm = /^<Alarm:([^\s>]+)(?: [^>]*)?>$/.exec(line);
  if (alarm) {
    const code = profile.codes.alarms?.[alarm[1]]?.word ?? `alarm_${alarm[1].toLowerCase()}`;
    const stands = profile.codes.alarms?.[alarm[1]]?.stands !== false;
    return [{ kind: "error_raised", code, latched: stands }];
  }
  const parts = /^\[([^\]]*)\]<(?:Card:(.*)|([^>]*))>$/.exec(line);
  must(parts !== null && (parts[2] !== undefined || parts[3] === parts[1]));
  const moved = { kind: "mode_changed", mode: parts[1] };
  const mode = profile.codes.modes?.[parts[1]];
  const face = parts[2] === undefined ? null : faceOf(parts[2]);
  if (mode === "burn") return [moved, { kind: "burn_card", face }];
  if (mode !== "game") return [moved, { kind: "unknown_report" }];
  return [moved, face ? { kind: "card_drawn", face } : { kind: "card_unreadable" }];
}

/** @param {string} code @param {object} profile @returns {object[]} */
function readScan(code, profile) {
  const found = new RegExp(`^(?:${profile.codes.pattern.replace(/\(\?P</g, "(?<")})$`).exec(code);
  const face = found ? profile.codes.faces[found.groups?.face ?? code] : undefined;
  return [face ? { kind: "card_drawn", face } : { kind: "card_unreadable" }];
}

/** What explains a frame's content, by `codes.variant`. */
const VARIANTS = {
  kinds: readKinds,
  ref: readReference,
  fields: readFields,
  bracket: (content, profile) => readBracket(textOf(content), profile),
  scan: (content, profile) => readScan(textOf(content), profile),
};

/** The framers of form 1 in form 2. */
const FIRST_FORM = {
  enq: {
    framer: { kind: "delimited", start: "05", end: "03", shape: ["30-39", "20-7E", "80-FF*"], most: 6 },
    check: { kind: "xor8", hex: true, after_end: true },
    number: { base: 10, width: 1 },
    codes: { variant: "kinds" },
  },
  cobs: { framer: { kind: "cobs", at: 10, adds: 13, most: 13 }, check: { kind: "crc16-ccitt-false" }, codes: { variant: "ref" } },
  line: { framer: { kind: "line", most: 0 } },
};

/** @param {object} profile of form 1 @returns {object} the same in form 2 */
function secondForm({ framer, limits, line, codes }) {
  const form = FIRST_FORM[framer];
  return form && { ...form, framer: { ...form.framer, ...line, most: form.framer.most + limits.data_bytes }, codes: { ...form.codes, ...codes } };
}

/** @param {string} text a wire profile's file @returns {object|null} null where it cannot be read here */
export function parseProfile(text) {
  const toml = parseToml(text);
  const profile = toml.form === 2 ? toml : secondForm(toml);
  return profile && isReadable(profile) && profile.codes?.variant in VARIANTS ? profile : null;
}

/** @param {object} source of a rejected frame @param {object} profile @returns {string|null} */
function wronglyRejected({ raw, report }, profile) {
  if (profile.framer.kind === "line" || report.reason === "stale" || raw.length < 2 * report.length) return null;
  try {
    contentOf(fromHex(raw), profile);
  } catch {
    return null;
  }
  return "a valid frame";
}

/** @param {object} report @param {object} meaning a part of what the bytes say @returns {boolean} */
function agrees(report, meaning) {
  const ours = told(meaning);
  const theirs = told(report);
  if (ours.kind === "unknown_report") return theirs.kind === "unknown_report";
  const keys = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  return [...keys].every((key) => ours[key] === theirs[key]);
}

/**
 * Hold a recorded report against its recorded bytes.
 * @param {{raw?: string, report: object}} source of a `shoe_reported`
 * @param {object} profile
 * @returns {string|null} what the bytes say instead; null where they say what was recorded
 */
export function contradiction(source, profile) {
  const { raw = "", report } = source;
  if (NOT_OF_A_FRAME.includes(report.kind)) return null;
  if (!/^(?:[0-9A-F]{2})+$/.test(raw)) return "nothing: they are no upper-case hex";
  if (report.kind === "frame_rejected") return wronglyRejected(source, profile);
  const frame = fromHex(raw);
  let meanings;
  try {
    meanings = VARIANTS[profile.codes.variant](contentOf(frame, profile), profile);
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    return report.kind === "unknown_report" ? null : `no report that the profile knows: ${hex(frame)}`;
  }
  if (meanings.some((meaning) => agrees(report, meaning))) return null;
  return JSON.stringify(told(meanings.at(-1)));
}
