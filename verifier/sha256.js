/**
 * SHA-256 (FIPS 180-4), synchronous, so that a million events need no million promises.
 *
 * WebCrypto digests are asynchronous. The suite compares this one with the platform's.
 */

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const K = new Int32Array(64);
/** The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
const START = new Int32Array(8);

for (let n = 2, found = 0; found < 64; n += 1) {
  let prime = true;
  for (let d = 2; d * d <= n; d += 1) if (n % d === 0) prime = false;
  if (!prime) continue;
  if (found < 8) START[found] = rootBits(n, 2n);
  K[found] = rootBits(n, 3n);
  found += 1;
}

/** @param {number} n @param {bigint} degree @returns {number} 32 bits behind the root's point */
function rootBits(n, degree) {
  const target = BigInt(n) << (32n * degree);
  let low = 0n;
  let high = 1n << 40n;
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (middle ** degree <= target) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn) | 0;
}

const schedule = new Int32Array(64);

/**
 * Take one block of 64 bytes into `state`.
 * @param {Int32Array} state @param {Uint8Array} data @param {number} at
 */
function compress(state, data, at) {
  const w = schedule;
  for (let i = 0, j = at; i < 16; i += 1, j += 4) {
    w[i] = (data[j] << 24) | (data[j + 1] << 16) | (data[j + 2] << 8) | data[j + 3];
  }
  for (let i = 16; i < 64; i += 1) {
    const x = w[i - 15];
    const y = w[i - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
}

let digest = (...parts) => {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const padded = new Uint8Array((((length + 8) >> 6) + 1) << 6);
  let at = 0;
  for (const part of parts) {
    padded.set(part, at);
    at += part.length;
  }
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(length / 0x20000000));
  view.setUint32(padded.length - 4, (length << 3) >>> 0);
  const state = START.slice();
  for (let block = 0; block < padded.length; block += 64) compress(state, padded, block);
  const hash = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => hash.setInt32(4 * i, word));
  return new Uint8Array(hash.buffer);
};

/** @param {...Uint8Array} parts @returns {Uint8Array} the hash of the parts in their order */
export function sha256(...parts) {
  return digest(...parts);
}

/** Let a platform's own SHA-256 hash from here on. @param {(...parts: Uint8Array[]) => Uint8Array} native */
export function useNative(native) {
  digest = native;
}
