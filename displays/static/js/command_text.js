// What a command is about and which limit refused it, for people. No state.

import { money } from "./money.js";

/** Return a bet's name in the page's language, or its id. */
export function betName(bet, word) {
  const key = `bet.${bet}`;
  return word(key) === key ? bet.replaceAll("_", " ") : word(key);
}

/** Return a wager as text: its seat, its bet and its sum. */
export function wagerText({ seat, bet, stake }, decimals, word) {
  return word("dealer.laying", { seat, bet: betName(bet, word), stake: money(stake, decimals) });
}

/**
 * Return what a command is about: the wagers that it places or takes back; empty for others.
 *
 * @param {string} command
 * @param {object} fields of the command.
 * @param {?object} state of the table, as it was when the command was given.
 */
export function describe(command, fields, state, word) {
  if (!state || !Array.isArray(fields.wagers)) return "";
  const known = new Map((state.coup?.wagers ?? []).map((wager) => [wager.id, wager]));
  const wagers = fields.wagers.map((each) => (typeof each === "string" ? known.get(each) : each));
  return wagers
    .filter(Boolean)
    .map((wager) => wagerText(wager, state.rulebook.decimals, word))
    .join("; ");
}

/** Which limit a refusal of a wager is about: of the bet, or else of the rulebook. */
const LIMITS = {
  below_minimum: ["minimum"],
  above_maximum: ["maximum"],
  not_a_step: ["step"],
  table_maximum: ["table_maximum"],
  patron_maximum: ["patron_maximum"],
  seat_maximum: ["seat_maximum"],
  differential: ["differential"],
};

/** Return a refusal with the figure of its limit, or empty where it is about none. */
export function limitOf(code, fields, rulebook, word) {
  const names = LIMITS[code];
  const wager = fields?.wagers?.[0];
  if (!names || !wager) return "";
  const bet = rulebook.bets.find(({ id }) => id === wager.bet) ?? {};
  const amount = bet[names[0]] ?? rulebook[names[0]];
  if (typeof amount !== "number") return "";
  return word(`limit.${code}`, { amount: money(amount, rulebook.decimals), bet: betName(wager.bet, word) });
}
