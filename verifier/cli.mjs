#!/usr/bin/env node
/**
 * The command: node verifier/cli.mjs FILE --key PUB [--checkpoint F] [--json]
 *
 * FILE is evidence for a coup or an exported log. Exit code 0: it verifies; 1: it does not, and the
 * place is named; 2: bad usage or input.
 */

import { createHash, webcrypto } from "node:crypto";
import { existsSync, openSync, readFileSync, readSync } from "node:fs";
import { parseArgs } from "node:util";

import { isEvidence, verifyEvidence } from "./evidence.js";
import { parseKey } from "./note.js";

globalThis.crypto ??= webcrypto;

/** Bad usage or input: exit code 2. */
class Usage extends Error {}

/** @param {string} given a key's line, or a file that holds one */
function readKey(given) {
  const text = existsSync(given) ? readFileSync(given, "utf8") : given;
  try {
    return parseKey(text);
  } catch (error) {
    throw new Usage(`--key ${given}: ${error.message}`);
  }
}
