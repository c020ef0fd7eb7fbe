// Sends a person's command to the table. No DOM but the page's own secret.

const TRIES = 3;
const PAUSE_MS = 400;

const csrf = () => document.querySelector('meta[name="csrf"]').content;

/**
 * Ask the table for something. A lost answer is asked for again with the same transaction, so that
 * nothing is done twice.
 *
 * @param {string} name of the command, such as "open_betting".
 * @param {object} fields its body, with the page's own `transaction` (see intent.js).
 * @returns {Promise<{result: string, code?: string, text?: string, position?: number}>} the table's
 *     answer; `result` is "accepted", "exists" or "refused", or "unknown" where none came,
 *     "login" where the session is over, or "malformed".
 */
export async function ask(name, fields) {
  const body = JSON.stringify(fields);
  let text = "";
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      const answer = await fetch(`/command/${name}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf() },
        body,
      });
      if (answer.status === 200) return await answer.json();
      text = (await answer.text()).trim();
      if (answer.status === 401) return { result: "login", text };
      if (answer.status < 500 && answer.status !== 429) return { result: "malformed", text };
    } catch (error) {
      text = String(error);
    }
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  return { result: "unknown", text };
}
