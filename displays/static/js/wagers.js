// The coup's wagers by seat and spot: laying chips, placing wagers one at a time, and withdrawing
// them.

import { betName, wagerText } from "./command_text.js";
import { byId, el, fill } from "./dom.js";
import { chipsFor, money, parseMoney } from "./money.js";
import { authorOf, drawLayout, drawSpots } from "./dealer/layout.js";

export { betName } from "./command_text.js";

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
    const { seats, chips } = JSON.parse(byId("station").dataset.layout);
    this.seats = seats;
    this.houseChips = chips;
    this.seat = seats[0];
    this.bet = "player";
    this.stake = 0;
    this.pressed = []; // the wagers that were pressed and do not stand yet, or will not
    this.last = { coup: "", wagers: [] }; // of the coup before
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
      shut: (why) => this.#press({ standing: "not", why, code: station.state?.refusals.place_wager?.code }),
    });
    this.#bindTyped();
    this.#bindAgain();
    this.#bindUndo();
  }

  /** Take a typed sum in hand; Enter places it. */
  #bindTyped() {
    const { word } = this.station;
    const input = byId("typed");
    input.placeholder = word("dealer.typed");
    const read = () => parseMoney(input.value, this.decimals);
    input.addEventListener("input", () => {
      const sum = read();
      input.setCustomValidity(input.value.trim() && !sum ? word("limits.not_money") : "");
      if (sum) this.set({ stake: sum });
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") input.blur();
      if (event.key !== "Enter") return;
      event.preventDefault();
      if (!read()) {
        input.reportValidity();
        return;
      }
      this.set({ stake: read() });
      input.value = "";
      input.blur();
      byId("place").click();
    });
  }

  /** Place at the chosen seat what it had at the coup before, all or nothing. */
  #bindAgain() {
    const { station } = this;
    byId("again").append(station.word("dealer.again"), el("kbd", {}, "S"));
    byId("again").dataset.shortcut = "S";
    byId("again").dataset.command = "place_wager";
    const wagers = () =>
      this.last.wagers
        .filter(({ seat, kind = "chips" }) => seat === this.seat && kind === "chips")
        .map(({ seat, bet, stake, patron }) => ({ seat, bet, stake, ...(patron ? { patron } : {}) }));
    station.bind(byId("again"), {
      command: "place_wager",
      roles: ["dealer"],
      also: () => (wagers().length ? "" : station.word(this.last.sums ? "dealer.sums_only" : "dealer.nothing_before")),
      act: () => station.send(byId("again"), "place_wager", { wagers: wagers(), coup: station.openCoup() }),
    });
  }

  /** Take back the newest wager that this person has placed in this coup. */
  #bindUndo() {
    const { station } = this;
    byId("undo").append(station.word("dealer.undo"), el("kbd", {}, "Z"));
    byId("undo").dataset.shortcut = "Z";
    byId("undo").dataset.command = "withdraw_wager";
    const coup = () => station.state?.coup;
    const mine = () => (coup()?.wagers ?? []).filter((wager) => authorOf(wager) === byId("station").dataset.person);
    station.bind(byId("undo"), {
      command: "withdraw_wager",
      roles: ["dealer"],
      also: () => (mine().length ? "" : station.word(areSums(coup()) ? "dealer.sums_only" : "dealer.nothing_to_undo")),
      act: () => station.send(byId("undo"), "withdraw_wager", { wagers: [mine().at(-1).id] }),
    });
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
    if (digit && !event.shiftKey) {
      if (this.seats.includes(Number(digit))) this.set({ seat: Number(digit) });
    } else if (digit) byId("chips").children[digit - 1]?.click();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.#step(event.key === "ArrowLeft" ? -1 : 1);
    else if (event.key === "Backspace") this.set({ stake: 0 });
    else if (event.key === "=") byId("typed").focus();
    else return false;
    return true;
  }

  #step(by) {
    const { seats } = this;
    this.set({ seat: seats[(seats.indexOf(this.seat) + by + seats.length) % seats.length] });
  }

  /** Draw the spots and chips of another rulebook. */
  offer({ bets, currency, decimals, unit, chips }) {
    const { word } = this.station;
    const smallest = Math.min(...bets.map((bet) => bet.step), Infinity);
    const sign = JSON.stringify([bets.map((bet) => bet.id), currency, decimals, chips, smallest]);
    if (this.sign === sign) return;
    this.sign = sign;
    this.decimals = decimals;
    if (!bets.some((bet) => bet.id === this.bet)) this.bet = bets[0]?.id;
    drawLayout({ seats: byId("seats"), bets: byId("bets") }, this.seats, bets, word, {
      onSeat: (seat) => this.set({ seat }),
      onBet: (bet) => this.set({ bet }),
      onSpot: (seat, bet) => this.#spot(seat, bet),
    });
    const house = this.houseChips[currency];
    fill(
      byId("chips"),
      ...(house ?? chipsFor(chips, Number.isFinite(smallest) ? smallest : unit)).map((chip, index) =>
        el(
          "button.chip",
          { type: "button", data: { chip, colour: index % 6 }, on: { click: () => this.set({ stake: this.stake + chip }) } },
          el("span", {}, money(chip, decimals, { whole: true })),
          index < 9 ? el("kbd", {}, `⇧${index + 1}`) : null,
        ),
      ),
    );
    this.draw();
  }

  /** Choose a spot, and lay on it what is in hand. */
  #spot(seat, bet) {
    this.set({ seat, bet });
    if (this.stake) byId("place").click();
  }

  /** Remember what stood at the coup before, for "the same again"; chips in hand end with their coup. */
  remember({ coup }) {
    const open = this.station.openCoup();
    if (this.open && this.open !== open) {
      this.stake = 0;
      byId("typed").value = "";
    }
    this.open = open;
    if (!coup) return;
    if (coup.phase === "settled" || coup.phase === "voided") this.last = { coup: coup.id, wagers: coup.wagers, sums: areSums(coup) };
    else if ((this.last.coup === "" || this.last.sums) && coup.phase === "betting") this.#recall(coup.id);
  }

  async #recall(open) {
    const [shoe, number] = open.split("/");
    this.last = { coup: `${shoe}/${number - 1}`, wagers: [] };
    if (Number(number) < 2) return;
    const answer = await this.station.look("show_coup", { coup: this.last.coup });
    if (answer.result !== "accepted") return;
    this.last.wagers = answer.shown.coup.wagers;
    this.station.refresh();
  }

  draw() {
    const { word, state } = this.station;
    const pressed = (id, name, value) => {
      for (const button of byId(id).querySelectorAll(`[data-${name}]`)) {
        button.setAttribute("aria-pressed", String(button.dataset[name] === String(value)));
      }
    };
    pressed("seats", "seat", this.seat);
    pressed("bets", "bet", this.bet);
    const underway = this.pressed.filter(({ standing }) => standing !== "not");
    const over = ["settled", "voided"].includes(state?.coup?.phase);
    drawSpots(
      byId("bets"),
      { standing: over ? [] : laidOn(state?.coup), underway, chosen: `${this.seat} ${this.bet}`, decimals: this.decimals },
      word,
    );
    for (const row of document.querySelectorAll("#standing .seat")) row.dataset.chosen = String(row.dataset.seat === String(this.seat));
    byId("laying").textContent = wagerText(this, this.decimals, word);
    const before = this.last.wagers.filter(({ seat }) => seat === this.seat);
    byId("again").title = before.map((wager) => wagerText(wager, this.decimals, word)).join("; ");
  }

  /** Clear the chips, and show the pressed wager until the table has accepted it. */
  #press(how) {
    const { seat, bet, stake } = this;
    const pressed = { seat, bet, stake, coup: this.station.openCoup(), ...how };
    this.pressed.push(pressed);
    byId("typed").value = "";
    this.set({ stake: 0 });
    this.drawPressed();
    return pressed;
  }

  #place() {
    const { station } = this;
    if (!station.openCoup()) {
      this.#press({ standing: "not", code: "betting_closed", why: station.explain({ code: "betting_closed" }) });
      return;
    }
    const pressed = this.#press({ standing: "waits" });
    const { seat, bet, stake, coup } = pressed;
    const fields = { wagers: [{ seat, bet, stake }], coup };
    station.press("place_wager", fields, (standing, answer) => {
      const done = answer?.result === "accepted" || answer?.result === "exists";
      pressed.standing = standing !== "over" ? standing : done ? "done" : "not";
      pressed.position = answer?.position;
      pressed.code = answer?.code;
      if (answer && !done) pressed.why = answer.code ? station.explain(answer, fields) : station.told(answer);
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
    this.draw();
  }

  #row(pressed, word) {
    const { seat, bet, stake, standing, why = "", code = "" } = pressed;
    const text = wagerText(pressed, this.decimals, word);
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
      { data: { seat, bet, stake, standing, code } },
      el("b", {}, `${MARKS[standing]} ${text}`),
      el("span", {}, standing === "not" ? `${word("pressed.not")}: ${why}` : word(`pressed.${standing}`)),
      ...(standing === "not" ? [pickUp, el("button", clear, "✕")] : []),
    );
  }
}

/** Return whether a coup's wagers are known in sums alone, since not all of their pages are there. */
export function areSums(coup) {
  return Boolean(coup?.sums) && !coup.wagers.length;
}

/** Return the wagers of a coup, or in their place the sum of each spot, which has no id. */
export function laidOn(coup) {
  return areSums(coup) ? coup.sums.boxes : (coup?.wagers ?? []);
}

/** Draw the accepted wagers, a row for each seat; each can be withdrawn while betting is open. */
export function drawStanding(station, state) {
  const rows = standingRows(station, state, laidOn(state.coup));
  fill(byId("standing"), ...rows, rows.length ? null : el("p", {}, station.word("dealer.no_wagers")));
}

/** Create a row of wagers for each seat that has any; sums of spots are text, below what they are. */
export function standingRows(station, { coup, rulebook: { decimals } }, wagers) {
  const { word } = station;
  const seats = [...new Set(wagers.map((wager) => wager.seat))].sort((a, b) => a - b);
  const sum = ({ bet, stake }) => el("span.sum", {}, `${betName(bet, word)} ${money(stake, decimals)}`);
  const sums = areSums(coup);
  return [
    ...(sums && seats.length ? [el("p", {}, word("dealer.sums_only"))] : []),
    ...seats.map((seat) =>
      el(
        "div.seat",
        { data: { seat } },
        el("b", {}, word("dealer.seat", { seat })),
        ...wagers.filter((wager) => wager.seat === seat).map((wager) => (sums ? sum(wager) : standing(station, wager, wagers, decimals))),
      ),
    ),
  ];
}

/** Create the button of a wager that stands; a spot on which two people laid names both. */
function standing(station, wager, all, decimals) {
  const { word } = station;
  const text = `${betName(wager.bet, word)} ${money(wager.stake, decimals)}`;
  const spot = all.filter(({ seat, bet }) => seat === wager.seat && bet === wager.bet);
  const shared = new Set(spot.map(authorOf)).size > 1;
  const sum = spot.reduce((total, { stake }) => total + stake, 0);
  const button = el(
    "button.back",
    {
      type: "button",
      data: { key: wager.id, author: authorOf(wager), shared: String(shared) },
      aria: { label: word("dealer.take_back", { wager: text }) },
    },
    text,
    !wager.kind || wager.kind === "chips" ? null : el("i", {}, word(`kind.${wager.kind}`)),
    el("small.author", {}, authorOf(wager)),
    shared ? el("small.together", {}, word("dealer.together", { sum: money(sum, decimals) })) : null,
    el("span", { ariaHidden: "true" }, " ✕"),
  );
  return station.bind(button, {
    command: "withdraw_wager",
    roles: ["dealer"],
    act: () => station.send(button, "withdraw_wager", { wagers: [wager.id] }),
  });
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

const COMMISSION = { prepaid: "commission_take", per_coup: "commission_mark", per_shoe: "commission_mark" };
const HANDLED = ["take", "pay", "back"];

/**
 * Draw a coup's chip movements, a line for each wager: take, pay and give back.
 *
 * @param {object[]} moves as the table lists them, in the order in which a dealer makes them.
 * @param {number} decimals of their amounts.
 * @param {?string} timing of the commission.
 */
export function settlementTable(moves, decimals, word, timing) {
  if (!moves.length) return el("p", {}, word("settled.none"));
  const columns = timing === null ? HANDLED : [...HANDLED, "commission"];
  const heads = { commission: COMMISSION[timing] ?? "commission" };
  const head = (tag, name) => el(tag, { scope: "col" }, word(`field.${heads[name] ?? name}`));
  const amounts = (of) => columns.map((name) => el(`td.amount.${name}`, {}, of(name) ? money(of(name), decimals) : "–"));
  const sum = (name) => moves.reduce((total, move) => total + (move[name] ?? 0), 0);
  return el(
    "table.settled",
    {},
    el("caption", {}, word("settled.caption")),
    el("thead", {}, el("tr", {}, ...["seat", "bet", "result"].map((name) => head("th", name)), ...columns.map((name) => head(`th.amount.${name}`, name)))),
    el(
      "tbody",
      {},
      ...moves.map((move) =>
        el(
          "tr",
          { data: { seat: move.seat, result: move.result } },
          el("td", {}, String(move.seat)),
          el("td", {}, [move.bet].flat().map((bet) => betName(bet, word)).join(word("list.and"))),
          el("td", {}, word(`outcome.${move.result}`)),
          ...amounts((name) => move[name] ?? 0),
        ),
      ),
    ),
    el("tfoot", {}, el("tr", {}, el("th", { scope: "row", colSpan: 3 }, word("settled.total")), ...amounts(sum))),
  );
}
