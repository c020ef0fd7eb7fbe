/**
 * The RFC 6962 tree over a log's stored bytes: roots and inclusion proofs.
 */

import { sameBytes } from "./bytes.js";
import { sha256 } from "./sha256.js";

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/** @param {Uint8Array} data the stored bytes @returns {Uint8Array} */
export function leafHash(data) {
  return sha256(LEAF, data);
}

/** @param {Uint8Array} left @param {Uint8Array} right @returns {Uint8Array} */
function nodeHash(left, right) {
  return sha256(NODE, left, right);
}

/** The peaks of a growing tree: one hash for each bit of its size. */
export class Tree {
  constructor() {
    /** @type {{height: number, hash: Uint8Array}[]} */
    this.peaks = [];
    this.size = 0;
  }

  /** @param {Uint8Array} data the stored bytes of the next event */
  add(data) {
    let peak = { height: 0, hash: leafHash(data) };
    while (this.peaks.length && this.peaks.at(-1).height === peak.height) {
      const left = this.peaks.pop();
      peak = { height: peak.height + 1, hash: nodeHash(left.hash, peak.hash) };
    }
    this.peaks.push(peak);
    this.size += 1;
  }

  /** @returns {Uint8Array} the root over all that was added; of nothing, the hash of nothing */
  root() {
    if (!this.peaks.length) return sha256();
    return this.peaks.map((peak) => peak.hash).reduceRight((right, left) => nodeHash(left, right));
  }
}

/**
 * Compute the root that an inclusion proof leads to (RFC 9162, 2.1.3.2).
 * @param {Uint8Array} leaf the leaf's hash
 * @param {number} index from 0
 * @param {number} size of the tree
 * @param {Uint8Array[]} proof
 * @returns {Uint8Array|null} null where the proof has another length than it must have
 */
export function rootByProof(leaf, index, size, proof) {
  if (index < 0 || index >= size) return null;
  let position = index;
  let last = size - 1;
  let hash = leaf;
  for (const step of proof) {
    if (last === 0) return null;
    if (position % 2 || position === last) {
      hash = nodeHash(step, hash);
      while (position % 2 === 0 && position !== 0) {
        position = Math.floor(position / 2);
        last = Math.floor(last / 2);
      }
    } else {
      hash = nodeHash(hash, step);
    }
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? hash : null;
}

/**
 * @param {Uint8Array} data the stored bytes @param {number} position from 1
 * @param {number} size @param {Uint8Array[]} proof @param {Uint8Array} root
 * @returns {boolean} whether the event stands at its position under the root
 */
export function isIncluded(data, position, size, proof, root) {
  const reached = rootByProof(leafHash(data), position - 1, size, proof);
  return reached !== null && sameBytes(reached, root);
}
