/**
 * Exact odds of the wagers that points and numbers of cards decide: every ordered deal is counted.
 *
 * Counts of eight decks stay below 2^53, so plain numbers hold them; shares are fractions of BigInt.
 */

import { BANKER_DRAWS_ON } from "./cards.js";
import { reduce } from "./rulebook.js";
import { COUP_JUDGES, judge } from "./wagers.js";

const SUITS_MATTER = ["lucky8_player", "lucky8_banker"];

/** A card of each number of points; suits do not matter here. */
const CARD = ["T", "A", "2", "3", "4", "5", "6", "7", "8", "9"].map((rank) => `${rank}S`);

/** @param {number} decks @returns {number[]} cards of a full shoe by points */
function fullShoe(decks) {
  return Array.from({ length: 10 }, (_, point) => (point === 0 ? 16 : 4) * decks);
}

/**
 * Call `visit` for each way the coup can come out, with the number of ordered six-card deals.
 * @param {number} decks
 * @param {(player: number[], banker: number[], count: number) => void} visit points of each card
 */
export function everyCoup(decks, visit) {
  const left = fullShoe(decks);
  const cards = 52 * decks;
  const take = (ways, then) => {
    for (let point = 0; point < 10; point += 1) {
      const count = left[point];
      if (!count) continue;
      left[point] -= 1;
      then(point, ways * count);
      left[point] += 1;
    }
  };
  const four = (player, banker, ways) => {
    const [ours, theirs] = [(player[0] + player[1]) % 10, (banker[0] + banker[1]) % 10];
    const done = (p, b, w, used) => visit(p, b, used === 4 ? w * (cards - 4) * (cards - 5) : used === 5 ? w * (cards - 5) : w);
    if (ours > 7 || theirs > 7) return done(player, banker, ways, 4);
    if (ours > 5) {
      if (theirs > 5) return done(player, banker, ways, 4);
      return take(ways, (point, w) => done(player, [...banker, point], w, 5));
    }
    return take(ways, (third, w) => {
      const hand = [...player, third];
      if (!BANKER_DRAWS_ON[theirs].includes(third)) return done(hand, banker, w, 5);
      return take(w, (point, more) => done(hand, [...banker, point], more, 6));
    });
  };
  take(1, (p1, w1) => take(w1, (b1, w2) => take(w2, (p2, w3) => take(w3, (b2, w4) => four([p1, p2], [b1, b2], w4)))));
}

const sum = (hand) => hand.reduce((all, point) => all + point, 0) % 10;

/** @param {number[]} player @param {number[]} banker points @returns {object} a coup for the judges */
function coupOf(player, banker) {
  const [ours, theirs] = [sum(player), sum(banker)];
  return {
    hands: { player: player.map((point) => CARD[point]), banker: banker.map((point) => CARD[point]) },
    player_total: ours,
    banker_total: theirs,
    natural: sum(player.slice(0, 2)) > 7 || sum(banker.slice(0, 2)) > 7,
    winner: ours > theirs ? "player" : ours < theirs ? "banker" : "tie",
  };
}

/** What decides a coup of these wagers, in a text; few differ, so each is judged once. */
function keyOf(player, banker) {
  return [player.length, banker.length, sum(player), sum(banker), sum(player.slice(0, 2)), sum(banker.slice(0, 2))].join();
}

/** @param {object} rules a rulebook @param {string} bet @param {string} category @returns {{num: bigint, den: bigint}} to one, net */
function worth(rules, bet, category) {
  const odds = rules.bets[bet].pays[category];
  if (odds === "push" || (odds === undefined && category === "push")) return { num: 0n, den: 1n };
  if (odds === undefined) return { num: -1n, den: 1n };
  if (!rules.bets[bet].commission || !rules.commission) return odds;
  const { rate } = rules.commission;
  return reduce(odds.num * (rate.den - rate.num), odds.den * rate.den);
}

const asText = ({ num, den }) => `${num}/${den}`;

/**
 * @param {import("./rulebook.js").Rulebook} rules @param {number} [decks]
 * @returns {Object<string, {edge: string, categories: Object<string, {pays: string, probability: string}>}>}
 */
export function exactOdds(rules, decks = rules.decks) {
  const counts = new Map();
  const example = new Map();
  let all = 0n;
  everyCoup(decks, (player, banker, count) => {
    const key = keyOf(player, banker);
    counts.set(key, (counts.get(key) ?? 0) + count);
    if (!example.has(key)) example.set(key, coupOf(player, banker));
  });
  for (const count of counts.values()) all += BigInt(count);
  const bets = Object.keys(rules.bets).filter((bet) => bet in COUP_JUDGES && !SUITS_MATTER.includes(bet));
  return Object.fromEntries(bets.map((bet) => [bet, oddsOf(rules, bet, counts, example, all)]));
}

/** @returns {{edge: string, categories: object}} of one wager */
function oddsOf(rules, bet, counts, example, all) {
  const ways = {};
  for (const [key, count] of counts) {
    const category = judge(bet, rules.bets[bet], example.get(key));
    ways[category] = (ways[category] ?? 0n) + BigInt(count);
  }
  let kept = { num: 0n, den: 1n };
  const categories = {};
  for (const [category, count] of Object.entries(ways)) {
    const pays = worth(rules, bet, category);
    kept = reduce(kept.num * pays.den * all - pays.num * count * kept.den, kept.den * pays.den * all);
    categories[category] = { pays: asText(pays), probability: asText(reduce(count, all)) };
  }
  return { edge: asText(kept), categories };
}
