// Converts amounts between integers of minor units, which all code uses, and text. The table says how
// many decimals an amount has: a browser's list of currencies is not ISO 4217 and changes with it.

import { language } from "./words.js";

// Digits, or digits in groups of three: "2,5" is a slip of the hand and no amount.
const TYPED = /^\s*(\d{1,16}|\d{1,3}(?:,\d{3}){1,5})(?:[.](\d+))?\s*$/;

/**
 * Format an amount for people: `1,250.00`.
 *
 * @param {number} minor units.
 * @param {number} decimals of the rulebook's currency.
 * @param {{signed?: boolean, whole?: boolean}} options with a sign; without decimals where all are 0.
 */
export function money(minor, decimals, { signed = false, whole = false } = {}) {
  const digits = whole && minor % 10 ** decimals === 0 ? 0 : decimals;
  // The formatter takes the digits as text: as a number the last ones of a large amount get lost.
  const text = new Intl.NumberFormat(language, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(typed(Math.abs(minor), decimals));
  if (minor < 0) return `−${text}`;
  return signed && minor > 0 ? `+${text}` : text;
}

/** Parse a typed amount into minor units; null if it is no amount. */
export function parseMoney(text, decimals) {
  const found = TYPED.exec(text);
  if (!found || (found[2] ?? "").length > decimals) return null;
  const minor = Number(found[1].replaceAll(",", "") + (found[2] ?? "").padEnd(decimals, "0"));
  return Number.isSafeInteger(minor) ? minor : null;
}

/** Format an amount as a person would type it. */
export function typed(minor, decimals) {
  const text = String(minor).padStart(decimals + 1, "0");
  return decimals ? `${text.slice(0, -decimals)}.${text.slice(-decimals)}` : text;
}

/** Return those of the table's chips, at most six, with which a stake in these steps can be laid. */
export function chipsFor(chips, step) {
  const fit = chips.filter((value) => value % step === 0);
  return (fit.length ? fit : [step, 5 * step, 10 * step]).slice(0, 6);
}
