// Converts amounts between integers of minor units, which all code uses, and text.

import { language } from "./words.js";

const digitsOf = (currency) =>
  new Intl.NumberFormat(language, { style: "currency", currency }).resolvedOptions()
    .maximumFractionDigits;

/** Format an amount for people: `1,250.00`; with a sign if `signed`. */
export function money(minor, currency, { signed = false } = {}) {
  const digits = digitsOf(currency);
  const text = new Intl.NumberFormat(language, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(Math.abs(minor) / 10 ** digits);
  if (minor < 0) return `−${text}`;
  return signed && minor > 0 ? `+${text}` : text;
}

/** Parse a typed amount into minor units; null if it is no amount. */
export function parseMoney(text, currency) {
  const digits = digitsOf(currency);
  const found = /^\s*(\d{1,12})(?:[.](\d+))?\s*$/.exec(text.replaceAll(",", ""));
  if (!found || (found[2] ?? "").length > digits) return null;
  return Number(found[1] + (found[2] ?? "").padEnd(digits, "0"));
}

/** Format an amount as a person would type it. */
export function typed(minor, currency) {
  const digits = digitsOf(currency);
  const text = String(minor).padStart(digits + 1, "0");
  return digits ? `${text.slice(0, -digits)}.${text.slice(-digits)}` : text;
}

/** Return the values of a row of chips in minor units, from the table's smallest step up. */
export function chipsFor(currency, smallest) {
  const one = 10 ** digitsOf(currency);
  const values = [1, 5, 25, 100, 500, 1000, 5000, 10000].map((value) => value * one);
  const fit = values.filter((value) => value >= smallest && value % smallest === 0);
  return (fit.length ? fit : [smallest, 5 * smallest, 10 * smallest]).slice(0, 6);
}
