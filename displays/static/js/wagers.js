// The wagers of the coup, by seat and spot: laying chips, and taking wagers back.

import { byId, el, fill } from "./dom.js";
import { chipsFor, money } from "./money.js";

const SEATS = 9;
const LETTERS = { player: "P", banker: "B", tie: "T" };

/** What is being laid, until it is placed. */
export class Laying {
  constructor(station) {
    this.station = station;
    this.seat = 1;
    this.bet = "player";
    this.stake = 0;
    const { word } = station;
    byId("clear").append(word("dealer.clear"), el("kbd", {}, "⌫"));
    byId("place").append(word("command.place_wager"), el("kbd", {}, "W"));
    byId("place").dataset.shortcut = "W";
    byId("clear").addEventListener("click", () => this.set({ stake: 0 }));
    station.bind(byId("place"), {
      command: "place_wager",
      roles: ["dealer"],
      also: () => (this.stake ? "" : word("dealer.no_chips")),
      act: () => this.#place(),
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

  /** Another seat, bet or stake. */
  set(change) {
    Object.assign(this, change);
    this.draw();
    this.station.refresh();
  }

  /** Keys: a digit is a seat, with shift a chip; backspace takes the chips off. */
  key(event) {
    const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
    if (digit && !event.shiftKey) this.set({ seat: Number(digit) });
    else if (digit) byId("chips").children[digit - 1]?.click();
    else if (event.key === "Backspace") this.set({ stake: 0 });
    else return false;
    return true;
  }

  /** The spots and chips of another rulebook. */
  offer({ bets, currency, unit }) {
    const { word } = this.station;
    const sign = JSON.stringify([bets.map((bet) => bet.id), currency]);
    if (this.sign === sign) return;
    this.sign = sign;
    this.currency = currency;
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
      ...chipsFor(currency, Math.max(unit, Number.isFinite(smallest) ? smallest : unit)).map((chip, index) =>
        el(
          "button.chip",
          { type: "button", data: { chip }, on: { click: () => this.set({ stake: this.stake + chip }) } },
          money(chip, currency).replace(/\D00$/, ""),
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
      stake: money(this.stake, this.currency),
    });
  }

  #place() {
    const { seat, bet, stake } = this;
    const put = (answer) => {
      // The chips are off the hand once they lie there; refused, they are in it again.
      if (answer.result !== "accepted" && answer.result !== "exists" && !this.stake) this.set({ stake });
    };
    this.station.send(byId("place"), "place_wager", { wagers: [{ seat, bet, stake }] }, put);
    this.set({ stake: 0 });
  }
}

/** The wagers that stand, a row a seat; each can be taken back while betting is open. */
export function drawStanding(station, state) {
  const { word } = station;
  const { currency } = state.rulebook;
  const over = ["settled", "voided"].includes(state.coup?.phase);
  const wagers = over ? [] : (state.coup?.wagers ?? []);
  const seats = [...new Set(wagers.map((wager) => wager.seat))].sort((a, b) => a - b);
  fill(
    byId("standing"),
    ...seats.map((seat) =>
      el(
        "div.seat",
        { data: { seat } },
        el("b", {}, word("dealer.seat", { seat })),
        ...wagers.filter((wager) => wager.seat === seat).map((wager) => standing(station, wager, currency)),
      ),
    ),
    seats.length || over ? null : el("p", {}, word("dealer.no_wagers")),
  );
}

function standing(station, wager, currency) {
  const { word } = station;
  const text = `${betName(wager.bet, word)} ${money(wager.stake, currency)}`;
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

/** A bet's name in the page's language; its id where there is none. */
export function betName(bet, word) {
  const key = `bet.${bet}`;
  return word(key) === key ? bet.replaceAll("_", " ") : word(key);
}

/**
 * When a rulebook of this table takes commission: "deduct", "prepaid", "per_coup", "per_shoe", or null.
 *
 * @param {object} state of the table.
 * @param {string} hash of the rulebook.
 */
export function commissionTiming({ rulebook, library }, hash) {
  return [rulebook, ...library].find((each) => each.hash === hash)?.commission ?? null;
}

/** The chips that a seat gets: what it is paid is net of commission, which is not always held back. */
export function chipsOf({ paid, commission }, timing) {
  return timing === "deduct" || timing === null ? paid : paid + commission;
}

const COMMISSION = { prepaid: "commission_take", per_coup: "commission_mark", per_shoe: "commission_mark" };

/** What a coup came to, a line a wager: what the dealer pays and takes, in chips. */
export function settlementTable(settlements, currency, word, timing) {
  const lines = settlements.flatMap((settlement) => settlement.lines);
  if (!lines.length) return el("p", {}, word("settled.none"));
  const heads = ["seat", "bet", "result"].map((name) => ["th", name]);
  const owed = COMMISSION[timing] ?? "commission";
  heads.push(...["stake", owed, "paid"].map((name) => ["th.amount", name]));
  return el(
    "table.settled",
    {},
    el("caption", {}, word("settled.caption")),
    el("thead", {}, el("tr", {}, ...heads.map(([tag, head]) => el(tag, { scope: "col" }, word(`field.${head}`))))),
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
          ...[line.stake, line.commission, chipsOf(line, timing)].map((amount) => el("td.amount", {}, money(amount, currency))),
        ),
      ),
    ),
  );
}
