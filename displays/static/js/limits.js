// The form for the table's own limits of each bet and of a coup; they apply from the next coup on.

import { el } from "./dom.js";
import { askFor } from "./forms.js";
import { parseMoney, typed } from "./money.js";
import { betName } from "./wagers.js";

const OF_A_BET = ["minimum", "maximum", "step"];

/**
 * Ask for all limits at once; an empty field keeps the rulebook's limit.
 *
 * @param {import("./station.js").Station} station
 */
export function askForLimits(station) {
  const { word, state } = station;
  const { currency, decimals, bets, table_maximum, differential } = state.rulebook;
  const amount = (name, label, value) => moneyInput({ name, label, value, decimals, word });
  const rows = bets.map((bet) => ({
    bet: bet.id,
    inputs: OF_A_BET.map((name) =>
      amount(`${bet.id}-${name}`, `${betName(bet.id, word)}: ${word(LABELS[name])}`, bet[name]),
    ),
  }));
  const whole = [
    ["table_maximum", table_maximum],
    ["differential", differential],
  ].map(([name, value]) => ({ name, input: amount(name, word(`field.${name}`), value) }));
  askFor(station, {
    command: "set_limits",
    about: `${word("limits.about")} (${currency})`,
    fields: [
      {
        name: "bets",
        kind: "own",
        element: betTable(rows, word),
        read: () => rows.map(({ bet, inputs }) => limitsOf(bet, inputs, decimals)).filter(Boolean),
      },
      ...whole.map(({ name, input }) => ({
        name,
        kind: "own",
        element: el("label", {}, el("span", {}, word(`field.${name}`)), input),
        read: () => parseMoney(input.value, decimals),
      })),
    ],
  });
}

const LABELS = { minimum: "limits.minimum", maximum: "limits.maximum", step: "field.step" };

function betTable(rows, word) {
  const heads = ["field.bet", ...OF_A_BET.map((name) => LABELS[name])];
  return el(
    "div.limits",
    {},
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, word(head))))),
      el(
        "tbody",
        {},
        ...rows.map(({ bet, inputs }) =>
          el("tr", {}, el("th", { scope: "row" }, betName(bet, word)), ...inputs.map((input) => el("td", {}, input))),
        ),
      ),
    ),
  );
}

/** Return one bet's limits for the command; null if all are the rulebook's. */
function limitsOf(bet, inputs, decimals) {
  const values = inputs.map((input) => parseMoney(input.value, decimals));
  if (values.every((value) => value === null)) return null;
  return { bet, ...Object.fromEntries(OF_A_BET.map((name, n) => [name, values[n]])) };
}

/** Create a field for an amount; it may be empty, and the form refuses anything else. */
function moneyInput({ name, label, value, decimals, word }) {
  const input = el("input", {
    name,
    value: value === null ? "" : typed(value, decimals),
    autocomplete: "off",
    inputMode: "decimal",
    maxLength: 16,
    aria: { label },
  });
  input.addEventListener("input", () => {
    const wrong = input.value.trim() !== "" && parseMoney(input.value, decimals) === null;
    input.setCustomValidity(wrong ? word("limits.not_money") : "");
  });
  return input;
}
