/**
 * C2SP signed notes, checkpoints and cosignatures, with Ed25519 by the platform's WebCrypto.
 *
 * https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint, https://c2sp.org/tlog-cosignature
 */

import { fromBase64, hex, utf8 } from "./bytes.js";
import { sha256 } from "./sha256.js";

const ED25519 = 1;
const COSIGNATURE = 4;
const MOST_SIGNATURES = 100;
const MOST_NAME = 200;
const NAME = /^[^+\s]+$/u;

/**
 * @typedef {{name: string, id: string, algorithm: number, key: Uint8Array, text: string}} Key
 * @typedef {{name: string, id: string, signature: Uint8Array}} Signature
 * @typedef {{text: string, signatures: Signature[]}} Note
 * @typedef {{origin: string, size: number, root: Uint8Array, note: Note}} Checkpoint
 */

/**
 * Read a public key as Go's `sumdb/note` writes it: name, id and base64 with plus signs between.
 * @param {string} line @returns {Key}
 */
export function parseKey(line) {
  const parts = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u.exec(line.trim());
  if (!parts) throw new Error("no public key: NAME+ID+BASE64 would be right");
  const [text, name, id, base64] = parts;
  const data = fromBase64(base64);
  if (data.length !== 33) throw new Error("no Ed25519 key: 33 bytes would be right");
  if (hex(sha256(utf8(`${name}\n`), data).subarray(0, 4)) !== id) {
    throw new Error("the key's id does not follow from its name and bytes");
  }
  if (data[0] !== ED25519 && data[0] !== COSIGNATURE) throw new Error("no Ed25519 key");
  return { name, id, algorithm: data[0], key: data.subarray(1), text };
}

/** @param {string} line @returns {Signature} */
function parseSignature(line) {
  const parts = /^\u2014 (\S+) ([A-Za-z0-9+/=]+)$/u.exec(line);
  if (!parts || !NAME.test(parts[1]) || parts[1].length > MOST_NAME) throw new Error("no signature line");
  const data = fromBase64(parts[2]);
  if (data.length < 5) throw new Error("no signature line");
  return { name: parts[1], id: hex(data.subarray(0, 4)), signature: data.subarray(4) };
}

/** @param {string} whole @returns {Note} */
export function parseNote(whole) {
  const split = whole.lastIndexOf("\n\n");
  if (split < 0 || !whole.endsWith("\n")) throw new Error("no signed note");
  const lines = whole.slice(split + 2, -1).split("\n");
  if (lines.length > MOST_SIGNATURES) throw new Error("too many signatures");
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0009\u000b-\u001f\u007f]/.test(whole)) throw new Error("a note with control characters");
  return { text: whole.slice(0, split + 1), signatures: lines.map(parseSignature) };
}

/** @param {string} whole @returns {Checkpoint} */
export function parseCheckpoint(whole) {
  const note = parseNote(whole);
  const [origin, size, root, ...more] = note.text.slice(0, -1).split("\n");
  if (!origin || !/^(0|[1-9][0-9]{0,15})$/.test(size ?? "") || root === undefined || more.includes("")) {
    throw new Error("no checkpoint: origin, size and root would be right");
  }
  const hash = fromBase64(root);
  if (hash.length !== 32 || Number(size) > Number.MAX_SAFE_INTEGER) throw new Error("no checkpoint");
  return { origin, size: Number(size), root: hash, note };
}

/**
 * Split a file in which checkpoints stand one behind the other.
 * @param {string} text @returns {string[]} each with its signatures
 */
export function splitCheckpoints(text) {
  const found = [];
  let lines = [];
  let signed = false;
  for (const line of text.split("\n")) {
    if (signed && !line.startsWith("\u2014 ")) {
      found.push(`${lines.join("\n")}\n`);
      lines = [];
      signed = false;
      if (line === "") continue;
    }
    lines.push(line);
    signed = line.startsWith("\u2014 ");
  }
  if (lines.some((line) => line !== "")) found.push(`${lines.join("\n")}\n`);
  return found;
}

/** @returns {boolean} whether this platform gives WebCrypto here; a browser does not on plain HTTP */
export function canVerify() {
  return Boolean(globalThis.crypto?.subtle);
}

/** @param {Key} key @param {string} origin @returns {boolean} false for a key that is named after another table */
export function isBoundTo(key, origin) {
  if (!/^[a-z0-9_-]+\/[a-z0-9_-]+$/.test(key.name) || key.name === origin) return true;
  return key.name.startsWith(`${origin}-`) && /^[0-9]+$/.test(key.name.slice(origin.length + 1));
}

/** @param {Key} key @param {Uint8Array} message @param {Uint8Array} signature */
async function isSigned(key, message, signature) {
  if (signature.length !== 64) return false;
  const { subtle } = globalThis.crypto;
  const imported = await subtle.importKey("raw", key.key, { name: "Ed25519" }, false, ["verify"]);
  return subtle.verify({ name: "Ed25519" }, imported, signature, message);
}

/**
 * @param {Note} note @param {Key} key a table's
 * @returns {Promise<boolean|null>} null where the key has no line in the note
 */
export async function isSignedBy(note, key) {
  const lines = note.signatures.filter(({ name, id }) => name === key.name && id === key.id);
  if (!lines.length) return null;
  for (const { signature } of lines) {
    if (!(await isSigned(key, utf8(note.text), signature))) return false;
  }
  return true;
}

/**
 * @param {Note} note @param {Key} key a witness's
 * @returns {Promise<number|null>} the time of its cosignature in seconds; null where there is none
 */
export async function cosignedAt(note, key) {
  for (const { name, id, signature } of note.signatures) {
    if (name !== key.name || id !== key.id || signature.length !== 72) continue;
    const seconds = new DataView(signature.slice(0, 8).buffer).getBigUint64(0);
    const message = utf8(`cosignature/v1\ntime ${seconds}\n${note.text}`);
    if (await isSigned(key, message, signature.subarray(8))) return Number(seconds);
  }
  return null;
}
