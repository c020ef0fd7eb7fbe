/**
 * One recorded frame, taken apart by its wire profile: stuffing, delimiters, length, check and
 * number (docs/shoe/profiles.md, "One frame by itself"). What is left is the content that codes explain.
 */

import { fromHex, sameBytes, utf8 } from "./bytes.js";

/** Bytes that the profile gives no meaning to. */
export class Unknown extends Error {}

/** @param {boolean} holds */
export function must(holds) {
  if (!holds) throw new Unknown("no such report");
}

/** Whether it is reflected, polynomial, start, and what is XORed at the end, as the catalogue of CRCs has them. */
const CRCS = Object.fromEntries(
  `crc8-smbus - 07 00 00, crc8-maxim r 31 00 00, crc8-autosar - 2F FF FF, crc8-bluetooth r A7 00 00, crc8-cdma2000 - 9B FF 00, crc8-darc r 39 00 00, crc8-dvb-s2 - D5 00 00,
  crc8-gsm-a - 1D 00 00, crc8-gsm-b - 49 00 FF, crc8-hitag - 1D FF 00, crc8-itu - 07 00 55, crc8-i-code - 1D FD 00, crc8-lte - 9B 00 00, crc8-mifare-mad - 1D C7 00,
  crc8-nrsc-5 - 31 FF 00, crc8-opensafety - 2F 00 00, crc8-rohc r 07 FF 00, crc8-j1850 - 1D FF FF, crc8-tech-3250 r 1D FF 00, crc8-wcdma r 9B 00 00, crc16-ccitt-false - 1021 FFFF 0000,
  crc16-xmodem - 1021 0000 0000, crc16-modbus r 8005 FFFF 0000, crc16-arc r 8005 0000 0000, crc16-kermit r 1021 0000 0000, crc16-x25 r 1021 FFFF FFFF, crc16-usb r 8005 FFFF FFFF,
  crc16-maxim r 8005 0000 FFFF, crc16-dnp r 3D65 0000 FFFF, crc16-buypass - 8005 0000 0000, crc16-genibus - 1021 FFFF FFFF, crc16-aug-ccitt - 1021 1D0F 0000,
  crc16-mcrf4xx r 1021 FFFF 0000, crc16-cdma2000 - C867 FFFF 0000, crc16-cms - 8005 FFFF 0000, crc16-dds-110 - 8005 800D 0000, crc16-dect-r - 0589 0000 0001,
  crc16-dect-x - 0589 0000 0000, crc16-en-13757 - 3D65 0000 FFFF, crc16-gsm - 1021 0000 FFFF, crc16-a r 1021 C6C6 0000, crc16-lj1200 - 6F63 0000 0000, crc16-m17 - 5935 FFFF 0000,
  crc16-nrsc-5 r 080B FFFF 0000, crc16-opensafety-a - 5935 0000 0000, crc16-opensafety-b - 755B 0000 0000, crc16-profibus - 1DCF FFFF FFFF, crc16-riello r 1021 B2AA 0000,
  crc16-t10-dif - 8BB7 0000 0000, crc16-teledisk - A097 0000 0000, crc16-tms37157 r 1021 89EC 0000, crc32-iso-hdlc r 04C11DB7 FFFFFFFF FFFFFFFF, crc32-bzip2 - 04C11DB7 FFFFFFFF FFFFFFFF,
  crc32-mpeg-2 - 04C11DB7 FFFFFFFF 0, crc32-cksum - 04C11DB7 0 FFFFFFFF, crc32-jamcrc r 04C11DB7 FFFFFFFF 0, crc32-castagnoli r 1EDC6F41 FFFFFFFF FFFFFFFF,
  crc32-base91-d r A833982B FFFFFFFF FFFFFFFF, crc32-aixm - 814141AB 0 0, crc32-autosar r F4ACFB13 FFFFFFFF FFFFFFFF, crc32-cd-rom-edc r 8001801B 0 0, crc32-mef r 741B8CD7 FFFFFFFF 0,
  crc32-xfer - 000000AF 0 0`
    .split(/,\s+/)
    .map((row) => row.split(" "))
    .map(([name, reflected, ...numbers]) => [name, [reflected === "r", ...numbers.map((one) => parseInt(one, 16))]]),
);

/** @param {Uint8Array} data @param {number} width in bits @param {Array} parameters @returns {number} */
function crc(data, width, [reflected, polynomial, start, out]) {
  const top = 2 ** (width - 1);
  let sum = start;
  for (const byte of data) {
    for (let bit = 0; bit < 8; bit += 1) {
      const over = sum >= top !== Boolean((byte >> (reflected ? bit : 7 - bit)) & 1);
      sum = ((sum % top) * 2 ^ (over ? polynomial : 0)) >>> 0;
    }
  }
  if (reflected) sum = parseInt([...sum.toString(2).padStart(width, "0")].reverse().join(""), 2);
  return (sum ^ out) >>> 0;
}

/** By kind: how many bytes it has, and what they are. */
const CHECKS = {
  none: [0, () => 0],
  sum8: [1, (data) => data.reduce((all, byte) => (all + byte) & 255, 0)],
  xor8: [1, (data) => data.reduce((all, byte) => all ^ byte, 0)],
  lrc: [1, (data) => data.reduce((all, byte) => (all - byte) & 255, 0)],
};
for (const [name, parameters] of Object.entries(CRCS)) {
  const size = Number(/^crc(\d+)/.exec(name)[1]) / 8;
  CHECKS[name] = [size, (data) => crc(data, 8 * size, parameters)];
}
const USUAL = { crc8: "smbus", crc32: "iso-hdlc" };

/** @param {object} check of a profile @returns {[number, Function]|undefined} undefined where it is not known here */
function checkOf({ kind, variant }) {
  return CHECKS[kind in USUAL ? `${kind}-${variant || USUAL[kind]}` : kind];
}

/** @param {Uint8Array} bytes @param {string} [order] @returns {number} */
export function valueOf(bytes, order = "big") {
  return (order === "little" ? [...bytes].reverse() : [...bytes]).reduce((all, byte) => all * 256 + byte, 0);
}

/** @param {Uint8Array} data COBS without its zeros @returns {Uint8Array} */
function unstuff(data) {
  const out = [];
  for (let at = 0; at < data.length; ) {
    const run = data[at];
    must(run > 0 && at + run <= data.length);
    out.push(...data.subarray(at + 1, at + run));
    at += run;
    if (run < 255 && at < data.length) out.push(0);
  }
  return Uint8Array.from(out);
}

/** @param {Uint8Array} data SLIP without its delimiters @returns {Uint8Array} */
function unescape(data) {
  const out = [];
  for (let at = 0; at < data.length; at += 1) {
    const escaped = data[at] === 0xdb ? { 0xdc: 0xc0, 0xdd: 0xdb }[data[(at += 1)]] : data[at];
    must(escaped !== undefined);
    out.push(escaped);
  }
  return Uint8Array.from(out);
}

/** How a framer's recorded bytes become the frame. */
const FRAMERS = { delimited: null, line: null, length: null, fixed: null, cobs: unstuff, slip: unescape };

/** @param {object} profile of form 2 @returns {boolean} whether its frames can be read here */
export function isReadable({ framer, check = { kind: "none" } }) {
  return framer?.kind in FRAMERS && checkOf(check) !== undefined;
}

/** @param {string[]} shape of the content, byte by byte @param {Uint8Array} content */
function fitShape(shape, content) {
  const many = shape.at(-1).endsWith("*");
  must(many ? content.length >= shape.length - 1 : content.length === shape.length);
  content.forEach((byte, i) => {
    const ranges = shape[Math.min(i, shape.length - 1)].replace("*", "").split(",");
    must(ranges.map((one) => one.split("-").map((end) => parseInt(end, 16))).some(([low, high = low]) => byte >= low && byte <= high));
  });
}

/** The number of a report must be one, whichever it is. */
function checkNumber({ base, width, at = 0, field, separator = ",", digits }, content) {
  if (base === 256) return must(content.length >= at + width);
  const text = String.fromCharCode(...content);
  const told = field === undefined ? text.slice(at, at + width) : text.split(separator)[field] ?? "";
  const allowed = (digits || "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ").slice(0, base);
  must(told.length <= width && told.length >= (field === undefined ? width : 1) && [...told].every((digit) => allowed.includes(digit)));
}

/**
 * @param {Uint8Array} raw as recorded
 * @param {object} profile of form 2
 * @returns {Uint8Array} the content, without delimiters and check; throws `Unknown` where it is no valid frame
 */
export function contentOf(raw, { framer, check = { kind: "none" }, number }) {
  const frame = FRAMERS[framer.kind]?.(raw) ?? raw;
  const isLine = framer.kind === "line";
  const start = isLine ? utf8(framer.prefix ?? "") : fromHex(framer.start ?? "");
  const end = isLine ? utf8(framer.suffix ?? "") : fromHex(framer.end ?? "");
  const [bytes, sumOf] = checkOf(check);
  const size = bytes * (check.hex ? 2 : 1);
  const close = frame.length - size - end.length;
  const [checkAt, endAt] = check.after_end ? [close + end.length, close] : [close, close + size];
  must(close >= start.length && frame.length <= framer.most);
  must(sameBytes(frame.subarray(0, start.length), start) && sameBytes(frame.subarray(endAt, endAt + end.length), end));
  if (framer.kind === "fixed") must(frame.length === framer.size);
  if (framer.kind === "length" || framer.adds) {
    const { at = 0, width = 1, order, adds } = framer;
    must(valueOf(frame.subarray(start.length + at, start.length + at + width), order) === frame.length - adds);
  }
  const span = frame.subarray((check.start ? 0 : start.length) + (check.skip ?? 0), checkAt - (check.drop ?? 0));
  const told = frame.subarray(checkAt, checkAt + size);
  if (check.hex) {
    const sum = sumOf(span).toString(16).padStart(size, "0");
    must(String.fromCharCode(...told) === (check.lower ? sum : sum.toUpperCase()));
  } else must(valueOf(told, check.order) === sumOf(span));
  const content = frame.subarray(start.length, close);
  if (isLine) must(content.every((byte) => byte > 31 && byte < 127));
  if (framer.shape?.length) fitShape(framer.shape, content);
  if (number) checkNumber(number, content);
  return content;
}
