/**
 * What each kind of wager comes to: its judges, by the printed rules (docs/reference/rules.md).
 *
 * A judge answers with the category of the pay schedule, "push" or "lose". The schedule is data.
 */

import { isRed, total } from "./cards.js";

/**
 * @typedef {{player: string[], banker: string[]}} Hands
 * @typedef {{hands: Hands, natural: boolean, winner: string, player_total: number, banker_total: number}} Coup
 */

const other = { player: "banker", banker: "player" };
const isPair = (cards) => cards[0][0] === cards[1][0];
const isPerfect = (cards) => cards[0] === cards[1];
const sameSuit = (cards) => cards.every((card) => card[1] === cards[0][1]);
const bankerSix = (coup) => coup.winner === "banker" && coup.banker_total === 6;

/** @param {string[]} cards the first two of a hand @returns {string} */
function pairClass(cards) {
  if (!isPair(cards)) return "lose";
  if (isPerfect(cards)) return "perfect";
  return isRed(cards[0]) === isRed(cards[1]) ? "coloured" : "mixed";
}

/** @param {Hands} hands @param {string} variant @returns {string} */
function perfectPairs(hands, variant) {
  const order = ["lose", "mixed", "coloured", "perfect"];
  const judged = (variant === "both" ? ["player", "banker"] : [variant]).map((hand) => pairClass(hands[hand]));
  return order[Math.max(...judged.map((name) => order.indexOf(name)))];
}

/** @param {Hands} hands @returns {string} */
function tigerPair({ player, banker }) {
  if (isPair(player) && isPair(banker)) return player[0][0] === banker[0][0] ? "twin" : "double";
  return isPair(player) || isPair(banker) ? "single" : "lose";
}

/** @param {Hands} hands @returns {string} */
function perfectPairEither({ player, banker }) {
  if (isPerfect(player) && isPerfect(banker)) return "both";
  return isPerfect(player) || isPerfect(banker) ? "one" : "lose";
}

/** Which suits a Double Suited 8 asks for beside three cards in each hand. */
const DOUBLE_SUITED = {
  each_hand: (own, others) => sameSuit(own) && sameSuit(others),
  all_six: (own, others) => sameSuit([...own, ...others]),
  bet_hand: (own) => sameSuit(own),
  no_suit: () => true,
};

/** @param {Coup} coup @param {"player"|"banker"} hand @param {string} variant @returns {string} */
function lucky8(coup, hand, variant) {
  const [own, others] = [coup.hands[hand], coup.hands[other[hand]]];
  if (total(own) !== 8) return "lose";
  const double = total(others) === 8;
  const threeEach = own.length === 3 && others.length === 3;
  if (double && threeEach && DOUBLE_SUITED[variant](own, others)) return "double_suited_8";
  if (own.length === 3 && sameSuit(own)) return "suited_8";
  if (double) return "double_8";
  return total(others) === 9 ? "unlucky_8" : "lucky_8";
}

/** @param {Coup} coup @param {"player"|"banker"} hand @returns {string} */
function dragonBonus(coup, hand) {
  const own = coup.hands[hand];
  const naturalOwn = own.length === 2 && total(own) > 7;
  if (coup.winner === "tie") return coup.natural ? "natural_tie" : "lose";
  if (coup.winner !== hand) return "lose";
  if (naturalOwn) return "natural_win";
  const margin = Math.abs(coup.player_total - coup.banker_total);
  return margin > 3 ? `win_by_${margin}` : "lose";
}

/** @param {Coup} coup @param {boolean} wins @param {string} category */
const either = (wins, category) => (wins ? category : "lose");
const cardsIn = ({ hands }) => hands.player.length + hands.banker.length;
const bySixCards = (coup) => (coup.hands.banker.length === 2 ? "two_card" : "three_card");

/** @param {Coup} coup @param {object} pays @returns {string} */
function banker(coup, pays) {
  if (coup.winner === "tie") return "push";
  if (coup.winner !== "banker") return "lose";
  if ("push_dragon7" in pays && coup.banker_total === 7 && coup.hands.banker.length === 3) return "push_dragon7";
  return "win_on_6" in pays && coup.banker_total === 6 ? "win_on_6" : "win";
}

/** The judges. `pairs` need the first two cards of each hand only. */
export const PAIR_JUDGES = {
  player_pair: ({ player }) => either(isPair(player), "pair"),
  banker_pair: ({ banker: cards }) => either(isPair(cards), "pair"),
  tiger_pair: tigerPair,
  either_pair: (hands) => either(isPair(hands.player) || isPair(hands.banker), "pair"),
  perfect_pairs: (hands, bet) => perfectPairs(hands, bet.variant ?? "player"),
  perfect_pair_either: perfectPairEither,
};

export const COUP_JUDGES = {
  player: (coup) => ({ player: "win", banker: "lose", tie: "push" })[coup.winner],
  banker: (coup, bet) => banker(coup, bet.pays),
  tie: (coup) => either(coup.winner === "tie", "win"),
  super_six: (coup) => either(bankerSix(coup), "banker_six"),
  tiger: (coup) => either(bankerSix(coup), bySixCards(coup)),
  big_tiger: (coup) => either(bankerSix(coup) && coup.hands.banker.length === 3, "three_card"),
  small_tiger: (coup) => either(bankerSix(coup) && coup.hands.banker.length === 2, "two_card"),
  lucky6: (coup) => either(bankerSix(coup), bySixCards(coup)),
  tiger_tie: (coup) => either(coup.winner === "tie" && coup.banker_total === 6, "tie_on_6"),
  lucky8_player: (coup, bet) => lucky8(coup, "player", bet.variant ?? "each_hand"),
  lucky8_banker: (coup, bet) => lucky8(coup, "banker", bet.variant ?? "each_hand"),
  dragon_bonus_player: (coup) => dragonBonus(coup, "player"),
  dragon_bonus_banker: (coup) => dragonBonus(coup, "banker"),
  big: (coup) => either(cardsIn(coup) > 4, "win"),
  small: (coup) => either(cardsIn(coup) === 4, "win"),
  dragon7: (coup) => either(coup.winner === "banker" && coup.banker_total === 7 && coup.hands.banker.length === 3, "win"),
  panda8: (coup) => either(coup.winner === "player" && coup.player_total === 8 && coup.hands.player.length === 3, "win"),
};

/** @param {string} bet @returns {boolean} whether the product knows such a wager */
export function isKnown(bet) {
  return bet in PAIR_JUDGES || bet in COUP_JUDGES;
}

/**
 * Judge one kind of wager. A loss on a tie becomes a push where the schedule lists `push`.
 * @param {string} bet its id
 * @param {{pays: object, variant?: string}} rules its section of the rulebook
 * @param {Coup} coup
 * @returns {string} a category of the schedule, "push" or "lose"
 */
export function judge(bet, rules, coup) {
  const category = bet in PAIR_JUDGES ? PAIR_JUDGES[bet](coup.hands, rules) : COUP_JUDGES[bet](coup, rules);
  if (category === "push" && !("push" in rules.pays)) return "lose";
  if (category === "lose" && coup.winner === "tie" && "push" in rules.pays) return "push";
  return category;
}

