// The page's texts in its language, by key, from /static/words/<language>.json.

/** The page's language tag. */
export const language = document.documentElement.lang;

/**
 * Load the texts.
 *
 * @returns {Promise<(key: string, values?: object) => string>} returns the text of a key, with
 *     {name} replaced by values.name; a key without a text is returned as it is.
 */
export async function loadWords() {
  const answer = await fetch(`/static/words/${language}.json`);
  const words = await answer.json();
  return (key, values = {}) =>
    (words[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all));
}
