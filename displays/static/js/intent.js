// One transaction for each thing that a person means to do, however often it is pressed.
//
// What is pressed again while its answer is out, or within SETTLE_MS of the press, is the same
// intention and is not sent. An intention that never got its answer keeps its transaction: pressed
// again, the table says whether it was done already (`exists`).

import { ask } from "./action.js";

export const SETTLE_MS = 800;
const PASSING_MS = 250;
const PATIENCE = 8;

const intentions = new Map();

/** An id for a transaction: unique for ever, also where the page has no secure context. */
export function newTransaction() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const settled = (began) =>
  new Promise((done) => {
    setTimeout(done, Math.max(0, SETTLE_MS - (performance.now() - began)));
  });

/**
 * Do what a person means, once.
 *
 * @param {string} name of the command.
 * @param {object} fields its body without the transaction.
 * @param {(answer: object) => void} onAnswer called with the table's answer, once an intention.
 * @returns {?Promise<void>} fulfilled when the button may be pressed again; null where this is the
 *     same intention as one on its way.
 */
export function intend(name, fields, onAnswer) {
  const key = JSON.stringify([name, fields]);
  const known = intentions.get(key);
  if (known?.busy) return null;
  const intention = known ?? { transaction: newTransaction() };
  intention.busy = true;
  intentions.set(key, intention);
  return carryOut(key, intention, name, fields, onAnswer);
}

async function carryOut(key, intention, name, fields, onAnswer) {
  const began = performance.now();
  const body = { ...fields, transaction: intention.transaction };
  let answer = await ask(name, body);
  // The table is reading what the shoe said meanwhile: that passes in a moment.
  for (let tries = 0; answer.code === "catching_up" && tries < PATIENCE; tries += 1) {
    await new Promise((done) => setTimeout(done, PASSING_MS));
    answer = await ask(name, body);
  }
  onAnswer(answer);
  await settled(began);
  intention.busy = false;
  if (answer.result !== "unknown") intentions.delete(key);
}
