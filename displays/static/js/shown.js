// Texts that people and devices wrote, as a person may see them. The same as `show_text` in
// events/free_text.py: logs of earlier builds contain controls of the screen and of the direction.

const FORBIDDEN = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

const escaped = (found) => `\\u${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** Parse a JSON document from the server; its texts are shown on one line each. */
export function parseShown(document) {
  return JSON.parse(document, (_, value) =>
    typeof value === "string" ? value.replace(FORBIDDEN, escaped) : value,
  );
}
