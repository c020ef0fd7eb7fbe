// The scoreboard's texts in one language, or in two: `?also=zh-Hant` writes a second below the first.

import { language, loadWords } from "../words.js";

const asked = new URLSearchParams(location.search).get("also") ?? "";
const second = document.querySelector("#board").dataset.languages.split(" ").find((tag) => tag === asked && tag !== language);

/** Texts of the page's language. */
export const word = await loadWords();
const other = second ? await loadWords(second) : null;

/** Create an element with a class and children. */
export function make(name, kind, ...children) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.append(...children);
  return made;
}

/**
 * Return a text in the languages of the page.
 *
 * @param {(word: Function) => string} text of one language, from its `word`.
 * @returns {(string|Node)[]} the text; in a second language too, if it differs.
 */
export function both(text) {
  const first = text(word);
  if (!other || text(other) === first) return [first];
  const also = make("span", "also", text(other));
  also.lang = second;
  return [first, " ", also];
}

/** Write the text of a key into an element; nothing for no key. */
export function write(element, key, values = {}) {
  element.dataset.key = key || "";
  element.replaceChildren(...(key ? both((words) => words(key, values)) : []));
}

/** Write the fixed texts of the page in two languages, where two are asked for. */
export function nameTwice() {
  if (!other) return;
  for (const each of document.querySelectorAll("[data-word]")) write(each, each.dataset.word);
}
