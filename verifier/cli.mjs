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
import { getSystemErrorMap, parseArgs } from "node:util";

import { isEvidence, verifyEvidence } from "./evidence.js";
import { isExport, verifyLog } from "./log.js";
import { parseCheckpoint, parseKey, splitCheckpoints } from "./note.js";
import { useNative } from "./sha256.js";

globalThis.crypto ??= webcrypto;
useNative((...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest());

/** Bad usage or input. */
class Usage extends Error {}

/** @param {Error} error @returns {string} what is wrong, in words */
function reason(error) {
  return error.syscall ? getSystemErrorMap().get(error.errno)[1] : error.message;
}

/** @param {string} option @param {string} right what it takes @param {Function} parse its values @returns {Function} */
function reader(option, right, parse) {
  return (given) => {
    try {
      return parse(given);
    } catch (error) {
      throw new Usage(`--${option} ${given}: ${reason(error)}; name ${right}`);
    }
  };
}

/** @param {string} option @param {string[]} given keys' lines, or files that hold one each */
function readKeys(option, given) {
  return given.map(reader(option, "a public key or its file", (one) => parseKey(existsSync(one) ? readFileSync(one, "utf8") : one)));
}

/** @param {string} path of checkpoints one behind the other */
function readCheckpoints(path) {
  const texts = splitCheckpoints(readFileSync(path, "utf8"));
  if (!texts.length) throw new Error("empty");
  return texts.map((text, i) => ({ name: `${path}, checkpoint ${i + 1}`, checkpoint: parseCheckpoint(text) }));
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

/** @param {string} path @returns {Promise<string>} its first bytes, to see what it is */
async function beginning(path) {
  for await (const chunk of createReadStream(path, { end: 4095 })) return chunk.toString("latin1");
  return "";
}

/** @returns {Promise<object>} the verdict */
async function verify({ file, key, checkpoint, witness }) {
  const keys = readKeys("key", key);
  if (isExport(await beginning(file))) {
    const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity });
    const kept = checkpoint.flatMap(reader("checkpoint", "a file of checkpoints", readCheckpoints));
    return verifyLog(lines, { keys, kept, witnesses: readKeys("witness", witness) });
  }
  const data = readFileSync(file);
  if (!isEvidence(data)) throw new Usage(`${file}: neither evidence nor an exported log`);
  if (!keys.length || checkpoint.length || witness.length) throw new Usage("evidence takes --key PUB alone: it holds its own checkpoint, and --checkpoint and --witness are for an exported log");
  return verifyEvidence(data, keys);
}

/** @returns {string[]} a verdict for people, in lines */
function told(file, verdict) {
  const { ok, part, reason, first_bad: position } = verdict;
  const where = part ? `${part}: ` : position === null || position === undefined ? "" : `position ${position}: `;
  if (!ok) return [`${file}: NOT ok: ${where}${reason}`];
  const lines = [`${file}: ok, ${verdict.coup ? `coup ${verdict.coup}, ` : ""}${verdict.events} events`];
  if (verdict.root) {
    lines.push(`root ${verdict.root}`);
    lines.push(`signed to ${verdict.signed_to} of ${verdict.events} by ${verdict.keys.join(", ") || "no key"}`);
    for (const { position, before, after } of verdict.hand_overs) {
      lines.push(`at position ${position} the key ${before} handed over to ${after}`);
    }
    lines.push(`${verdict.judged.settlements} settlements judged, ${verdict.judged.not_judged} without their rulebook`);
  }
  for (const { id, hash } of verdict.rulebooks ?? []) lines.push(`rulebook ${id}, SHA-256 ${hash}: compare it with the one that you trust`);
  if (verdict.expected) {
    const { player, banker, winner, staked, paid, commission } = verdict.expected;
    lines.push(`Player ${player.join(" ")}`, `Banker ${banker.join(" ")}`, `Result ${winner ?? "void"}`);
    lines.push(`staked ${staked}, paid ${paid}, commission ${commission}, in minor units`);
  }
  return lines;
}

/** Write lines to standard output; a verdict that nobody can read is no verdict. */
async function print(lines) {
  process.stdout.on("error", () => {}); // the callback gets it too
  const error = await new Promise((done) => process.stdout.write(`${lines.join("\n")}\n`, done));
  if (error) throw new Usage(`standard output: ${reason(error)}; the verdict needs somewhere to go`);
}

try {
  const given = usage();
  const verdict = await verify(given).catch((error) => {
    throw error.syscall ? new Usage(`${given.file}: ${reason(error)}; name evidence for a coup or an exported log`) : error;
  });
  await print(given.json ? [JSON.stringify(verdict)] : told(given.file, verdict));
  process.exitCode = verdict.ok ? 0 : 1;
} catch (error) {
  if (!(error instanceof Usage)) throw error;
  console.error(`verifier: ${error.message}`);
  process.exitCode = 2;
}
