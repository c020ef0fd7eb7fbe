// A coup's narrative, step by step: slider, hands, events, payments.

import { cardElement } from "../cards.js";
import { el, fill } from "../dom.js";
import { money } from "../money.js";
import { saveEvidence } from "./evidence.js";
import { resultText } from "./find.js";
import { WhatIf } from "./what_if.js";
import { betName } from "../wagers.js";
import { recordTeller, timeText } from "../words.js";

const MARKS = { card: "■", money: "$", trouble: "⚠", decision: "✎", plain: "·" };
const KEYS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

/** The right side of the page: one coup's narrative. */
export class Told {
  /**
   * @param {import("../station.js").Station} station
   * @param {object} told the answer of `tell_coup`.
   * @param {(command: string, fields: object, said: HTMLElement) => Promise<?object>} ask
   */
  constructor(station, told, ask) {
    this.station = station;
    this.story = told.story;
    this.tell = recordTeller(station.recordWords, told.story.spoken ?? {});
    this.steps = told.steps;
    this.laid = told.wagers;
    this.at = this.steps.length - 1;
    this.said = el("p.said", { role: "alert" });
    const { word } = station;
    this.slider = el("input", {
      type: "range",
      id: "slider",
      min: "0",
      max: String(this.steps.length - 1),
      value: String(this.at),
      aria: { label: word("replay.steps") },
      on: { input: () => this.go(Number(this.slider.value)) },
    });
    this.now = el("div.now-step", { role: "status" });
    this.hands = el("div.hands");
    this.rules = el("div.rules");
    this.paid = el("div.paid");
    this.list = el("ol.steps", {}, ...this.steps.map((_, index) => this.#line(index)));
    this.whatIf = new WhatIf(station, told, ask);
    this.element = el("div.told-body", {}, ...this.#parts());
    this.go(this.at);
  }

  /** Handle a key that moves through the coup; return whether it was one. */
  key(event) {
    const move = KEYS[event.key];
    if (move === undefined || event.shiftKey) return false;
    this.go(this.at + move);
    return true;
  }

  /** Show a step. */
  go(index) {
    this.at = Math.max(0, Math.min(this.steps.length - 1, index));
    const { word } = this.station;
    const step = this.steps[this.at];
    const line = this.story.lines[this.at];
    this.slider.value = String(this.at);
    const text = word("replay.step", { now: this.at + 1, all: this.steps.length });
    this.slider.setAttribute("aria-valuetext", `${text}: ${this.#title(line)}`);
    fill(
      this.now,
      el("p.count", {}, `${text} · ${timeText(line.at, { date: false })} · ${this.tell(line.who)}`),
      el("h3", {}, `${MARKS[line.tone]} ${this.#title(line)}`),
      el("p", {}, this.tell(line.says)),
      ...line.details.map((detail) => el("p.detail", {}, this.tell(detail))),
      this.#raw(line),
    );
    this.now.dataset.tone = line.tone;
    fill(this.hands, this.#hand(step, "player"), this.#hand(step, "banker"));
    fill(this.rules, ...this.#rules(step));
    fill(this.paid, ...this.#wagers(step));
    for (const [at, item] of [...this.list.children].entries()) {
      item.firstChild.setAttribute("aria-current", at === this.at ? "step" : "false");
      item.dataset.past = String(at <= this.at);
    }
    const current = this.list.children[this.at];
    this.list.scrollTop = Math.max(0, current.offsetTop - this.list.clientHeight / 2);
  }

  #parts() {
    const { word } = this.station;
    const { story } = this;
    const heads = [
      resultText(story.phase === "voided" ? "void" : story.result, word),
      timeText(story.opened_at),
      gameName(story, word),
      story.dealer ? word("replay.dealer", { dealer: story.dealer }) : null,
    ];
    const evidence = el("button", { type: "button", id: "evidence", title: word("replay.evidence_hint") }, word("replay.evidence"));
    evidence.addEventListener("click", () => saveEvidence(this.station, story.coup, evidence, this.said));
    // The document that the command line prints: site, currency, zone, persons, reasons and hashes.
    const document_ = `/replay/print/${story.coup}`;
    const show = () => {
      const page = window.open(document_);
      page?.addEventListener("load", () => page.print());
    };
    const print = el("button", { type: "button", id: "print", on: { click: show } }, word("replay.print"));
    const save = el("a.save", { id: "save", href: `${document_}?save` }, word("replay.save"));
    return [
      el(
        "section.head",
        {},
        el(
          "div.about",
          {},
          el("h2.name", {}, `${word("station.coup")} ${story.coup}`),
          el("p", {}, heads.filter(Boolean).join(" · ")),
          story.reason ? el("p.detail", {}, story.reason) : null,
        ),
        el("div.tools", {}, evidence, print, save),
        this.said,
      ),
      el("section.stage", {}, this.hands, this.#scrubber(), this.now, this.rules),
      el("section.line", {}, el("h2", {}, word("replay.steps")), this.list),
      el("section.money", {}, el("h2", {}, word("replay.wagers")), this.paid, this.#changes()),
      this.whatIf.element,
    ];
  }

  #scrubber() {
    const { word } = this.station;
    const button = (name, text, move) =>
      el("button", { type: "button", data: { go: name }, aria: { label: word(`replay.${name}`) }, on: { click: () => this.go(this.at + move) } }, text);
    return el(
      "div.scrubber",
      {},
      button("first", "|◀", -Infinity),
      button("back", "◀", -1),
      this.slider,
      button("on", "▶", 1),
      button("last", "▶|", Infinity),
    );
  }

  #title({ type }) {
    const key = `event.${type}`;
    const known = this.station.word(key);
    return known === key ? type.replaceAll("_", " ") : known;
  }

  #line(index) {
    const line = this.story.lines[index];
    return el(
      "li",
      { data: { tone: line.tone } },
      el(
        "button",
        { type: "button", data: { step: index }, on: { click: () => this.go(index) } },
        el("span.tone", { aria: { hidden: "true" } }, MARKS[line.tone]),
        el("b", {}, this.#title(line)),
        el("time", { dateTime: line.at }, timeText(line.at, { date: false })),
        el("span.says", {}, this.tell(line.says)),
      ),
    );
  }

  #raw({ position, raw }) {
    const { word } = this.station;
    return el(
      "p.raw",
      {},
      word("replay.position", { position }),
      ...(raw
        ? [` · ${word("replay.raw", { offset: raw.offset, journal: raw.journal })}: `, el("code", {}, raw.hex.replace(/(..)(?=.)/g, "$1 "))]
        : []),
    );
  }

  #hand(step, hand) {
    const { word } = this.station;
    const cards = step.cards.filter((card) => card.hand === hand);
    return el(
      `div.hand.${hand}`,
      { data: { won: String(step.winner === hand) } },
      el("h3", {}, word(`side.${hand}`), " ", el("b", {}, String(step[`${hand}_total`] ?? "–"))),
      el("div.row", {}, ...cards.map((card) => cardElement(card, word))),
    );
  }

  /** Draw the applied draw rules, or the next draw and its rule. */
  #rules(step) {
    const { word } = this.station;
    const named = (rule, words) => (word(`rule.${rule}`) === `rule.${rule}` ? words : word(`rule.${rule}`));
    if (step.winner) {
      const rules = step.rules.filter(({ rule }) => rule !== "initial");
      const texts = [...new Set(rules.map(({ rule }) => named(rule, rule)))];
      return [el("h3", {}, `${word(`winner.${step.winner}`)} · ${word(`phase.${step.phase}`)}`), ...texts.map((text) => el("p", {}, text))];
    }
    const place = ({ hand, number }) => word("next.place", { hand: word(`side.${hand}`), number });
    const drawn = step.cards.filter(({ rule, number }) => rule && number === 3);
    return [
      el("h3", {}, word(`phase.${step.phase}`)),
      ...drawn.map((card) => el("p", {}, `${place(card)}: ${named(card.rule, card.rule)}`)),
      ...step.due.map((next) => el("p", {}, `${word("next.card", { place: place(next) })}: ${named(next.rule, next.words)}`)),
    ];
  }

  /** Return the settlements in force at a step: issued, and not reversed by then. */
  #standing(step) {
    const issued = this.story.settlements.filter(({ position }) => position <= step.position);
    const gone = new Set(issued.map(({ reverses }) => reverses));
    return issued.filter(({ id }) => !gone.has(id));
  }

  #wagers(step) {
    const { word } = this.station;
    const { currency, decimals } = this.story;
    const amount = (minor) => (currency ? money(minor, decimals) : String(minor));
    const settled = this.#standing(step);
    const lines = settled.flatMap(({ wagers, revision }) => wagers.map((wager) => ({ ...wager, revision })));
    if (!lines.length) {
      const { wagers, staked } = step;
      if (!wagers) return [el("p", {}, word("replay.no_wagers"))];
      const rows = this.laid.slice(0, wagers);
      return [
        el("p", {}, `${word("replay.staked", { count: wagers, amount: amount(staked) })} · ${word("replay.not_yet")}`),
        wagerTable(word, ["seat", "bet", "stake"], rows.map((wager) => [String(wager.seat), betName(wager.bet, word), amount(wager.stake)])),
      ];
    }
    const sum = (field) => lines.reduce((total, line) => total + line[field], 0);
    const revision = Math.max(...lines.map((line) => line.revision));
    return [
      el("p", {}, word("replay.pays", { staked: amount(sum("stake")), paid: amount(sum("paid")) })),
      revision > 1 ? el("p.detail", {}, `✎ ${word("replay.revision", { revision })}`) : null,
      wagerTable(
        word,
        ["seat", "bet", "result", "stake", "commission", "paid"],
        lines.map((line) => [
          String(line.seat),
          betName(line.bet, word),
          word(`outcome.${line.result}`),
          amount(line.stake),
          amount(line.commission),
          amount(line.paid),
        ]),
        lines,
      ),
      this.#reckoning(lines),
    ];
  }

  /** Draw each wager's arithmetic and its rule's source. */
  #reckoning(lines) {
    const { word } = this.station;
    return el(
      "details.reckoning",
      {},
      el("summary", {}, word("replay.reckoning")),
      ...lines.map((line) =>
        el(
          "div",
          {},
          el("b", {}, `${line.seat} · ${this.tell(line.name)}: `),
          this.tell(line.why),
          ...line.sums.map((step) => el("p", {}, this.tell(step))),
          el("p.source", {}, this.tell(line.source)),
        ),
      ),
    );
  }

  #changes() {
    const { word } = this.station;
    const { changes, currency, decimals } = this.story;
    if (!changes.length) return null;
    const amount = (minor) => (currency ? money(minor, decimals, { signed: true }) : String(minor));
    return el(
      "div.changes",
      {},
      el("h3", {}, word("replay.changes")),
      ...changes.map((change) =>
        el(
          "div.change",
          {},
          el("p", {}, [timeText(change.at), word("mark.comma"), this.tell(change.who), word("mark.colon"), change.reason || "–"].join("")),
          el("p.detail", {}, `${this.tell(change.was)} → ${this.tell(change.now)}`),
          wagerTable(word, ["seat", "gets"], change.seats.map(({ seat, owed }) => [String(seat), amount(owed)])),
        ),
      ),
    );
  }
}

/** Return the name of a story's game in the page's language, or as its rulebook has it. */
function gameName({ rulebook, rulebook_title: title }, word) {
  const key = `sign.${title}`;
  return word(key) === key ? title || rulebook : word(key);
}

/** Create a table with right-aligned amounts. */
export function wagerTable(word, heads, rows, lines = []) {
  const texts = ["seat", "bet", "result"];
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, ...heads.map((head) => el(texts.includes(head) ? "th" : "th.amount", { scope: "col" }, word(`field.${head}`))))),
    el(
      "tbody",
      {},
      ...rows.map((row, index) =>
        el(
          "tr",
          { data: { seat: row[0], result: lines[index]?.result ?? "" } },
          ...row.map((text, column) => el(texts.includes(heads[column]) ? "td" : "td.amount", {}, text)),
        ),
      ),
    ),
  );
}
