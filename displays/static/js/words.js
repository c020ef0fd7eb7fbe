// The page's texts in its language, by key, from /static/words/<language>.json.

/** The page's language tag. */
export const language = document.documentElement.lang;

/**
 * Load the texts.
 *
 * @param {string} [tag] of a language; the page's own where none is given.
 * @returns {Promise<(key: string, values?: object) => string>} returns the text of a key, with
 *     {name} replaced by values.name; a key without a text is returned as it is.
 */
export async function loadWords(tag = language) {
  const answer = await fetch(`/static/words/${tag}.json`);
  const words = await answer.json();
  return (key, values = {}) =>
    (words[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all));
}
