/**
 * Settlement: what each wager of one phase of a coup gets. Money is BigInt minor units throughout.
 */

import { judge } from "./wagers.js";

/**
 * @typedef {import("./rulebook.js").Rulebook} Rulebook
 * @typedef {{id: string, seat: number, bet: string, stake: number, patron?: string, kind?: string}} Wager
 * @typedef {object} Line
 * @property {string} wager
 * @property {number} seat
 * @property {string} bet
 * @property {string} [patron]
 * @property {string} [kind] absent for chips
 * @property {"win"|"lose"|"push"|"void"} result
 * @property {string} category
 * @property {string} [odds]
 * @property {number} stake
 * @property {number} winnings
 * @property {number} commission
 * @property {number} paid
 */

/**
 * Round num/den to a whole number of units. Half a unit is rounded up by `nearest`.
 * @param {bigint} num @param {bigint} den @param {bigint} unit @param {string} mode
 * @returns {bigint} an amount
 */
export function roundTo(num, den, unit, mode) {
  const step = den * unit;
  if (mode === "down") return (num / step) * unit;
  if (mode === "up") return ((num + step - 1n) / step) * unit;
  return ((2n * num + step) / (2n * step)) * unit;
}

/** @param {bigint} winnings @param {Rulebook} rules @returns {bigint} each block begun pays whole, and never more than was won */
export function commissionOn(winnings, rules) {
  const { rate, block } = rules.commission;
  const liable = ((winnings + block - 1n) / block) * block;
  const owed = roundTo(liable * rate.num, rate.den, rules.unit, rules.rounding.commission);
  return owed < winnings ? owed : winnings;
}

/** @param {Rulebook} rules @param {string} bet @returns {number|null} its phase; null where it has none */
export function phaseOf(rules, bet) {
  return rules.bets[bet]?.phase ?? null;
}

/** Lay out a line before money: fields in the order of the log. */
function lineOf({ id, seat, bet, patron, kind, stake }, result, category, odds) {
  const whose = { wager: id, seat, bet, ...(patron != null && { patron }), ...(kind && kind !== "chips" && { kind }) };
  return { ...whose, result, category, ...(odds && { odds: `${odds.num}/${odds.den}` }), stake };
}

/** @param {Wager} wager @param {Rulebook} rules @param {object} coup @returns {{line: Line, winnings: bigint}} */
function judged(wager, rules, coup) {
  const bet = rules.bets[wager.bet];
  if (!bet) return { line: lineOf(wager, "void", "void"), winnings: 0n };
  const category = judge(wager.bet, bet, coup);
  const odds = bet.pays[category];
  if (odds === undefined) return { line: lineOf(wager, category === "push" ? "push" : "lose", category === "push" ? "push" : "lose"), winnings: 0n };
  if (odds === "push") return { line: lineOf(wager, "push", category), winnings: 0n };
  const winnings = roundTo(BigInt(wager.stake) * odds.num, odds.den, rules.unit, rules.rounding.payout);
  return { line: lineOf(wager, "win", category, odds), winnings };
}

/** @param {Wager|Line} wager @returns {string} whose wager it is: a reference, or the seat */
export function patronOf(wager) {
  return wager.patron != null ? `p:${wager.patron}` : `s:${wager.seat}`;
}

/** Share `maximum` pro rata; what is left over goes by largest remainder, first placed first. */
function proRata(rows, maximum, unit) {
  const sum = rows.reduce((all, row) => all + row.winnings, 0n);
  const units = maximum / unit;
  const shares = rows.map((row, place) => {
    const exact = row.winnings * units;
    return { row, place, whole: exact / sum, rest: exact % sum };
  });
  let left = units - shares.reduce((all, share) => all + share.whole, 0n);
  const order = [...shares].sort((a, b) => (a.rest === b.rest ? a.place - b.place : a.rest < b.rest ? 1 : -1));
  for (const share of order) {
    share.row.winnings = share.whole * unit + (left > 0n ? unit : 0n);
    left -= 1n;
  }
}

/** Pay in full until `maximum` is used up. */
function firstPlaced(rows, maximum) {
  let left = maximum;
  for (const row of rows) {
    if (row.winnings > left) row.winnings = left;
    left -= row.winnings;
  }
}

/** Cut winnings to the rulebook's aggregate maxima. @returns {{cap: object, rows: object[]}[]} those that cut */
function applyCaps(rows, rules) {
  const cut = [];
  for (const cap of rules.caps) {
    const bound = rows.filter(({ line, winnings }) => cap.bets.includes(line.bet) && line.kind !== "toke" && winnings > 0n);
    const groups = new Map();
    for (const row of bound) {
      const whose = cap.scope === "patron" ? patronOf(row.line) : "";
      groups.set(whose, [...(groups.get(whose) ?? []), row]);
    }
    for (const group of groups.values()) {
      const before = group.map((row) => row.winnings);
      if (before.reduce((all, one) => all + one, 0n) <= cap.maximum) continue;
      if (cap.allocation === "pro_rata") proRata(group, cap.maximum, rules.unit);
      else firstPlaced(group, cap.maximum);
      cut.push({ cap, rows: group.map((row, i) => ({ wager: row.line.wager, winnings: Number(before[i]), paid: Number(row.winnings) })) });
    }
  }
  return cut;
}

/** Write winnings, commission and the sum into a line. A token's stake is never given back. */
function paidLine({ line, winnings }, rules) {
  const takesCommission = rules.commission && rules.bets[line.bet]?.commission && winnings > 0n;
  const commission = takesCommission ? commissionOn(winnings, rules) : 0n;
  const stays = line.result !== "lose" && line.kind !== "promo";
  const returned = stays ? BigInt(line.stake) : 0n;
  return { ...line, winnings: Number(winnings), commission: Number(commission), paid: Number(returned + winnings - commission) };
}

/**
 * Settle wagers of one phase.
 * @param {Wager[]} wagers in the order they were placed
 * @param {Rulebook} rules
 * @param {object} coup hands and outcome; in phase 1 the first two cards of each hand
 * @returns {{lines: Line[], capped: {cap: object, rows: object[]}[]}}
 */
export function settle(wagers, rules, coup) {
  const rows = wagers.map((wager) => judged(wager, rules, coup));
  const capped = applyCaps(rows, rules);
  return { lines: rows.map((row) => paidLine(row, rules)), capped };
}

/** @param {Wager[]} wagers @returns {Line[]} stakes go back: the coup does not count */
export function voidLines(wagers) {
  return wagers.map((wager) => ({ ...lineOf(wager, "void", "void"), winnings: 0, commission: 0, paid: wager.kind === "promo" ? 0 : wager.stake }));
}

/** @param {{seat: number, patron?: string}} row @returns {string} who pays commission */
export function payerOf(row) {
  return `${row.seat}/${row.patron ?? ""}`;
}

/** @param {Line[]} lines a token's stake counts nothing @returns {{staked: number, paid: number, commission: number}} */
export function sums(lines) {
  const add = (key) => lines.reduce((all, line) => all + line[key], 0);
  const staked = lines.reduce((all, line) => all + (line.kind === "promo" ? 0 : line.stake), 0);
  return { staked, paid: add("paid"), commission: add("commission") };
}

