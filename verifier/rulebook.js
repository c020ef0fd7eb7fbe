/**
 * Rulebooks of form 1 and form 2, as far as a coup is judged by them (docs/reference/rules.md, settings).
 */

import { parseToml } from "./toml.js";
import { isKnown } from "./wagers.js";

const ROUNDING = ["up", "down", "nearest"];
const TIMING = ["deduct", "prepaid", "per_coup", "per_shoe"];
const MOST_ODDS = 1000n;

/**
 * @typedef {{num: bigint, den: bigint}} Ratio
 * @typedef {{pays: Object<string, Ratio|"push">, phase: number, commission: boolean, variant?: string}} BetRules
 * @typedef {{bets: string[], maximum: bigint, scope: string, allocation: string}} Cap
 * @typedef {object} Rulebook
 * @property {string} id
 * @property {number} form
 * @property {number} decks
 * @property {string} currency
 * @property {bigint} unit
 * @property {{payout: string, commission: string}} rounding
 * @property {{rate: Ratio, timing: string, block: bigint}|null} commission
 * @property {Object<string, BetRules>} bets
 * @property {Cap[]} caps
 * @property {boolean} reversesAll whether a void takes the first phase back
 */

/** @param {boolean} holds @param {string} what */
function require(holds, what) {
  if (!holds) throw new Error(what);
}

/** @param {string} text such as `27/50` @param {string} where @returns {Ratio} in lowest terms */
export function parseRatio(text, where = "odds") {
  const parts = typeof text === "string" && text.length < 17 ? /^[ \t]*([0-9]+)(?:\/([0-9]+))?[ \t]*$/.exec(text) : null;
  require(parts !== null && BigInt(parts[2] ?? 1) > 0n, `${where}: a ratio such as "1/2" would be right`);
  return reduce(BigInt(parts[1]), BigInt(parts[2] ?? 1));
}

/** @param {bigint} num @param {bigint} den @returns {Ratio} */
export function reduce(num, den) {
  let [a, b] = [num < 0n ? -num : num, den];
  while (b) [a, b] = [b, a % b];
  return a ? { num: num / a, den: den / a } : { num: 0n, den: 1n };
}

/** @param {object} table @param {string} key @param {string[]} allowed @param {string} absent */
function choice(table, key, allowed, absent) {
  const value = table[key] ?? absent;
  require(allowed.includes(value), `${key}: one of ${allowed.join(", ")} would be right`);
  return value;
}

/** @param {string} id @param {object} section @returns {BetRules} */
function readBet(id, section) {
  require(isKnown(id), `bets.${id}: no such wager`);
  const pays = {};
  for (const [category, odds] of Object.entries(section.pays ?? {})) {
    pays[category] = odds === "push" ? "push" : parseRatio(odds, `bets.${id}.pays.${category}`);
    require(pays[category] === "push" || pays[category].num <= MOST_ODDS * pays[category].den, `bets.${id}: odds`);
  }
  require(Object.keys(pays).length > 0, `bets.${id}.pays: missing`);
  const phase = section.phase ?? (id === "perfect_pairs" ? 1 : 2);
  require(phase === 1 || phase === 2, `bets.${id}.phase: 1 or 2 would be right`);
  return { pays, phase, commission: section.commission === true, variant: section.variant };
}

/** @param {object} section @returns {Cap} */
function readCap(section) {
  require(Array.isArray(section.bets) && Number.isInteger(section.maximum), "caps: bets and maximum");
  return {
    bets: section.bets,
    maximum: BigInt(section.maximum),
    scope: choice(section, "scope", ["table", "patron"], "table"),
    allocation: choice(section, "allocation", ["pro_rata", "first_placed"], "pro_rata"),
  };
}

/** @param {object|undefined} section */
function readCommission(section) {
  if (!section) return null;
  return { rate: parseRatio(section.rate, "commission.rate"), timing: choice(section, "timing", TIMING), block: BigInt(section.block ?? 1) };
}

/** @param {string} text a rulebook's file @returns {Rulebook} throws where it is none */
export function parseRulebook(text) {
  const file = parseToml(text);
  const rounding = file.rounding ?? {};
  require(file.form === 1 || file.form === 2, "form: 1 or 2 would be right");
  for (const key of ["id", "title", "currency"]) require(typeof file[key] === "string", `${key}: missing`);
  require([4, 6, 8].includes(file.decks), "decks: 4, 6 or 8 would be right");
  require(Number.isInteger(file.unit) && file.unit > 0, "unit: missing");
  require(file.bets !== undefined, "bets: missing");
  return {
    ...file,
    unit: BigInt(file.unit),
    rounding: { payout: choice(rounding, "payout", ROUNDING, "up"), commission: choice(rounding, "commission", ROUNDING, "down") },
    commission: readCommission(file.commission),
    bets: Object.fromEntries(Object.entries(file.bets).map(([id, section]) => [id, readBet(id, section)])),
    caps: (file.caps ?? []).map(readCap),
    reversesAll: file.procedure?.void_after_phase_one === "reverse_all",
  };
}
