// The table's strip for dealer and pit: the line on top, the hands, and the next step.

import { cardElement } from "./cards.js";
import { byId, el, fill } from "./dom.js";

// The phases in which a winner is called: never while somebody doubts the cards.
const DECIDED = ["complete", "confirmed", "settled"];
// A shape beside each phase's word: nothing is told by colour alone.
const SHAPES = {
  betting: "●", closed: "◆", dealing: "▶", complete: "■", confirmed: "■", settled: "✓",
  voided: "✕", misaligned: "!", disputed: "!", held: "!", none: "○",
};

/** Draw the line on top. */
export function drawStrip(state, word) {
  const { coup, shoe, link } = state;
  byId("table").textContent = `${word("station.table")} ${state.table}`;
  byId("shoe").textContent = shoe ? `${word("field.shoe")} ${shoe.id}` : word("station.no_shoe");
  byId("coup").textContent = coup ? `${word("station.coup")} ${coup.id.split("/")[1]}` : "";
  const phase = coup?.phase ?? "none";
  const shown = byId("phase");
  shown.dataset.phase = phase;
  shown.textContent = `${SHAPES[phase] ?? "?"} ${word(`phase.${phase}`)}`;
  const line = byId("link");
  line.dataset.state = link.state;
  line.textContent = `${word("station.link")}: ${word(`link.${link.state}`)}`;
  byId("dealer").textContent = state.dealer ? `${word("station.dealer")} ${state.dealer}` : "";
  const alarms = byId("alarms");
  alarms.dataset.any = state.alarms.length ? "yes" : "no";
  alarms.textContent = state.alarms.length
    ? `⚠ ${state.alarms.map((alarm) => alarmName(alarm, word)).join(" · ")}`
    : "";
}

/** Return an alarm's name in the page's language. */
export function alarmName({ name }, word) {
  const key = `alarm.${name}`;
  if (word(key) !== key) return word(key);
  return name.startsWith("shoe_error_")
    ? word("alarm.shoe_error", { error: name.slice("shoe_error_".length) })
    : name;
}

/**
 * Return why a coup is held or void, in the page's language.
 *
 * @param {?{reason: string, phase: string}} coup its reason is `<name>: <detail>`, a detail alone,
 *     or, of a void coup, what a person typed: that stays as it is.
 * @param {import("./station.js").Station} station
 */
export function reasonOf(coup, { word, tell }) {
  if (coup?.phase === "voided") return coup.reason;
  const [, name, detail] = /^(?:([a-z]+_[a-z_]+): )?([^]*)$/.exec(coup?.reason ?? "");
  const key = `alarm.${name}`;
  return name && word(key) !== key ? word(key) : tell(detail);
}

/** Draw both hands. */
export function drawHands(state, word) {
  const coup = state.coup;
  const hand = (name) => {
    const cards = coup?.cards.filter((card) => card.hand === name) ?? [];
    const total = coup?.[`${name}_total`];
    return el(
      `div.hand.${name}`,
      { data: { won: String(coup?.winner === name && DECIDED.includes(coup.phase)) } },
      el("h3", {}, word(`side.${name}`), " ", el("b", {}, total ?? "–")),
      el("div.row", {}, ...cards.map((card) => cardElement(card, word))),
    );
  };
  fill(byId("hands"), hand("player"), hand("banker"));
}

/** Show the next step and its rule; use the table's text for a rule without one here. */
export function drawNext(state, station, timeUp = false) {
  const { word } = station;
  const coup = state.coup;
  const due = coup?.due ?? [];
  const next = byId("next");
  if (due.length) {
    const places = due.map(({ hand, number }) => word("next.place", { hand: word(`side.${hand}`), number }));
    const key = `rule.${due[0].rule ?? "face_down"}`;
    const why = word(key) === key ? due[0].words : word(key);
    const more = state.advice.lines.filter((line) => line !== "advice.draw").map((line) => word(line));
    fill(next, el("b", {}, word("next.card", { place: places.join(word("list.or")) })), el("span", {}, more.length ? `${why}${word("mark.stop")}${more.join(" ")}` : why));
    return;
  }
  const { lines, stop } = state.advice;
  const phase = coup?.phase ?? "none";
  const outcome = coup?.winner && DECIDED.includes(phase) && !state.shoe?.ended ? word(`winner.${coup.winner}`) : "";
  const reason = coup?.reason ? ` (${reasonOf(coup, station)})` : "";
  const now = timeUp && lines.includes("advice.close_betting") ? ["advice.time_up"] : lines;
  const says = now.map((line) => word(line)).join(" ");
  fill(next, outcome ? el("b", {}, outcome) : null, el("span", {}, says + (stop || phase === "voided" ? reason : "")));
}
