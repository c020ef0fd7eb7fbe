// Shows a coup with another card next to what happened. The table computes it, never the page.

import { cardElement, cardPad, choose, faceName, faceText } from "../cards.js";
import { el, fill } from "../dom.js";
import { money } from "../money.js";
import { betName } from "../wagers.js";
import { recordTeller } from "../words.js";

// Events that tell the face of a card; the last one of a place is the one that counts.
const FACED = ["card_dealt", "card_disclosed", "card_entered", "card_corrected"];

/** The panel below the coup. */
export class WhatIf {
  constructor(station, told, ask) {
    this.station = station;
    this.told = told;
    this.ask = ask;
    this.changes = new Map();
    this.asked = 0;
    const { word } = station;
    this.cards = el("div.choices");
    this.said = el("p.said", { role: "alert" });
    this.shown = el("div.beside", { role: "status" });
    this.reset = el("button", { type: "button", hidden: true, on: { click: () => this.#clear() } }, word("replay.reset"));
    this.element = el(
      "section.what-if",
      {},
      el("h2", {}, word("replay.what_if")),
      el("p", {}, word("replay.what_if_hint")),
      this.cards,
      this.reset,
      this.said,
      this.shown,
    );
    this.#draw();
  }

  /** Return the cards, with the positions at which their faces became known. */
  #places() {
    const { story, steps } = this.told;
    const known = new Map();
    steps.forEach((step, index) => {
      if (!FACED.includes(story.lines[index].type)) return;
      const before = steps[index - 1]?.cards ?? [];
      for (const card of step.cards) {
        const was = before.find((each) => each.hand === card.hand && each.number === card.number);
        if (card.card && was?.card !== card.card) {
          known.set(`${card.hand} ${card.number}`, { ...card, position: step.position });
        }
      }
    });
    const last = new Set(steps.at(-1).cards.map((card) => `${card.hand} ${card.number}`));
    return [...known].filter(([place]) => last.has(place)).map(([, card]) => card);
  }

  #draw() {
    const { word } = this.station;
    const buttons = this.#places().map((card) => {
      const face = this.changes.get(card.position) ?? card.card;
      const place = word("next.place", { hand: word(`side.${card.hand}`), number: card.number });
      return el(
        `button.card.suit-${face[1]}`,
        {
          type: "button",
          data: { position: card.position, key: `what-if-${card.position}`, changed: String(this.changes.has(card.position)) },
          aria: { label: `${place}: ${faceName(face, word)}` },
          on: { click: () => this.#choose(card, place) },
        },
        faceText(face),
        el("i", {}, `${word(`side.${card.hand}`)[0]}${card.number}`),
      );
    });
    fill(this.cards, ...buttons);
    this.reset.hidden = this.changes.size === 0;
  }

  #choose(card, place) {
    const { word } = this.station;
    const pad = cardPad((face) => {
      dialog.close();
      if (face === card.card) this.changes.delete(card.position);
      else this.changes.set(card.position, face);
      this.#draw();
      this.#think();
    }, word);
    choose(pad, this.changes.get(card.position) ?? card.card);
    const cancel = el("button.cancel", { type: "button", on: { click: () => dialog.close() } }, word("form.cancel"));
    const dialog = el("dialog.ask", { aria: { label: place } }, el("header", {}, el("h2", {}, place)), el("div.body", {}, pad), el("div.buttons", {}, cancel));
    dialog.addEventListener("close", () => dialog.remove());
    this.element.append(dialog);
    dialog.showModal();
  }

  #clear() {
    this.changes.clear();
    this.#draw();
    fill(this.shown);
    this.said.textContent = "";
    this.cards.querySelector("button")?.focus();
  }

  async #think() {
    this.asked += 1;
    const mine = this.asked;
    fill(this.shown);
    if (!this.changes.size) return;
    const changes = [...this.changes].map(([position, face]) => ({ position, face }));
    const found = await this.ask("what_if", { coup: this.told.story.coup, changes }, this.said);
    if (found && mine === this.asked) this.#beside(found);
  }

  #beside({ happened, instead, sequence, wagers, spoken }) {
    const tell = recordTeller(this.station.recordWords, spoken ?? {});
    const { word } = this.station;
    const { decimals } = this.told.story;
    const amount = (minor, signed = false) => (minor === null ? "–" : money(minor, decimals, { signed }));
    const bets = new Map(this.told.wagers.map(({ id, bet }) => [id, bet]));
    const known = wagers.filter(({ difference }) => difference !== null);
    const together = known.reduce((sum, { difference }) => sum + difference, 0);
    const heads = [word("field.seat"), word("field.bet"), word("replay.happened"), word("replay.instead"), word("field.gets")];
    fill(
      this.shown,
      this.#side("happened", happened, tell),
      this.#side("instead", instead, tell),
      el(
        "div.sequence",
        {},
        ...sequence.map((said) => el("p", {}, tell(said))),
      ),
      wagers.length
        ? el(
            "table",
            {},
            el("thead", {}, el("tr", {}, ...heads.map((head, column) => el(column < 2 ? "th" : "th.amount", { scope: "col" }, head)))),
            el(
              "tbody",
              {},
              ...wagers.map((wager) =>
                el(
                  "tr",
                  { data: { seat: wager.seat, difference: wager.difference ?? "" } },
                  el("td", {}, String(wager.seat)),
                  el("td", {}, bets.has(wager.wager) ? betName(bets.get(wager.wager), word) : tell(wager.name)),
                  el("td.amount", {}, amount(wager.happened?.paid ?? null)),
                  el("td.amount", {}, amount(wager.instead?.paid ?? null)),
                  el("td.amount", {}, amount(wager.difference, true)),
                ),
              ),
            ),
            known.length
              ? el(
                  "tfoot",
                  {},
                  el("tr", {}, el("th", { scope: "row", colSpan: 4 }, word("replay.difference")), el("td.amount", {}, amount(together, true))),
                )
              : null,
          )
        : null,
    );
  }

  #side(name, side, tell) {
    const { word } = this.station;
    const outcome = side.winner ? word(`winner.${side.winner}`) : word("replay.open_end");
    return el(
      "div.side",
      { data: { side: name } },
      el("h3", {}, word(`replay.${name}`)),
      ...["player", "banker"].map((hand) =>
        el(
          `div.hand.${hand}`,
          { data: { won: String(side.winner === hand) } },
          el("h4", {}, word(`side.${hand}`), " ", el("b", {}, String(side[`${hand}_total`] ?? "–"))),
          el("div.row", {}, ...side[hand].map((card) => cardElement({ card, source: "shoe" }, word))),
        ),
      ),
      el("p.outcome", {}, outcome),
      ...side.rules.map((rule) => el("p.detail", {}, tell(rule))),
    );
  }
}
