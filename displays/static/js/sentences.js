// Says a sentence of the table, which comes in no language, by the words of the page's.

import { money } from "./money.js";

/**
 * Return a sentence as text.
 *
 * @param {{key: string, values?: Object<string, string|number|string[]>}} sentence the key of its
 *     words; and what stands in it: a text, an amount in minor units, or keys of words as a list.
 * @param {Function} word of `loadWords`.
 * @param {{currency: string, decimals: number}} rulebook in force.
 */
export function say({ key, values = {} }, word, { currency, decimals }) {
  const said = (value) => {
    if (typeof value === "number") return `${currency} ${money(value, decimals, { whole: true })}`;
    return Array.isArray(value) ? value.map((each) => word(each)).join(word("list.and")) : value;
  };
  return word(key, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, said(value)])));
}
