// Finds a coup on record and corrects it: shows a preview before each correction.

import { faceText } from "./cards.js";
import { byId, el, fill } from "./dom.js";
import { askFor } from "./forms.js";
import { money, parseMoney, typed } from "./money.js";
import { betName, commissionTiming, payerOf, settlementTable } from "./wagers.js";

const reason = { name: "reason", kind: "reason" };

/** The panel that finds a coup and corrects it. */
export class Record {
  constructor(station) {
    this.station = station;
    this.found = null;
    byId("find").addEventListener("submit", (event) => {
      event.preventDefault();
      this.show(`${byId("find-shoe").value.trim()}/${byId("find-number").value}`);
    });
  }

  /** Put the shoe on the table into the form, unless somebody has typed another. */
  offer({ shoe, coup }) {
    const field = byId("find-shoe");
    if (shoe && (field.value === "" || field.value === this.offered)) {
      this.offered = shoe.id;
      field.value = shoe.id;
    }
    if (coup && byId("find-number").value === "") byId("find-number").value = coup.id.split("/")[1];
  }

  /** Find a coup and draw it. */
  async show(coup) {
    const { station } = this;
    const answer = await station.look("show_coup", { coup });
    if (answer.result !== "accepted") {
      this.found = null;
      fill(byId("on-record"), el("p.said", {}, station.told(answer)));
      return;
    }
    this.found = answer.shown;
    this.#draw();
  }

  /** Draw the coup again after a correction. */
  again() {
    if (this.found) this.show(this.found.coup.id);
  }

  #draw() {
    const { word } = this.station;
    const { coup, settlements, rulebook, rulebook_hash } = this.found;
    const over = settlements.length || coup.phase === "voided";
    const decimals = this.#decimals();
    const now = this.station.state.rulebook;
    const older = rulebook === now.id && rulebook_hash !== now.hash;
    const lines = new Set(settlements.flatMap((each) => each.lines.map((line) => line.wager)));
    const unsettled = coup.wagers.filter((wager) => !lines.has(wager.id));
    fill(
      byId("on-record"),
      el("h3", { title: rulebook_hash }, `${coup.id} · ${word(`phase.${coup.phase}`)} · ${rulebook}${older ? ` (${rulebook_hash.slice(0, 12)})` : ""}`),
      el("p.cards", {}, ...["player", "banker"].map((hand) => this.#hand(coup, hand))),
      coup.reason ? el("p", {}, coup.reason) : null,
      over ? settlementTable(this.found.moves, decimals, word, this.#timing()) : null,
      ...(coup.phase === "voided" ? [] : unsettled).map((wager) => el("p", {}, this.#wagerText(wager))),
      el(
        "div.grid.small",
        {},
        this.#button("correct_hands", () => this.#hands()),
        this.#button("correct_wager", () => this.#wager()),
        this.#button("correct_rulebook", () => this.#rulebook()),
        this.#button("void_coup", () => this.#void()),
      ),
    );
    this.station.refresh();
  }

  #timing() {
    return commissionTiming(this.station.state, this.found.rulebook_hash);
  }

  #hand(coup, hand) {
    const faces = coup.cards.filter((card) => card.hand === hand).map((card) => (card.card ? faceText(card.card) : "?"));
    const { word } = this.station;
    return el(`span.hand.${hand}`, {}, `${word(`side.${hand}`)} ${faces.join(" ") || "–"} = ${coup[`${hand}_total`] ?? "–"}  `);
  }

  #button(command, act) {
    const button = el("button.act", { type: "button", data: { command, key: `record-${command}` } }, this.station.word(`record.${command}`));
    return this.station.bind(button, { command: "", roles: ["supervisor"], act });
  }

  #ask(command, fields, build) {
    const { station } = this;
    const coup = this.found.coup.id;
    askFor(station, {
      command,
      fields,
      about: `${station.word("station.coup")} ${coup}`,
      build: (values) => ({ coup, ...build(values) }),
      preview: (shown) => previewOf(shown, station, this.#decimals()),
      onDone: () => this.again(),
    });
  }

  #hands() {
    const faces = (hand) => this.found.coup.cards.filter((card) => card.hand === hand && card.card).map((card) => card.card);
    const value = { player: faces("player"), banker: faces("banker") };
    this.#ask("correct_hands", [{ name: "hands", kind: "hands", value }, reason], ({ hands, ...others }) => ({ ...hands, ...others }));
  }

  /** Ask for another of the table's rulebooks. */
  #rulebook() {
    const { library, rulebook } = this.station.state;
    const known = new Map([...library, rulebook].map((each) => [each.hash, each]));
    known.delete(this.found.rulebook_hash);
    // Versions of one rulebook are told apart by what the log names them by.
    const twins = (id) => [...known.values()].filter((each) => each.id === id).length > 1 || id === this.found.rulebook;
    const options = [...known.values()].map(({ hash, id, title }) => ({
      value: hash,
      text: `${id}${twins(id) ? ` (${hash.slice(0, 12)})` : ""}: ${title}`,
    }));
    this.#ask("correct_rulebook", [{ name: "rulebook", kind: "select", options }, reason], (values) => ({
      rulebook: known.get(values.rulebook)?.id ?? "",
      rulebook_hash: values.rulebook,
      reason: values.reason,
    }));
  }

  #void() {
    this.#ask("void_coup", [reason], (values) => values);
  }

  /** Return the decimals of the found coup's amounts: those of its own rulebook. */
  #decimals() {
    const { library, rulebook } = this.station.state;
    const own = library.find(({ hash }) => hash === this.found.rulebook_hash);
    return (own ?? rulebook).decimals;
  }

  #wagerText(wager) {
    const { word } = this.station;
    return `${word("dealer.seat", { seat: wager.seat })}: ${betName(wager.bet, word)} ${money(wager.stake, this.#decimals())}`;
  }

  /** Ask for the wager, and then for what it really was. */
  #wager() {
    const { station } = this;
    const { word } = station;
    const { wagers } = this.found.coup;
    const options = [
      ...wagers.map((wager) => ({ value: wager.id, text: this.#wagerText(wager) })),
      { value: "", text: word("record.left_out") },
    ];
    const chosen = el("select", {}, ...options.map(({ value, text }) => el("option", { value }, text)));
    const next = el("button.go", { type: "button" }, word("form.next"));
    const cancel = el("button.cancel", { type: "button" }, word("form.cancel"));
    const dialog = el(
      "dialog.ask",
      { aria: { label: word("command.correct_wager") } },
      el("header", {}, el("h2", {}, word("command.correct_wager"))),
      el("div.body", {}, el("label", {}, el("span", {}, word("field.wager")), chosen)),
      el("div.buttons", {}, cancel, next),
    );
    cancel.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    next.addEventListener("click", () => {
      const wager = wagers.find((each) => each.id === chosen.value) ?? null;
      dialog.close();
      this.#wagerTo(wager);
    });
    byId("station").append(dialog);
    dialog.showModal();
  }

  #wagerTo(wager) {
    const { word, state } = this.station;
    const { currency, bets } = state.rulebook;
    const decimals = this.#decimals();
    const stands = [
      { value: "yes", text: word("record.stood") },
      { value: "no", text: word("record.not_laid") },
    ];
    const ids = [...new Set([...(wager ? [wager.bet] : []), ...bets.map((bet) => bet.id)])];
    const fields = [
      ...(wager ? [{ name: "stands", kind: "select", value: "yes", options: stands }] : []),
      { name: "seat", kind: "number", min: 1, value: wager?.seat ?? 1 },
      { name: "bet", kind: "select", value: wager?.bet ?? "", options: ids.map((value) => ({ value, text: betName(value, word) })) },
      {
        name: "stake",
        kind: "text",
        label: `${word("field.stake")} (${currency})`,
        value: wager ? typed(wager.stake, decimals) : "",
        read: (text) => parseMoney(text, decimals) ?? text,
      },
      reason,
    ];
    this.#ask("correct_wager", fields, ({ stands: stood, seat, bet, stake, reason: why }) => ({
      wager: wager?.id ?? null,
      to: stood === "no" ? null : { seat, bet, stake, patron: wager?.patron ?? null, kind: wager?.kind ?? "chips" },
      reason: why,
    }));
  }
}

/** Describe a correction's effect: the result, and what each seat gains or gives back. */
export function previewOf({ events }, { word }, decimals) {
  const of = (type) => events.filter((event) => event.type === type).map((event) => event.data);
  const completed = of("deal_completed").at(-1);
  const differences = of("coup_settled").flatMap(({ settlement }) => settlement.difference ?? []);
  const refunds = of("coup_voided").flatMap(({ refunds: each }) => each ?? []);
  const owes = of("commission_accrued").length || of("commission_reversed").length;
  const backTo = of("commission_refunded").flatMap(({ method, amounts }) => (method === "paid" ? amounts : []));
  return el(
    "div",
    {},
    el("h3", {}, word("preview.title")),
    completed
      ? el("p", {}, `${word(`winner.${completed.winner}`)}: ${word("side.player")} ${completed.player_total}, ${word("side.banker")} ${completed.banker_total}`)
      : null,
    differences.length ? differenceTable(differences, { held: heldBack(of), backTo }, decimals, word) : null,
    ...refunds.map(({ seat, stake }) => el("p", {}, word("preview.refund", { seat, stake: money(stake, decimals) }))),
    differences.length || refunds.length || backTo.length ? null : el("p", {}, word("preview.no_money")),
    ...backTo.map((payer) =>
      el("p", {}, word("preview.commission_back", { who: payerOf(payer, word), amount: money(payer.amount, decimals) })),
    ),
    owes ? el("p", {}, word("preview.commission")) : null,
  );
}

/** Return, by seat, the commission that the corrected payments keep back; below zero, that they give. */
function heldBack(of) {
  const held = new Map();
  const add = (sign, type) => {
    for (const { method, amounts } of of(type)) {
      if (method !== "deducted") continue;
      for (const { seat, amount } of amounts) held.set(seat, (held.get(seat) ?? 0) + sign * amount);
    }
  };
  add(1, "commission_collected");
  add(-1, "commission_refunded");
  return held;
}

/** Draw the chips of each seat, commission that the patron pays by hand left out, and the house's sum of all. */
function differenceTable(all, { held, backTo }, decimals, word) {
  const signed = (amount) => money(amount, decimals, { signed: true });
  const differences = all.map((each) => {
    const back = each.commission ? (held.get(each.seat) ?? 0) : 0;
    if (back) held.delete(each.seat);
    return { ...each, gets: each.paid + each.commission - back - each.staked };
  });
  const handed = [...differences.map(({ gets }) => gets), ...backTo.map(({ amount }) => amount)];
  const house = handed.reduce((sum, amount) => sum - amount, 0);
  return el(
    "table.difference",
    {},
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, word("field.seat")),
        ...["gets", "commission"].map((head) => el("th.amount", { scope: "col" }, word(`field.${head}`))),
      ),
    ),
    el(
      "tbody",
      {},
      ...differences.map(({ seat, gets, commission }) =>
        el(
          "tr",
          { data: { seat, paid: gets } },
          el("td", {}, word("dealer.seat", { seat })),
          el("td.amount", {}, `${signed(gets)} ${word(gets < 0 ? "preview.gives_back" : "preview.gets")}`),
          el("td.amount", {}, signed(commission)),
        ),
      ),
    ),
    el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, word("preview.house")), el("td.amount", {}, signed(house)), el("td", {}))),
  );
}
