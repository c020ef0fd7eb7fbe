#!/usr/bin/env node
/**
 * The command: node verifier/cli.mjs FILE --key PUB [--checkpoint F] [--witness PUB] [--json]
 *
 * FILE is evidence for a coup, or an exported log. Exit code 0: it verifies; 1: it does not, and the
 * place is named; 2: bad usage or input, in one line.
 */

import { createHash, webcrypto } from "node:crypto";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { isEvidence, verifyEvidence } from "./evidence.js";
import { isExport, verifyLog } from "./log.js";
import { parseCheckpoint, parseKey, splitCheckpoints } from "./note.js";
import { useNative } from "./sha256.js";

globalThis.crypto ??= webcrypto;
useNative((...parts) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
});

/** Bad usage or input. */
class Usage extends Error {}

/** @param {string} path @returns {Buffer} */
function read(path) {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Usage(`${path}: ${error.code}`);
  }
}

/** @param {string} given a key's line, or a file that holds one */
function readKey(given) {
  try {
    return parseKey(existsSync(given) ? readFileSync(given, "utf8") : given);
  } catch (error) {
    throw new Usage(`${given}: ${error.message}`);
  }
}

/** @param {string} path of checkpoints one behind the other */
function readCheckpoints(path) {
  try {
    return splitCheckpoints(read(path).toString("utf8")).map((text, i) => ({
      name: `${path}, checkpoint ${i + 1}`,
      checkpoint: parseCheckpoint(text),
    }));
  } catch (error) {
    throw error instanceof Usage ? error : new Usage(`${path}: ${error.message}`);
  }
}

/** @returns {{file: string, json: boolean, key: string[], checkpoint: string[], witness: string[]}} */
function usage() {
  const many = { type: "string", multiple: true, default: [] };
  const options = { key: many, checkpoint: many, witness: many, json: { type: "boolean", default: false } };
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (positionals.length !== 1) throw new Error("one FILE would be right");
    return { file: positionals[0], ...values };
  } catch (error) {
    throw new Usage(`${error.message}; node verifier/cli.mjs FILE --key PUB [--checkpoint F] [--witness PUB] [--json]`);
  }
}

/** @param {string} path @returns {string} its first bytes, to see what it is */
async function beginning(path) {
  for await (const chunk of createReadStream(path, { end: 4095 })) return chunk.toString("latin1");
  return "";
}

/** @returns {Promise<object>} the verdict */
async function verify({ file, key, checkpoint, witness }) {
  if (!existsSync(file)) throw new Usage(`${file}: no such file`);
  const keys = key.map(readKey);
  if (isExport(await beginning(file))) {
    const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity });
    return verifyLog(lines, { keys, kept: checkpoint.flatMap(readCheckpoints), witnesses: witness.map(readKey) });
  }
  const data = read(file);
  if (!isEvidence(data)) throw new Usage(`${file}: neither evidence nor an exported log`);
  if (!keys.length || checkpoint.length || witness.length) throw new Usage("evidence takes --key PUB alone: it holds its own checkpoint, and --checkpoint and --witness are for an exported log");
  return verifyEvidence(data, keys);
}

/** Print a verdict for people. */
function tell(file, verdict) {
  const { ok, part, reason, first_bad: position } = verdict;
  const where = part ? `${part}: ` : position === null || position === undefined ? "" : `position ${position}: `;
  console.log(ok ? `${file}: ok, ${verdict.coup ? `coup ${verdict.coup}, ` : ""}${verdict.events} events` : `${file}: NOT ok: ${where}${reason}`);
  if (ok && verdict.root) {
    console.log(`root ${verdict.root}`);
    console.log(`signed to ${verdict.signed_to} of ${verdict.events} by ${verdict.keys.join(", ") || "no key"}`);
    for (const { position, before, after } of verdict.hand_overs) {
      console.log(`at position ${position} the key ${before} handed over to ${after}`);
    }
    console.log(`${verdict.judged.settlements} settlements judged, ${verdict.judged.not_judged} without their rulebook`);
  }
  if (ok && verdict.expected) {
    const { player, banker, winner, staked, paid, commission } = verdict.expected;
    console.log(`Player ${player.join(" ")}\nBanker ${banker.join(" ")}\nResult ${winner ?? "void"}`);
    console.log(`staked ${staked}, paid ${paid}, commission ${commission}, in minor units`);
  }
}

try {
  const given = usage();
  const verdict = await verify(given);
  if (given.json) console.log(JSON.stringify(verdict));
  else tell(given.file, verdict);
  process.exitCode = verdict.ok ? 0 : 1;
} catch (error) {
  if (!(error instanceof Usage)) throw error;
  console.error(`verifier: ${error.message}`);
  process.exitCode = 2;
}
