/**
 * One coup, judged again from its own cards and wagers as its events are read in order.
 *
 * Every conclusion in the events is compared with what the rules make of what came before it: the
 * completed deal, each settlement, refunds, aggregate maxima and accrued commission.
 */

import { BANKER_DRAWS_ON, fitsDrawTable, nextHand, outcome, points, total } from "./cards.js";
import { payerOf, phaseOf, settle, sums, voidLines } from "./settlement.js";

/** A contradiction: which part of the record is wrong, and where. */
export class Fault extends Error {
  /** @param {string} part @param {string} reason @param {number|null} [position] */
  constructor(part, reason, position = null) {
    super(reason);
    this.part = part;
    this.position = position;
  }
}

const HANDS = ["player", "banker"];

/** Bring a value to the one form in which defaults are left out and keys stand in order. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value ?? null;
  const kept = Object.keys(value).filter((key) => value[key] != null && !(key === "kind" && value[key] === "chips"));
  return Object.fromEntries(kept.sort().map((key) => [key, plain(value[key])]));
}

/** @returns {boolean} whether two values of JSON say the same */
export function same(one, other) {
  return JSON.stringify(plain(one)) === JSON.stringify(plain(other));
}

/** The draw rule that lets Banker draw or stand against a third card, by its two-card total. */
const BANKER_RULES = {
  3: ["banker_3_draws_unless_8", "banker_3_stands_on_8"],
  4: ["banker_4_draws_on_2_7", "banker_4_stands_on_0_1_8_9"],
  5: ["banker_5_draws_on_4_7", "banker_5_stands_on_0_3_8_9"],
  6: ["banker_6_draws_on_6_7", "banker_6_stands_on_0_5_8_9"],
};

/** @param {string[]} player @param {string[]} banker complete hands @returns {object[]} rules that applied */
export function drawRules(player, banker) {
  const rules = ["player", "banker", "player", "banker"].map((hand) => ({ hand, draws: true, rule: "initial" }));
  const [ours, theirs] = [total(player.slice(0, 2)), total(banker.slice(0, 2))];
  if (ours > 7 || theirs > 7) {
    return [...rules, ...HANDS.map((hand) => ({ hand, draws: false, rule: "natural" }))];
  }
  const playerDraws = ours < 6;
  rules.push({ hand: "player", draws: playerDraws, rule: playerDraws ? "player_0_5_draws" : "player_6_7_stands" });
  rules.push({ hand: "banker", ...bankerRule(theirs, playerDraws, player) });
  return rules;
}

/** @returns {{draws: boolean, rule: string}} */
function bankerRule(theirs, playerDraws, player) {
  if (!playerDraws) {
    return theirs < 6
      ? { draws: true, rule: "banker_player_stood_0_5_draws" }
      : { draws: false, rule: "banker_player_stood_6_7_stands" };
  }
  if (theirs < 3) return { draws: true, rule: "banker_0_2_draws" };
  if (theirs === 7) return { draws: false, rule: "banker_7_stands" };
  const draws = BANKER_DRAWS_ON[theirs].includes(points(player[2]));
  return { draws, rule: BANKER_RULES[theirs][draws ? 0 : 1] };
}

/** What may come in each state of a coup, and the state after it where that is another (docs/reference/coup-states.md). */
const STATES = Object.fromEntries(
  Object.entries({
    betting: "wagers_placed wagers_withdrawn wagers_voided card_dealt betting_closed>closed coup_voided>voided",
    closed: "card_dealt>dealing card_disclosed>dealing card_unread>dealing wager_corrected rulebook_corrected coup_misaligned>misaligned coup_voided>voided",
    dealing: "card_dealt card_unread card_disclosed card_entered card_corrected card_marked_unreadable hands_corrected wager_corrected rulebook_corrected coup_settled/1 coup_settled_again/1 deal_completed>complete coup_misaligned>misaligned coup_voided>voided",
    complete: "coup_settled/1 coup_settled_again/1 wager_corrected rulebook_corrected hands_corrected>dealing card_corrected>dealing card_marked_unreadable>dealing result_confirmed>confirmed result_disputed>disputed excess_card_drawn>held coup_misaligned>misaligned coup_voided>voided",
    disputed: "coup_settled/1 coup_settled_again/1 wager_corrected rulebook_corrected hands_corrected>dealing card_corrected>dealing card_marked_unreadable>dealing result_confirmed>confirmed coup_misaligned>misaligned coup_voided>voided",
    confirmed: "coup_settled/2>settled",
    held: "coup_settled/1 coup_settled_again/1 wager_corrected rulebook_corrected hands_corrected>dealing excess_card_resolved>complete coup_misaligned>misaligned coup_voided>voided",
    misaligned: "card_entered card_corrected hands_corrected coup_settled_again/1 coup_realigned>dealing coup_voided>voided",
  }).map(([state, row]) => [state, new Map(row.split(" ").map((one) => [one.split(">")[0], one.split(">")[1] ?? state]))]),
);
const INPUTS = new Set(Object.values(STATES).flatMap((row) => [...row.keys()]));

/** What may come to a coup that is over: corrections. */
const CORRECTIONS = {
  "coup_settled/1": () => true,
  "coup_settled_again/1": () => true,
  "coup_settled_again/2": () => true,
  coup_voided: () => true,
  wager_corrected: (coup) => !coup.isVoid || coup.phases[1].revision > 0,
  rulebook_corrected: (coup) => !coup.isVoid || coup.phases[1].revision > 0,
  deal_completed: (coup) => coup.phases[2].revision > 0,
  hands_corrected: (coup) => coup.phases[1].revision + coup.phases[2].revision > 0,
};

/** What is in force of a phase that was never settled. */
const UNSETTLED = { revision: 0, settlement_id: null, lines: [] };

/** A coup as its events make it. Feed them in order to `take`, which throws a `Fault`. */
export class Coup {
  /**
   * @param {string} id shoe and number
   * @param {string} table the second part of the origin
   * @param {(hash: string) => import("./rulebook.js").Rulebook|null} rulebooks by their hash
   */
  constructor(id, table, rulebooks) {
    this.id = id;
    this.table = table;
    this.rulebooks = rulebooks;
    this.rules = null;
    this.rulebook = null;
    this.wagers = [];
    /** Cards by hand; null is a face that is not known. */
    this.hands = { player: [], banker: [] };
    /** The settlements in force. */
    this.phases = { 1: UNSETTLED, 2: UNSETTLED };
    this.refunds = [];
    this.isVoid = false;
    this.state = "betting";
    this.report = null;
    this.capped = [];
    /** Commission accrued, and reversed below nothing; the first versions of the events name seats alone. */
    this.accrued = [];
    this.accruedBySeat = false;
    /** Commission that lies beside the wagers, by payer. */
    this.laid = new Map();
    /** The parts of what is owed, within a whole log. */
    this.debts = null;
    /** The newest event of a transaction that moved money, until that is over. */
    this.moved = null;
  }

  /** @param {object} event an envelope that belongs to the coup, or a report of the shoe */
  take(event) {
    if (event.type === "shoe_reported") this.report = event;
    this.endTransaction(event.cause);
    const handler = HANDLERS[event.type];
    if (handler && !this.rulebook && event.type !== "betting_opened") refuse("comes before the coup began", event);
    if (event.type.startsWith("commission_")) moveDebts(this, event);
    const wasOver = this.isOver;
    handler?.(this, event.data, event);
    if (this.rulebook) this.advance(event, wasOver);
    if (MONEY.includes(event.type)) this.moved = event;
    else if (this.moved?.cause === event.cause) this.moved = event;
  }

  /** Refuse an event that cannot come in the coup's state, and go to the next. */
  advance(event, wasOver) {
    const { settlement: { phase, revision } = {} } = event.data;
    const input = phase ? `coup_settled${revision > 1 ? "_again" : ""}/${phase}` : event.type;
    if (!INPUTS.has(input) && !(input in CORRECTIONS)) return;
    const after = wasOver ? CORRECTIONS[input]?.(this) : STATES[this.state].get(input);
    if (!after) refuse(`does not come while a coup is ${wasOver ? "over" : this.state}`, event);
    if (!wasOver) this.state = after;
  }

  /** Compare commission when a transaction that moved it is over. @param {string|null} cause of the next event */
  endTransaction(cause) {
    if (this.moved === null || this.moved.cause === cause) return;
    const last = this.moved;
    this.moved = null;
    this.finish(last);
  }

  /** @returns {boolean} whether the coup is settled or void */
  get isOver() {
    return this.isVoid || this.phases[2].revision > 0;
  }

  /** Say what settlements ask for and no event has told. @param {object} last event of their transaction */
  finish(last) {
    if (this.isOver) this.checkStanding(last);
    const missing = (reason) => new Fault("events", `${last.type}: ${reason}`, last.position);
    if (this.capped.length) throw missing("an aggregate maximum cut a settlement, and no event tells it");
    const untold = new Map();
    const add = ({ seat, patron }, amount) => addTo(untold, payerOf(this.accruedBySeat ? { seat } : { seat, patron }), amount);
    for (const line of [...this.phases[1].lines, ...this.phases[2].lines]) add(line, line.commission);
    for (const row of this.accrued) add(row, -row.amount);
    for (const [payer, amount] of untold) throw missing(`${amount} of commission of seat ${payer.split("/")[0]} was never accrued`);
    for (const [payer, amount] of this.isOver ? this.laid : []) throw missing(`commission of ${amount} lies at seat ${payer.split("/")[0]} after the coup`);
  }

  /** @returns {boolean} whether all cards are known, and a complete coup by the draw table */
  get complete() {
    const { player, banker } = this.hands;
    return ![...player, ...banker].includes(null) && fitsDrawTable(player, banker);
  }

  /** @param {number} phase @returns {object|null} hands and outcome for the judges, where they are known */
  judged(phase) {
    if (phase === 2) return this.complete ? { hands: this.hands, ...outcome(this.hands.player, this.hands.banker) } : null;
    const [player, banker] = HANDS.map((hand) => this.hands[hand].slice(0, 2));
    if (player.length < 2 || banker.length < 2 || [...player, ...banker].includes(null)) return null;
    return { hands: { player, banker }, ...outcome(player, banker) };
  }

  /** Take a rulebook for the one that the coup is judged by. */
  pin(name, hash, event) {
    this.rulebook = { name, hash };
    this.rules = this.rulebooks(hash);
    if (this.rules && this.rules.id !== name) throw new Fault("rulebook", `${hash} is of ${this.rules.id}, not of ${name}`, event.position);
  }

  /** @returns {object[]} stakes of wagers that no settlement has */
  openStakes() {
    const settled = new Set([1, 2].flatMap((phase) => this.phases[phase].lines.map((line) => line.wager)));
    return stakes(this.wagers.filter(({ id }) => !settled.has(id)));
  }

  /** What is in force must fit the cards, wagers and rulebook on record: else half a correction is here. */
  checkStanding(last) {
    // What the first phase of a void coup paid stands, in logs of 0.1.0 by whatever cards it was paid.
    for (const phase of this.isVoid ? [2] : [1, 2]) {
      const told = this.phases[phase];
      const judged = this.judged(phase);
      if (!judged || (!told.revision && this.isVoid)) continue;
      const lines = linesOf(this, phase);
      const { rulebook_hash: hash, player, banker } = { rulebook_hash: this.rulebook.hash, ...judged.hands, ...told };
      const fits = hash === this.rulebook.hash && same({ player, banker }, judged.hands);
      if (!fits || (lines.length && !lines.some((one) => same(one.lines, told.lines)))) {
        throw new Fault("settlement", `the event at ${last.position}: its coup comes to another settlement of phase ${phase}: half a correction`, last.position);
      }
    }
  }

  /** @returns {object} how the coup stands, as `expected` of an evidence file */
  expected() {
    const lines = [...this.phases[1].lines, ...this.phases[2].lines];
    const shown = this.complete ? outcome(this.hands.player, this.hands.banker) : null;
    return {
      player: this.hands.player.filter((card) => card !== null),
      banker: this.hands.banker.filter((card) => card !== null),
      player_total: shown?.player_total ?? null, banker_total: shown?.banker_total ?? null, winner: shown?.winner ?? null,
      void: this.isVoid, rulebook: this.rulebook?.name ?? null, lines, refunds: this.refunds, ...sums(lines),
    };
  }
}

/** @returns {object[]} the stakes of wagers, as they go back */
const stakes = (wagers) => wagers.map(({ id, seat, stake }) => ({ wager: id, seat, stake }));

/** Add to a sum; a sum of nothing is not there. @returns {number} the sum */
function addTo(sums, key, amount) {
  const sum = (sums.get(key) ?? 0) + amount;
  if (sum) sums.set(key, sum);
  else sums.delete(key);
  return sum;
}

/** Say that an event does not follow from those before it. */
function refuse(reason, event) {
  throw new Fault(`event at ${event.position}`, `${event.type}: ${reason}`, event.position);
}

/** Say that a settlement does not follow from cards, wagers and rulebook. */
function unfit(reason, event) {
  throw new Fault("settlement", `the event at ${event.position}: ${reason}`, event.position);
}

/** Lay a card, or change one. */
function put(coup, data, card, event) {
  const hand = coup.hands[data.hand];
  if (data.number < 1 || data.number > hand.length + 1) refuse("a place before it is empty", event);
  hand[data.number - 1] = card;
}

/** Lay a card at a free place, by the draw rule that is named where it is. */
function dealCard(coup, data, event) {
  if (coup.hands[data.hand][data.number - 1] !== undefined) refuse("deals a card to a place where one lies", event);
  const due = dueRule(coup.hands, data.hand);
  if (data.rule != null && data.rule !== due) refuse(`${due ?? "no rule"} deals a card here`, event);
  putReported(coup, data, event);
}

/** @returns {string|null} the rule by which a hand's next card is dealt; null where no card is due or known */
function dueRule({ player, banker }, hand) {
  if (player.length < 2 || banker.length < 2) return "initial";
  if ([...player, ...banker].includes(null) || nextHand(player, banker) !== hand) return null;
  return hand === "player" ? "player_0_5_draws" : bankerRule(total(banker), player.length === 3, player).rule;
}

/** Lay a card that the shoe reported: its face must be the report's. */
function putReported(coup, data, event) {
  if ((data.source ?? "shoe") !== "shoe") refuse(`no card is dealt by ${data.source}`, event);
  const { journal, seq, report } = coup.report?.data.source ?? {};
  if (`${journal}/${seq}` !== event.cause) refuse("the shoe's report that it comes of is missing", event);
  if (!same(report.face, data.card)) refuse(`the shoe reported ${report.face ?? "no face"}`, event);
  const overdrawn = report.hand === "player" && report.number === 3 && data.hand === "banker" && data.number === 3;
  const elsewhere = ["hand", "number"].some((key) => report[key] != null && report[key] !== data[key]);
  if (elsewhere && !overdrawn) refuse("the shoe reported it to another place", event);
  put(coup, data, data.card ?? null, event);
}

/** Change a card that is on record. */
function replace(coup, data, event, card) {
  if ((coup.hands[data.hand][data.number - 1] ?? null) !== data.was) refuse(`${data.was} did not lie there`, event);
  put(coup, data, card, event);
}

/** Compare a completed deal with the cards. */
function checkDeal(coup, data, event) {
  const { player, banker } = coup.hands;
  if (!coup.complete) refuse("the deal is not complete by the draw table", event);
  const ours = { player, banker, ...outcome(player, banker), rules: drawRules(player, banker) };
  for (const key of Object.keys(ours)) {
    if (!same(ours[key], data[key])) refuse(`${key} of the deal does not follow from its cards`, event);
  }
}

/** Compare a settlement with cards, wagers and rules, and let it stand. */
function checkSettlement(coup, data, event) {
  const told = data.settlement;
  const phase = coup.phases[told.phase];
  if (!phase) unfit("a coup has two phases", event);
  checkIdentity(coup, told, phase, event);
  checkCards(coup, told, event);
  const ours = linesOf(coup, told.phase, told.revision > 1);
  const fitting = ours.find(({ lines }) => same(lines, told.lines));
  if (ours.length && !fitting) unfit(wrongLine(ours[0].lines, told.lines), event);
  const totals = sums(told.lines);
  for (const key of Object.keys(totals)) {
    if (totals[key] !== told[key]) unfit(`${key} is ${totals[key]} by its lines, and ${told[key]} was written`, event);
  }
  checkDifference(told, phase.lines, event);
  coup.phases[told.phase] = told;
  coup.capped = (fitting?.capped ?? []).map((one) => ({ ...one, id: told.settlement_id }));
}

/** @returns {string} which line is another than the rules make it */
function wrongLine(ours, told) {
  const at = ours.findIndex((line, i) => !same(line, told[i]));
  if (at < 0 || !told[at]) return `${ours.length} wagers are settled in this phase, and ${told.length} lines were written`;
  return `the line of wager ${told[at].wager} does not follow from cards, wager and rulebook`;
}

/** A settlement's name, revision and rulebook. */
function checkIdentity(coup, told, phase, event) {
  const id = `${coup.table}/${coup.id}/${told.phase}/${told.revision}`;
  if (told.coup !== coup.id || told.settlement_id !== id) unfit(`its id would be ${id}`, event);
  if (told.revision !== phase.revision + 1 || (told.reverses ?? null) !== phase.settlement_id) {
    unfit(`revision ${phase.revision + 1} of ${phase.settlement_id ?? "none"} would be right`, event);
  }
  if (told.rulebook !== coup.rulebook?.name || told.rulebook_hash !== coup.rulebook.hash) {
    unfit("it is by another rulebook than its coup's", event);
  }
}

/** The cards and totals that a settlement names. */
function checkCards(coup, told, event) {
  const judged = coup.judged(told.phase);
  if (!judged) unfit("settled while cards are missing", event);
  const winner = told.phase === 2 ? judged.winner : null;
  const ours = { ...judged.hands, player_total: judged.player_total, banker_total: judged.banker_total, winner };
  for (const key of Object.keys(ours)) {
    if (!same(ours[key], told[key])) unfit(`${key} does not follow from the cards`, event);
  }
}

/** @returns {{lines: object[], capped?: object[]}[]} what may stand; nothing where the rulebook is not at hand */
function linesOf(coup, phase, isRevision = false) {
  if (!coup.rules) return [];
  const wagers = coup.wagers.filter(({ bet }) => (phaseOf(coup.rules, bet) ?? 2) === phase);
  const settled = () => settle(wagers, coup.rules, coup.judged(phase));
  // A void leaves the first phase paid, unless the rulebook or a person takes it back.
  if (phase === 1 && (coup.isVoid || (coup.rules.reversesAll && isRevision))) return [settled(), { lines: voidLines(wagers) }];
  return [coup.isVoid ? { lines: voidLines(wagers) } : settled()];
}

/** What a revision changes for each seat; nothing is said where it changes no amount. */
function checkDifference(told, before, event) {
  if (told.revision === 1 && told.difference == null) return;
  const seats = new Map();
  const add = (lines, sign) => {
    for (const line of lines) {
      const row = seats.get(line.seat) ?? { seat: line.seat, staked: 0, paid: 0, commission: 0 };
      row.staked += line.kind === "promo" ? 0 : sign * line.stake;
      row.paid += sign * line.paid;
      row.commission += sign * line.commission;
      seats.set(line.seat, row);
    }
  };
  add(told.lines, 1);
  add(before, -1);
  const rows = [...seats.values()].filter((row) => row.staked || row.paid || row.commission);
  rows.sort((one, other) => one.seat - other.seat);
  const said = (told.difference ?? []).map((row) => ({ staked: 0, paid: 0, commission: 0, ...row }));
  if (!same(rows, said)) unfit("the difference does not follow from its lines", event);
}

/** Let wagers stand next to the others: none has the id of another. */
function placeWagers(coup, wagers, event) {
  for (const wager of wagers) {
    if (coup.wagers.some(({ id }) => id === wager.id)) refuse("a wager of this id stands already", event);
    coup.wagers.push(wager);
  }
}

/** Wagers that could not stand: their stakes go back. */
function voidWagers(coup, data, event) {
  const goes = ({ id }) => data.refunds.some((refund) => refund.wager === id);
  if (!same(stakes(coup.wagers.filter(goes)), data.refunds)) refuse("gives back other stakes than stand", event);
  coup.wagers = coup.wagers.filter((wager) => !goes(wager));
}

/** The coup does not count: all stakes go back that no settlement has. */
function voidCoup(coup, data, event) {
  if (coup.isVoid) refuse("the coup is void already", event);
  if (!same(coup.openStakes(), data.refunds)) refuse("the refunds are not the stakes that are open", event);
  coup.refunds.push(...data.refunds);
  coup.isVoid = true;
}

/** Put a wager right: changed, added or taken away. */
function correctWager(coup, data, event) {
  const at = data.was ? coup.wagers.findIndex(({ id }) => id === data.was.id) : -1;
  if (data.was && (at < 0 || !same(coup.wagers[at], data.was))) refuse(`no such wager: ${data.was.id}`, event);
  const taken = ({ id }, place) => place !== at && id === data.wager?.id;
  if (coup.wagers.some(taken)) refuse("a wager of this id stands already", event);
  if (data.was) coup.wagers.splice(at, 1, ...(data.wager ? [data.wager] : []));
  else if (data.wager) coup.wagers.push(data.wager);
}

/** Put the hands on record as they lay. */
function correctHands(coup, data, event) {
  const before = HANDS.map((hand) => coup.hands[hand].filter((card) => card !== null));
  if (!same(before, [data.was_player, data.was_banker])) refuse("the hands did not lie so before", event);
  coup.hands = { player: [...data.player], banker: [...data.banker] };
  if (data.counts_again) coup.isVoid = false;
}

/** Another rulebook judges the coup from here on. */
function correctRulebook(coup, data, event) {
  if (data.was !== coup.rulebook?.name || data.was_hash !== coup.rulebook.hash) refuse("it was not played by that rulebook", event);
  coup.pin(data.rulebook, data.rulebook_hash, event);
}

/** An aggregate maximum must be told as it cut the settlement before it. */
function checkCap(coup, data, event) {
  if (!coup.rules) return;
  const told = coup.capped.find(({ id, rows }) => id === data.settlement_id && same(rows, data.wagers));
  if (!told || Number(told.cap.maximum) !== data.maximum || told.cap.scope !== data.scope) {
    refuse("the aggregate maximum did not cut so", event);
  }
  coup.capped = coup.capped.filter((one) => one !== told);
}

/** Count what is accrued or reversed. */
function accrue(coup, { data, v }, sign) {
  coup.accruedBySeat ||= v === 1;
  for (const row of data.amounts) coup.accrued.push({ ...row, amount: sign * row.amount });
}

/** Count commission that is laid beside the wagers, taken from there or given back. */
function lay(coup, data, sign, event) {
  for (const row of data.amounts) {
    const payer = sign > 0 || coup.laid.has(payerOf(row)) ? payerOf(row) : payerOf({ seat: row.seat });
    if (addTo(coup.laid, payer, sign * row.amount) < 0 && data.currency && coup.debts) refuse(`less is laid at seat ${row.seat}`, event);
  }
}

/** Out of which part of a debt an event moves its amounts, and into which. */
const MOVES = {
  commission_accrued: [null, "outstanding"],
  commission_collected: ["outstanding", null],
  commission_uncollected: ["outstanding", "uncollected"],
  commission_recovered: ["uncollected", "recovered"],
  commission_refunded: ["refundable", null],
};

/** Move debts: no part of one falls below nothing. The first versions told balances of seats, and are believed. */
function moveDebts(coup, event) {
  const { type, data } = event;
  if (!data.currency) return;
  if (coup.rules && data.currency !== coup.rules.currency) refuse(`in ${coup.rules.currency} would be right`, event);
  const move = (row, [from, to], amount) => {
    if (from && addTo(coup.debts, `${payerOf(row)}/${from}`, -amount) < 0) refuse(`${amount} of seat ${row.seat} is not ${from}`, event);
    if (to) addTo(coup.debts, `${payerOf(row)}/${to}`, amount);
  };
  for (const row of coup.accruedBySeat || !coup.debts ? [] : data.amounts) {
    if (type in MOVES) move(row, MOVES[type], row.amount);
    if (type !== "commission_reversed") continue;
    for (const part of ["outstanding", "uncollected", "recovered"]) move(row, [part, null], row[part] ?? 0);
    move(row, [null, "refundable"], row.amount - (row.outstanding ?? 0) - (row.uncollected ?? 0));
  }
}

/** Events with which money moves, or must. */
const MONEY = [
  "coup_settled", "coup_voided", "commission_accrued", "commission_reversed", "commission_returned",
  "card_corrected", "card_marked_unreadable", "hands_corrected", "wager_corrected", "rulebook_corrected",
];

const HANDLERS = {
  betting_opened: (coup, data, event) => {
    if (coup.rulebook) refuse("the coup began before", event);
    coup.pin(data.rulebook, data.rulebook_hash, event);
  },
  wagers_placed: (coup, data, event) => {
    placeWagers(coup, data.wagers, event);
    const names = [event.cause, event.cause.slice(event.cause.indexOf("/") + 1)]; // old logs leave the user out
    if (!data.wagers.every(({ id }, i) => names.some((name) => id === `${name}/${i}`))) refuse("a wager has not the name of its request", event);
  },
  wagers_withdrawn: (coup, data, event) => {
    const kept = coup.wagers.filter(({ id }) => !data.wagers.includes(id));
    if (coup.wagers.length - kept.length !== data.wagers.length) refuse("takes back a wager that does not stand", event);
    coup.wagers = kept;
  },
  wagers_voided: voidWagers,
  card_dealt: dealCard,
  card_disclosed: putReported,
  card_unread: (coup, data, event) => put(coup, data, null, event),
  card_entered: (coup, data, event) => put(coup, data, data.card, event),
  card_corrected: (coup, data, event) => replace(coup, data, event, data.card),
  card_marked_unreadable: (coup, data, event) => replace(coup, data, event, null),
  hands_corrected: correctHands,
  wager_corrected: correctWager,
  rulebook_corrected: correctRulebook,
  deal_completed: checkDeal,
  coup_settled: checkSettlement,
  aggregate_capped: checkCap,
  coup_voided: voidCoup,
  commission_prepaid: (coup, data, event) => lay(coup, data, 1, event),
  commission_returned: (coup, data, event) => lay(coup, data, -1, event),
  commission_collected: (coup, data, event) => data.method === "prepaid" && lay(coup, data, -1, event),
  commission_accrued: (coup, data, event) => accrue(coup, event, 1),
  commission_reversed: (coup, data, event) => accrue(coup, event, -1),
};
