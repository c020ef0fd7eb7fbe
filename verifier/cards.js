/**
 * Cards, the draw table and the outcome of a coup (seed 2, tables of play; docs/reference/rules.md).
 */

export const RANKS = "A23456789TJQK";
export const SUITS = "SHDC";
const RED = "HD";

/** @param {string} text @returns {string} the card, rank first; throws where it is none */
export function parseCard(text) {
  const card = text.replace(/^10/, "T");
  if (card.length !== 2 || !RANKS.includes(card[0]) || !SUITS.includes(card[1])) throw new Error(`no card: ${text}`);
  return card;
}

/** @param {string} card @returns {number} its points: an ace 1, a ten or a court card 0 */
export function points(card) {
  const rank = RANKS.indexOf(card[0]) + 1;
  return rank > 9 ? 0 : rank;
}

/** @param {string[]} cards @returns {number} the last digit of the sum of their points */
export function total(cards) {
  return cards.reduce((sum, card) => sum + points(card), 0) % 10;
}

/** @param {string} card @returns {boolean} hearts or diamonds */
export function isRed(card) {
  return RED.includes(card[1]);
}

/** Banker's draw by its own two-card total, where Player drew: the points of Player's third card. */
export const BANKER_DRAWS_ON = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  [0, 1, 2, 3, 4, 5, 6, 7, 9],
  [2, 3, 4, 5, 6, 7],
  [4, 5, 6, 7],
  [6, 7],
  [],
];

/**
 * Say which hand the next card belongs to.
 * @param {string[]} player @param {string[]} banker cards as they lie
 * @returns {"player"|"banker"|null} null when the deal is complete
 */
export function nextHand(player, banker) {
  const dealt = player.length + banker.length;
  if (dealt < 4) return dealt % 2 ? "banker" : "player";
  const [ours, theirs] = [total(player.slice(0, 2)), total(banker.slice(0, 2))];
  if (ours > 7 || theirs > 7) return null;
  if (player.length === 2 && banker.length === 2 && ours < 6) return "player";
  if (banker.length === 3) return null;
  if (player.length === 2) return theirs < 6 ? "banker" : null;
  return BANKER_DRAWS_ON[theirs].includes(points(player[2])) ? "banker" : null;
}

/**
 * Lay a row of cards, in dealing order, by the draw table.
 * @param {string[]} cards
 * @returns {{player: string[], banker: string[], left: string[], complete: boolean}}
 */
export function deal(cards) {
  const hands = { player: [], banker: [] };
  let laid = 0;
  for (let hand = nextHand([], []); hand && laid < cards.length; laid += 1) {
    hands[hand].push(cards[laid]);
    hand = nextHand(hands.player, hands.banker);
  }
  return { ...hands, left: cards.slice(laid), complete: isComplete(hands.player, hands.banker) };
}

/** @param {string[]} player @param {string[]} banker @returns {boolean} whether no card is due */
export function isComplete(player, banker) {
  return player.length > 1 && banker.length > 1 && nextHand(player, banker) === null;
}

/** @param {string[]} player @param {string[]} banker @returns {boolean} whether each card was due */
export function fitsDrawTable(player, banker) {
  const row = [player[0], banker[0], player[1], banker[1], player[2], banker[2]].filter(Boolean);
  const laid = deal(row);
  return laid.complete && !laid.left.length && laid.player.length === player.length && laid.banker.length === banker.length;
}

/**
 * @param {string[]} player @param {string[]} banker complete hands
 * @returns {{player_total: number, banker_total: number, natural: boolean, winner: string}}
 */
export function outcome(player, banker) {
  const [ours, theirs] = [total(player), total(banker)];
  return {
    player_total: ours,
    banker_total: theirs,
    natural: total(player.slice(0, 2)) > 7 || total(banker.slice(0, 2)) > 7,
    winner: ours > theirs ? "player" : ours < theirs ? "banker" : "tie",
  };
}
