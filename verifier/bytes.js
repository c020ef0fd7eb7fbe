/**
 * Bytes and their texts: UTF-8, hex and base64. Wrong texts throw; nothing is guessed.
 */

const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const ENCODER = new TextEncoder();
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** @param {string} text @returns {Uint8Array} its UTF-8 */
export function utf8(text) {
  return ENCODER.encode(text);
}

/** @param {Uint8Array} data @returns {string} throws where it is no UTF-8 */
export function textOf(data) {
  return DECODER.decode(data);
}

/** @param {Uint8Array} data @returns {string} lower-case hex */
export function hex(data) {
  let text = "";
  for (let i = 0; i < data.length; i += 1) text += HEX[data[i]];
  return text;
}

/** @param {string} text hex digits, an even number of them @returns {Uint8Array} */
export function fromHex(text) {
  if (text.length % 2 || !/^[0-9a-fA-F]*$/.test(text)) throw new Error("no hex digits");
  return Uint8Array.from({ length: text.length / 2 }, (_, i) =>
    parseInt(text.slice(2 * i, 2 * i + 2), 16),
  );
}

/** @param {string} text standard base64 with padding @returns {Uint8Array} */
export function fromBase64(text) {
  if (text.length % 4 || /[^A-Za-z0-9+/=]/.test(text)) throw new Error("no base64");
  const binary = atob(text);
  const data = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) data[i] = binary.charCodeAt(i);
  const tail = text.endsWith("=") ? text.slice(-4) : "";
  if (toBase64(data.subarray(data.length - (data.length % 3))) !== tail) throw new Error("base64 with stray bits");
  return data;
}

/** @param {Uint8Array} data @returns {string} standard base64 with padding */
export function toBase64(data) {
  let binary = "";
  for (const byte of data) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** @param {...Uint8Array} parts @returns {Uint8Array} */
export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @param {Uint8Array} one @param {Uint8Array} other @returns {boolean} the same bytes */
export function sameBytes(one, other) {
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

/** @param {number} value a whole number below 2^53 @returns {Uint8Array} eight bytes, big-endian */
export function uint64(value) {
  const data = new Uint8Array(8);
  new DataView(data.buffer).setBigUint64(0, BigInt(value));
  return data;
}
