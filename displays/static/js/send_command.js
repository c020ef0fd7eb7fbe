// Sends a person's commands to the table and finds out their outcome. Reads only the page's secret
// from the DOM.
//
// A command has GIVE_UP_MS from the moment the page sends it, by the page's own clock. The page
// then aborts a request without an answer, wherever it waits: a browser has six connections to one
// server, and the streams of six open pages use them all. The page asks for the command's fate by
// its transaction. This closes the transaction: the server forwards nothing that arrives later. A
// command says when it was given, and the server refuses one that is older than this (`expired`).

import { serverNow } from "./stream/clock.js";
import { parseShown } from "./shown.js";

export const GIVE_UP_MS = 5000;
const PAUSE_MS = 400;
const ASK_AGAIN_MS = 1000;
const PASSING_MS = 250;
const PATIENCE = 8;

const csrf = () => document.querySelector('meta[name="csrf"]').content;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Return a unique transaction id; works without a secure context too. */
export function newTransaction() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Send a request to the table, for GIVE_UP_MS at most. After a lost answer, send the same
 * transaction again, so that the table does nothing twice.
 *
 * @param {string} name of the command, such as "open_betting".
 * @param {object} fields its body, with the page's own `transaction`.
 * @returns {Promise<{result: string, code?: string, text?: string, position?: number}>} the table's
 *     answer; `result` is "accepted", "exists" or "refused", or "unknown" without an answer,
 *     "login" after the session's end, or "malformed".
 */
export function ask(name, fields) {
  return exchange(`/command/${name}`, fields);
}

/**
 * Send a command, and find out its outcome, however long that takes.
 *
 * @param {string} name of the command.
 * @param {object} fields its body, with the page's own `transaction`.
 * @param {object} when
 * @param {() => void} when.onGivenUp called once, when the page gives up and asks for the fate.
 * @param {() => () => void} when.makeRoom frees a connection; its result takes the connection back.
 * @returns {Promise<object>} as `ask`, but never "unknown". Refused with the code "not_done" means
 *     that the page gave up, and that the command was not and will not be carried out.
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
  const given = serverNow();
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf() };
  if (given !== null) headers["X-Given-Ms"] = String(given);
  const signal = AbortSignal.timeout(GIVE_UP_MS);
  let text = "";
  for (let passing = 0; !signal.aborted; ) {
    try {
      const answer = await fetch(path, {
        method: "POST",
        headers,
        body,
        signal,
      });
      if (answer.status === 200) {
        const said = parseShown(await answer.text());
        // The table is reading what the shoe said meanwhile: that passes in a moment.
        passing += said.code === "catching_up" ? 1 : PATIENCE;
        if (passing >= PATIENCE) return said;
        await pause(PASSING_MS);
        continue;
      }
      text = (await answer.text()).trim();
      if (answer.status === 401) return { result: "login", text };
      if (answer.status < 500 && answer.status !== 429) return { result: "malformed", text };
    } catch {
      text = ""; // the browser's own words name no cause; the page says that there was no answer
    }
    if (!signal.aborted) await pause(PAUSE_MS);
  }
  return { result: "unknown", text };
}
