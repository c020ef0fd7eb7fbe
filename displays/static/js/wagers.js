// The coup's wagers by seat and spot: laying chips, placing wagers one at a time, and withdrawing
// them.

import { byId, el, fill } from "./dom.js";
import { chipsFor, money } from "./money.js";

const SEATS = 9;
const LETTERS = { player: "P", banker: "B", tie: "T" };
const MARKS = { waits: "…", sent: "…", asked: "?", done: "✓", not: "✗" };

/**
 * The chips of the next wager, and each pressed wager until the table has accepted it.
 *
 * A press of Place clears the chips, whatever its outcome. A wager that the table has not accepted
 * stays visible with its own chips at its own seat. They never join those of the next wager.
 */
export class Laying {
  constructor(station) {
    this.station = station;
    this.seat = 1;
    this.bet = "player";
    this.stake = 0;
    this.pressed = []; // the wagers that were pressed and do not stand yet, or will not
    const { word } = station;
    byId("clear").append(word("dealer.clear"), el("kbd", {}, "⌫"));
    byId("place").append(word("command.place_wager"), el("kbd", {}, "W"));
    Object.assign(byId("place").dataset, { shortcut: "W", command: "place_wager" });
    byId("clear").addEventListener("click", () => this.set({ stake: 0 }));
    station.bind(byId("place"), {
      command: "place_wager",
      roles: ["dealer"],
      also: () => (this.stake ? "" : word("dealer.no_chips")),
      act: () => this.#place(),
      shut: (why) => this.#press({ standing: "not", why }),
    });
    byId("seats").append(
      ...Array.from({ length: SEATS }, (_, index) =>
        el(
          "button",
          { type: "button", data: { seat: index + 1 }, on: { click: () => this.set({ seat: index + 1 }) } },
          String(index + 1),
        ),
      ),
    );
  }

  /** Choose another seat, bet or stake. */
  set(change) {
    Object.assign(this, change);
    this.draw();
    this.station.refresh();
  }

  /** Handle a key: a digit is a seat, with shift a chip; backspace clears the chips. */
  key(event) {
    const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
    if (digit && !event.shiftKey) this.set({ seat: Number(digit) });
    else if (digit) byId("chips").children[digit - 1]?.click();
    else if (event.key === "Backspace") this.set({ stake: 0 });
    else return false;
    return true;
  }

  /** Draw the spots and chips of another rulebook. */
  offer({ bets, currency, decimals, unit, chips }) {
    const { word } = this.station;
    const sign = JSON.stringify([bets.map((bet) => bet.id), currency, decimals, chips]);
    if (this.sign === sign) return;
    this.sign = sign;
    this.decimals = decimals;
    if (!bets.some((bet) => bet.id === this.bet)) this.bet = bets[0]?.id;
    fill(
      byId("bets"),
      ...bets.map((bet) =>
        el(
          `button.bet.${bet.id}`,
          {
            type: "button",
            data: { bet: bet.id, ...(LETTERS[bet.id] ? { shortcut: LETTERS[bet.id] } : {}) },
            on: { click: () => this.set({ bet: bet.id }) },
          },
          betName(bet.id, word),
          LETTERS[bet.id] ? el("kbd", {}, LETTERS[bet.id]) : null,
        ),
      ),
    );
    const smallest = Math.min(...bets.map((bet) => bet.step), Infinity);
    fill(
      byId("chips"),
      ...chipsFor(chips, Number.isFinite(smallest) ? smallest : unit).map((chip, index) =>
        el(
          "button.chip",
          { type: "button", data: { chip }, on: { click: () => this.set({ stake: this.stake + chip }) } },
          money(chip, decimals, { whole: true }),
          el("kbd", {}, `⇧${index + 1}`),
        ),
      ),
    );
    this.draw();
  }

  draw() {
    const { word } = this.station;
    const pressed = (id, name, value) => {
      for (const button of byId(id).children) {
        button.setAttribute("aria-pressed", String(button.dataset[name] === String(value)));
      }
    };
    pressed("seats", "seat", this.seat);
    pressed("bets", "bet", this.bet);
    byId("laying").textContent = word("dealer.laying", {
      seat: this.seat,
      bet: betName(this.bet, word),
      stake: money(this.stake, this.decimals),
    });
  }

  /** Clear the chips, and show the pressed wager until the table has accepted it. */
  #press(how) {
    const { seat, bet, stake } = this;
    const pressed = { seat, bet, stake, coup: this.station.openCoup(), ...how };
    this.pressed.push(pressed);
    this.set({ stake: 0 });
    this.drawPressed();
    return pressed;
  }

  #place() {
    const { station } = this;
    if (!station.openCoup()) {
      this.#press({ standing: "not", why: station.explain({ code: "betting_closed" }) });
      return;
    }
    const pressed = this.#press({ standing: "waits" });
    const { seat, bet, stake, coup } = pressed;
    station.press("place_wager", { wagers: [{ seat, bet, stake }], coup }, (standing, answer) => {
      const done = answer?.result === "accepted" || answer?.result === "exists";
      pressed.standing = standing !== "over" ? standing : done ? "done" : "not";
      pressed.position = answer?.position;
      if (answer && !done) pressed.why = answer.code ? station.explain(answer) : station.told(answer);
      this.drawPressed();
    });
  }

  /** Draw the pressed wagers that the table has not accepted; drop them after their coup. */
  drawPressed() {
    const { word, state } = this.station;
    const next = this.station.openCoup();
    const gone = ({ standing, position, coup }) =>
      standing === "done" ? state.position >= position : standing === "not" && next !== null && coup !== next;
    this.pressed = this.pressed.filter((each) => !gone(each));
    for (const each of this.pressed) each.coup ??= next; // pressed before it opened
    const sign = JSON.stringify(this.pressed);
    if (this.drawn === sign) return; // a button that is just being pressed stays the same one
    this.drawn = sign;
    fill(byId("pressed"), ...this.pressed.map((each) => this.#row(each, word)));
  }

  #row(pressed, word) {
    const { seat, bet, stake, standing, why = "" } = pressed;
    const text = word("dealer.laying", { seat, bet: betName(bet, word), stake: money(stake, this.decimals) });
    const away = () => {
      this.pressed = this.pressed.filter((each) => each !== pressed);
      this.drawPressed();
    };
    const pickUp = el("button", { type: "button", aria: { label: `${word("dealer.pick_up")}: ${text}` } }, word("dealer.pick_up"));
    this.station.bind(pickUp, {
      command: "",
      also: () => (this.stake ? word("dealer.hand_full") : ""),
      act: () => {
        away();
        this.set({ seat, bet, stake });
      },
    });
    const clear = { type: "button", aria: { label: `${word("dealer.clear")}: ${text}` }, on: { click: away } };
    return el(
      "li",
      { data: { seat, bet, stake, standing } },
      el("b", {}, `${MARKS[standing]} ${text}`),
      el("span", {}, standing === "not" ? `${word("pressed.not")}: ${why}` : word(`pressed.${standing}`)),
      ...(standing === "not" ? [pickUp, el("button", clear, "✕")] : []),
    );
  }
}

/** Draw the accepted wagers, a row for each seat; each can be withdrawn while betting is open. */
export function drawStanding(station, state) {
  const rows = standingRows(station, state, state.coup?.wagers ?? []);
  fill(byId("standing"), ...rows, rows.length ? null : el("p", {}, station.word("dealer.no_wagers")));
}

/** Create a row of wagers for each seat that has any. */
export function standingRows(station, { rulebook: { decimals } }, wagers) {
  const seats = [...new Set(wagers.map((wager) => wager.seat))].sort((a, b) => a - b);
  return seats.map((seat) =>
    el(
      "div.seat",
      { data: { seat } },
      el("b", {}, station.word("dealer.seat", { seat })),
      ...wagers.filter((wager) => wager.seat === seat).map((wager) => standing(station, wager, decimals)),
    ),
  );
}

function standing(station, wager, decimals) {
  const { word } = station;
  const text = `${betName(wager.bet, word)} ${money(wager.stake, decimals)}`;
  const button = el(
    "button.back",
    { type: "button", data: { key: wager.id }, aria: { label: word("dealer.take_back", { wager: text }) } },
    text,
    !wager.kind || wager.kind === "chips" ? null : el("i", {}, word(`kind.${wager.kind}`)),
    el("span", { ariaHidden: "true" }, " ✕"),
  );
  return station.bind(button, {
    command: "withdraw_wager",
    roles: ["dealer"],
    act: () => station.send(button, "withdraw_wager", { wagers: [wager.id] }),
  });
}

/** Return a bet's name in the page's language, or its id. */
export function betName(bet, word) {
  const key = `bet.${bet}`;
  return word(key) === key ? bet.replaceAll("_", " ") : word(key);
}

/**
 * Return when a rulebook takes commission: "deduct", "prepaid", "per_coup", "per_shoe", or null.
 *
 * @param {object} state of the table.
 * @param {string} hash of the rulebook.
 */
export function commissionTiming({ rulebook, library }, hash) {
  return [rulebook, ...library].find((each) => each.hash === hash)?.commission ?? null;
}

/** Return who owes or is owed commission: the seat, and the patron where one is named. */
export function payerOf({ seat, patron }, word) {
  return [word("dealer.seat", { seat }), ...(patron ? [patron] : [])].join(" · ");
}

/** Return a line for each payer to whom a correction gives commission back. */
export function refundLines({ refunds }, word) {
  return refunds.map(({ coup, amount, decimals, reason, ...payer }) =>
    el("p.refund", {}, word("commission.refund", { amount: money(amount, decimals), who: payerOf(payer, word), coup, reason })),
  );
}

const heldBack = (timing) => timing === "deduct" || timing === null;

/**
 * Return a dealer's chip movements for a settled wager.
 *
 * @param {object} line of a settlement: paid = stake returned + winnings - commission.
 * @param {?string} timing when commission is taken.
 * @returns {{take: number, pay: number, back: number}} the part of the stake that the house takes
 *     from the layout; the winnings less commission held back; and the part of the stake that its
 *     owner keeps or gets back.
 */
export function handled({ stake, winnings, commission, paid }, timing) {
  const back = paid - winnings + commission;
  return { take: stake - back, pay: winnings - (heldBack(timing) ? commission : 0), back };
}

/** Return the movements of a void coup's unsettled wagers: their stakes go back. */
function voided({ coup, settlements }) {
  if (coup.phase !== "voided") return [];
  const told = new Set(settlements.flatMap(({ lines }) => lines.map(({ wager }) => wager)));
  return coup.wagers
    .filter(({ id }) => !told.has(id))
    .map(({ seat, bet, stake }) => ({ seat, bet, stake, result: "void", winnings: 0, commission: 0, paid: stake }));
}

const COMMISSION = { prepaid: "commission_take", per_coup: "commission_mark", per_shoe: "commission_mark" };
const HANDLED = ["take", "pay", "back"];

/** Draw a coup's chip movements, a line for each wager: take, pay and give back. */
export function settlementTable(found, decimals, word, timing) {
  const settled = [...found.settlements.flatMap(({ lines }) => lines), ...voided(found)];
  if (!settled.length) return el("p", {}, word("settled.none"));
  const lines = settled.map((line) => ({ ...line, ...handled(line, timing) }));
  const columns = timing === null ? HANDLED : [...HANDLED, "commission"];
  const heads = { commission: COMMISSION[timing] ?? "commission" };
  const head = (tag, name) => el(tag, { scope: "col" }, word(`field.${heads[name] ?? name}`));
  const amounts = (of) => columns.map((name) => el(`td.amount.${name}`, {}, of(name) ? money(of(name), decimals) : "–"));
  const sum = (name) => lines.reduce((total, line) => total + line[name], 0);
  return el(
    "table.settled",
    {},
    el("caption", {}, word("settled.caption")),
    el("thead", {}, el("tr", {}, ...["seat", "bet", "result"].map((name) => head("th", name)), ...columns.map((name) => head(`th.amount.${name}`, name)))),
    el(
      "tbody",
      {},
      ...lines.map((line) =>
        el(
          "tr",
          { data: { seat: line.seat, result: line.result } },
          el("td", {}, String(line.seat)),
          el("td", {}, betName(line.bet, word)),
          el("td", {}, word(`outcome.${line.result}`)),
          ...amounts((name) => line[name]),
        ),
      ),
    ),
    el("tfoot", {}, el("tr", {}, el("th", { scope: "row", colSpan: 3 }, word("settled.total")), ...amounts(sum))),
  );
}
