// Sends a person's commands to the table and finds out what became of them. No DOM but the page's
// own secret.
//
// A command has GIVE_UP_MS from the moment it is sent, on the page's own clock and nobody else's:
// what has no answer by then is aborted, wherever it waits (a browser has six connections to one
// server, and the streams of six open pages hold them all), and asked after by its transaction. To
// ask closes the transaction: the server sends on nothing that comes under it later.

export const GIVE_UP_MS = 5000;
const PAUSE_MS = 400;
const ASK_AGAIN_MS = 1000;
const PASSING_MS = 250;
const PATIENCE = 8;

const csrf = () => document.querySelector('meta[name="csrf"]').content;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** An id for a transaction: unique for ever, also where the page has no secure context. */
export function newTransaction() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Ask the table for something, for GIVE_UP_MS at the most. A lost answer is asked for again with the
 * same transaction, so that nothing is done twice.
 *
 * @param {string} name of the command, such as "open_betting".
 * @param {object} fields its body, with the page's own `transaction`.
 * @returns {Promise<{result: string, code?: string, text?: string, position?: number}>} the table's
 *     answer; `result` is "accepted", "exists" or "refused", or "unknown" where none came,
 *     "login" where the session is over, or "malformed".
 */
export function ask(name, fields) {
  return exchange(`/command/${name}`, fields);
}

/**
 * Have a command carried out, and find out what became of it, however long that takes.
 *
 * @param {string} name of the command.
 * @param {object} fields its body, with the page's own `transaction`.
 * @param {object} when
 * @param {() => void} when.onGivenUp told once, when it has no answer and its fate is asked for.
 * @param {() => () => void} when.makeRoom frees a connection to ask on; what it returns takes it back.
 * @returns {Promise<object>} as `ask`, but never "unknown"; refused with the code "not_done" is what
 *     was given up, was not done, and will not be.
 */
export async function carryOut(name, fields, { onGivenUp, makeRoom }) {
  let answer = await ask(name, fields);
  if (answer.result === "unknown") onGivenUp();
  while (answer.result === "unknown") {
    const takeBack = makeRoom();
    answer = await exchange(`/fate/${fields.transaction}`, {});
    takeBack();
    if (answer.result === "unknown") await pause(ASK_AGAIN_MS);
  }
  return answer;
}

async function exchange(path, fields) {
  const body = JSON.stringify(fields);
  const signal = AbortSignal.timeout(GIVE_UP_MS);
  let text = "";
  for (let passing = 0; !signal.aborted; ) {
    try {
      const answer = await fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf() },
        body,
        signal,
      });
      if (answer.status === 200) {
        const said = await answer.json();
        // The table is reading what the shoe said meanwhile: that passes in a moment.
        passing += said.code === "catching_up" ? 1 : PATIENCE;
        if (passing >= PATIENCE) return said;
        await pause(PASSING_MS);
        continue;
      }
      text = (await answer.text()).trim();
      if (answer.status === 401) return { result: "login", text };
      if (answer.status < 500 && answer.status !== 429) return { result: "malformed", text };
    } catch (error) {
      text = String(error);
    }
    if (!signal.aborted) await pause(PAUSE_MS);
  }
  return { result: "unknown", text };
}
