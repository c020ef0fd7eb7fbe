/**
 * Answers a file of questions, a JSON document a line, with the second verifier: one process for
 * all of them. `node answer.mjs QUESTIONS`; an answer a line, in the same order.
 */

import { createHash, webcrypto } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { deal, outcome, parseCard } from "../../../verifier/cards.js";
import { isEvidence, verifyEvidence } from "../../../verifier/evidence.js";
import { verifyLog } from "../../../verifier/log.js";
import { parseKey } from "../../../verifier/note.js";
import { exactOdds } from "../../../verifier/odds.js";
import { roads } from "../../../verifier/roads.js";
import { parseRulebook } from "../../../verifier/rulebook.js";
import { settle } from "../../../verifier/settlement.js";
import { sha256 } from "../../../verifier/sha256.js";
import { contradiction, parseProfile } from "../../../verifier/wire.js";

globalThis.crypto ??= webcrypto;
const books = new Map();

/** @param {string} text of a rulebook; each is read once */
function book(text) {
  if (!books.has(text)) books.set(text, parseRulebook(text));
  return books.get(text);
}

const ANSWERS = {
  /** A coup's lines by the text of a rulebook. */
  settle: ({ rules, cards, wagers }) => {
    const laid = deal(cards.map(parseCard));
    const judged = outcome(laid.player, laid.banker);
    const coup = { hands: laid, ...judged };
    const { lines, capped } = settle(wagers, book(rules), coup);
    return { ...judged, complete: laid.complete && !laid.left.length, lines, capped: capped.map(({ rows }) => rows) };
  },
  roads: ({ results }) => roads(results),
  odds: ({ rules }) => exactOdds(book(rules)),
  sha256: ({ base64 }) => {
    const data = Buffer.from(base64, "base64");
    return Buffer.from(sha256(data)).toString("hex") === createHash("sha256").update(data).digest("hex");
  },
  /** An exported log, by its path or its text. */
  log: ({ path, text, keys }) => {
    const lines = (text ?? readFileSync(path, "utf8")).split("\n").filter(Boolean);
    return verifyLog(lines, { keys: keys.map(parseKey) });
  },
  /** Which of these reports the bytes of a frame contradict, by the text of a profile. */
  frame: ({ profile, raw, reports }) => {
    const read = parseProfile(profile);
    return reports.map((report) => contradiction({ raw, report }, read) !== null);
  },
  evidence: async ({ base64, key }) => {
    const data = Buffer.from(base64, "base64");
    if (!isEvidence(data)) return { code: 2 };
    const verdict = await verifyEvidence(data, [parseKey(key)]);
    return { code: verdict.ok ? 0 : 1, ...verdict };
  },
};

for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  if (!line) continue;
  const question = JSON.parse(line);
  console.log(JSON.stringify(await ANSWERS[question.ask](question)));
}
