// The page's texts in its language, by key, from /static/words/<language>.json.

/** The page's language tag. */
export const language = document.documentElement.lang;

/**
 * Format a time in this screen's time zone: in every language by 24 hours, as a log is read.
 *
 * @param {string|number} at a time of the log, or milliseconds.
 * @param {{date?: boolean}} options whether the date stands before it.
 */
export function timeText(at, { date = true } = {}) {
  const options = { timeStyle: "medium", hourCycle: "h23", ...(date ? { dateStyle: "medium" } : {}) };
  // English alone would be American English: the month before the day.
  return new Intl.DateTimeFormat(language === "en" ? "en-AU" : language, options).format(new Date(at));
}

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

/**
 * Load the templates of a coup's record, by the English ones; none where the page is English.
 *
 * @returns {Promise<Object<string, string>>}
 */
export async function loadRecordWords() {
  if (language === "en") return {};
  const answer = await fetch(`/static/words/record/${language}.json`);
  return answer.json();
}

/**
 * Return a function that says an English text of a record in the page's language.
 *
 * @param {Object<string, string>} words of `loadRecordWords`.
 * @param {Object<string, {template: string, values?: object}>} spoken how each text was put together;
 *     a text that is not in it stays as it is, such as one that a person typed.
 */
export function recordTeller(words, spoken) {
  const said = (text) => {
    if (Array.isArray(text)) return text.map(said).join(words[", "] ?? ", ");
    if (!Object.hasOwn(spoken, text)) return text;
    const { template, values = {} } = spoken[text];
    return (words[template] ?? template).replace(/\{(\w+)\}/g, (all, name) => said(values[name] ?? all));
  };
  return said;
}
