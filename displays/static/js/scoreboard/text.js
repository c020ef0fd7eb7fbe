// The scoreboard's texts, from the public state alone: keys of words, and figures. Pure, no DOM.

const WON = new Set(["complete", "confirmed", "settled"]);
const STANDS = new Set(["disputed", "held", "misaligned"]);
const MAIN = ["player", "banker"];
// Rows of the draw table that need no telling.
const SILENT = new Set(["initial"]);

/**
 * Return the key that describes the table's activity.
 *
 * @param {?object} state the public state.
 * @param {boolean} past whether its coup has been over for some time.
 * @returns {{key: string, tone: string, winner: ?string}} a key of words; `tone` is one of "open",
 *     "busy", "won", "stands", "void", "last", "idle".
 */
export function status(state, past = false) {
  const coup = state?.coup;
  if (!state?.shoe) return { key: "status.no_shoe", tone: "idle", winner: null };
  if (state.shoe.ended) return { key: "status.ended", tone: "idle", winner: null };
  if (!coup) return { key: "status.soon", tone: "idle", winner: null };
  if (STANDS.has(coup.phase)) return { key: "status.stands", tone: "stands", winner: null };
  if (coup.phase === "voided") return { key: "status.void", tone: past ? "last" : "void", winner: null };
  if (coup.phase === "betting") return { key: "status.open", tone: "open", winner: null };
  if (coup.phase === "closed") return { key: "status.closed", tone: "busy", winner: null };
  if (WON.has(coup.phase) && coup.winner) {
    return { key: `status.${coup.winner}`, tone: past ? "last" : "won", winner: coup.winner };
  }
  return { key: "status.dealing", tone: "busy", winner: null };
}

/**
 * Return the rows of the draw table that were applied in this coup, in order, each once.
 *
 * @param {?object} coup
 * @returns {string[]} such as "player_0_5_draws".
 */
export function drawRules(coup) {
  if (!coup) return [];
  const told = coup.rules.length ? coup.rules : coup.cards;
  return [...new Set(told.map(({ rule }) => rule).filter((rule) => rule && !SILENT.has(rule)))];
}

/**
 * Return a hand of the coup.
 *
 * @param {?object} coup
 * @param {string} hand "player" or "banker".
 * @returns {{cards: {number: number, card: ?string}[], total: ?number, natural: boolean,
 *     pair: boolean}} cards by number.
 */
export function handOf(coup, hand) {
  const cards = (coup?.cards ?? [])
    .filter((card) => card.hand === hand)
    .sort((one, other) => one.number - other.number)
    .map(({ number, card }) => ({ number, card }));
  const total = coup?.[`${hand}_total`] ?? null;
  const [first, second] = cards;
  return {
    cards,
    total,
    natural: Boolean(coup?.natural) && cards.length === 2 && total >= 8,
    pair: Boolean(first?.card && second?.card) && first.card[0] === second.card[0],
  };
}

/**
 * Count each result of this shoe.
 *
 * @param {string[]} beads as `state` has them.
 */
export function counts(beads) {
  const having = (mark) => beads.filter((bead) => bead.includes(mark)).length;
  return {
    banker: having("B"),
    player: having("P"),
    tie: having("T"),
    bankerPair: having("b"),
    playerPair: having("p"),
    natural: having("n"),
  };
}

// What the tally counts under a name of its own.
const TALLIED = ["player", "banker", "tie", "player_pair", "banker_pair"];

/**
 * Count how often each side wager has won in this shoe.
 *
 * @param {object[]} bets of the rulebook.
 * @param {?object} shoe
 * @returns {{id: string, count: number}[]} in the rulebook's order; none where the wins of the
 *     shoe's coups are not known.
 */
export function sideCounts(bets, shoe) {
  const wins = shoe?.side_wins ?? [];
  if (wins.length !== shoe?.roads.bead_plate.length) return [];
  const won = wins.flat();
  return bets
    .filter(({ id }) => !TALLIED.includes(id))
    .map(({ id }) => ({ id, count: won.filter((bet) => bet === id).length }));
}

/**
 * Return the table's minimum and maximum: those of the main wagers.
 *
 * @param {object[]} bets of the rulebook.
 * @returns {{minimum: ?number, maximum: ?number}} minor units; no maximum is null.
 */
export function tableLimits(bets) {
  const main = bets.filter((bet) => MAIN.includes(bet.id));
  const least = Math.min(...main.map((bet) => bet.minimum));
  const most = Math.max(...main.map((bet) => bet.maximum ?? Infinity));
  return {
    minimum: Number.isFinite(least) ? least : null,
    maximum: Number.isFinite(most) ? most : null,
  };
}

/**
 * Return the odds of a bet; pushes are left out.
 *
 * @param {{pays: Object<string, string>}} bet
 * @returns {{category: string, num: string, den: string}[]} to be said as "8 to 1".
 */
export function pays(bet) {
  return Object.entries(bet.pays)
    .filter(([, odds]) => odds !== "push")
    .map(([category, odds]) => {
      const [num, den = "1"] = odds.split(/[/:]/);
      return { category, num, den };
    });
}

const bounds = ({ minimum, maximum }) => JSON.stringify([minimum, maximum]);

/**
 * Return the rows of the pay table: wagers with the same schedule of several odds share one.
 *
 * @param {object[]} bets of the rulebook.
 * @returns {{bets: object[], scale: object[], less: ?string}[]} in the rulebook's order.
 */
export function payRows(bets) {
  const rows = new Map();
  for (const bet of bets) {
    const scale = pays(bet);
    const shared = scale.length > 2;
    const key = shared ? JSON.stringify([bet.pays, bet.less ?? null, bounds(bet)]) : bet.id;
    if (rows.has(key)) rows.get(key).bets.push(bet);
    else rows.set(key, { bets: [bet], scale, less: bet.less ?? null });
  }
  return [...rows.values()];
}

/**
 * Return the limits that most side wagers share, to be written once.
 *
 * @param {object[]} bets of the rulebook.
 * @returns {?object} a bet that has them; null where there is no side wager.
 */
export function sideLimits(bets) {
  const side = bets.filter((bet) => !MAIN.includes(bet.id));
  const often = (bet) => side.filter((other) => bounds(other) === bounds(bet)).length;
  return side.reduce((best, bet) => (best === null || often(bet) > often(best) ? bet : best), null);
}

/** Return whether a row needs its own limits: they are not those written once for its kind. */
export function differs(bet, bets) {
  if (!MAIN.includes(bet.id)) return bounds(bet) !== bounds(sideLimits(bets));
  return bounds(bet) !== bounds(tableLimits(bets));
}

/** Return whether two bets have the same limits. */
export const sameLimits = (one, other) => bounds(one) === bounds(other);

/** Return the dealt share of the shoe, 0 to 1. */
export function dealt(shoe) {
  return Math.min(1, shoe.cards / (shoe.decks * 52));
}
