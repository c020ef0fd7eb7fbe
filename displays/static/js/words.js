// The page's language: texts from /static/words/<language>.json, by key.

/** The page's language tag. */
export const language = document.documentElement.lang;

/**
 * Load the texts.
 *
 * @returns {Promise<(key: string, values?: object) => string>} the text of a key, with {name}
 *     replaced by values.name; a key that there is none for is shown as it is.
 */
export async function loadWords() {
  const answer = await fetch(`/static/words/${language}.json`);
  const words = await answer.json();
  return (key, values = {}) =>
    (words[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all));
}
