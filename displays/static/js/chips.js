// The forms for the table's chips: float, fills, credits, counts. People type pieces by value and
// never a sum; the form shows the sum next to them.

import { nextOfDay } from "./day_number.js";
import { signatures } from "./countersign.js";
import { byId, el, fill } from "./dom.js";
import { askFor } from "./forms.js";
import { money, parseMoney } from "./money.js";
import { betName } from "./wagers.js";

const SPARE_ROWS = 2;

const slip = [
  { name: "slip", kind: "text" },
  { name: "reference", kind: "text", required: false },
];

/** The fields of each command, in addition to chips and signatures. */
const FIELDS = {
  open_float: ({ state }) => [{ name: "float_id", kind: "text", value: nextOfDay(state.floats.at(-1)?.float_id) }],
  fill: () => slip,
  credit: () => slip,
  count_chips: () => [{ name: "occasion", kind: "text", required: false }],
  close_float: () => [],
  correct_chips: ({ state, word }) => [
    { name: "float_id", kind: "text", value: state.floats.at(-1)?.float_id ?? "" },
    {
      name: "move",
      kind: "select",
      options: ["opening", "fill", "credit", "closing"].map((value) => ({ value, text: word(`move.${value}`) })),
    },
    { name: "slip", kind: "text", required: false },
    { name: "reason", kind: "reason" },
  ],
};

/**
 * Ask for pieces by value, and for signatures.
 *
 * @param {import("./station.js").Station} station
 * @param {string} command
 */
export function askForChips(station, command) {
  const { word, state } = station;
  const { currency } = state.rulebook;
  askFor(station, {
    command,
    about: `${word("chips.about")} (${currency})`,
    fields: [
      ...FIELDS[command](station),
      pieces(state.rulebook, word),
      signatures(word),
    ],
    build: (values) => (command === "open_float" ? { currency, ...values } : values),
  });
}

/** Create rows of a value and a number of pieces; rows without a number are ignored. */
function pieces({ decimals, chips }, word) {
  const values = [...chips.map((value) => money(value, decimals)), ...Array(SPARE_ROWS).fill("")];
  const rows = values.map((value, n) => row({ value, n, decimals, word }));
  const total = el("output", {});
  const said = () => rows.filter(({ count }) => count.value !== "");
  const read = () =>
    said().map(({ worth, count }) => ({ denomination: parseMoney(worth.value, decimals), pieces: Number(count.value) }));
  const add = () => {
    const sum = read().reduce((so_far, each) => so_far + (each.denomination ?? 0) * each.pieces, 0);
    total.textContent = `${word("chips.total")} ${money(sum, decimals)}`;
  };
  const heads = ["chips.value", "chips.pieces"].map((head) => el("th", { scope: "col" }, word(head)));
  const body = rows.map(({ worth, count }) => el("tr", {}, el("td", {}, worth), el("td", {}, count)));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...body));
  const element = el("div.limits.chips", { on: { input: add } }, table);
  add();
  return { name: "chips", kind: "own", element, foot: total, read };
}

function row({ value, n, decimals, word }) {
  const worth = el("input", {
    name: `worth-${n}`,
    value,
    autocomplete: "off",
    inputMode: "decimal",
    maxLength: 16,
    aria: { label: word("chips.value") },
  });
  const count = el("input", {
    name: `pieces-${n}`,
    type: "number",
    min: 0,
    step: 1,
    autocomplete: "off",
    aria: { label: `${word("chips.pieces")} ${value}`.trim() },
  });
  const judge = () => {
    const wrong = count.value !== "" && !parseMoney(worth.value, decimals);
    worth.setCustomValidity(wrong ? word("limits.not_money") : "");
  };
  for (const input of [worth, count]) input.addEventListener("input", judge);
  return { worth, count };
}

/** Show how payments are rounded, and a payment that the table's chips cannot make up. */
export function drawPayable(container, { decimals, unit, payout_rounding, chips, unpayable }, word) {
  const said = { unit: money(unit, decimals), chip: money(chips[0], decimals) };
  const example = unpayable && {
    bet: betName(unpayable.bet, word),
    stake: money(unpayable.stake, decimals),
    paid: money(unpayable.paid, decimals),
  };
  fill(
    container,
    el("p", {}, word(`chips.rounded.${payout_rounding}`, said)),
    example ? el("p.unpayable", {}, `⚠ ${word(unpayable.category ? "chips.unpayable" : "chips.no_stake", example)}`) : null,
  );
}

/** Draw the newest float as sums: opening, fills, credits, counts. */
export function drawFloat(container, { floats }, word) {
  const newest = floats.at(-1);
  if (!newest) {
    fill(container, el("p", {}, word("chips.none")));
    return;
  }
  const { decimals, slips } = newest;
  const rows = [
    [word("chips.float"), `${newest.float_id} · ${word(newest.closing === null ? "chips.open" : "chips.closed")}`],
    [word("move.opening"), money(newest.opening, decimals)],
    ...slips.map((each) => [`${word(`move.${each.move}`)} ${each.slip}`, money(each.amount, decimals)]),
    newest.counted === null ? null : [word("chips.counted"), money(newest.counted, decimals)],
    newest.closing === null ? null : [word("move.closing"), money(newest.closing, decimals)],
    newest.drop === null ? null : [word("chips.drop"), money(newest.drop, decimals)],
  ].filter(Boolean);
  fill(container, el("dl.health", {}, ...rows.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])));
}
