// The form for the table's own limits of each bet and of a coup; they apply from the next coup on.

import { el } from "./dom.js";
import { askFor } from "./forms.js";
import { parseMoney, typed } from "./money.js";
import { betName } from "./wagers.js";

const OF_A_BET = ["minimum", "maximum", "step", "table_maximum"];
const OF_ALL = ["table_maximum", "differential", "patron_maximum", "seat_maximum"];
const PER = ["patron", "seat", "spot", "wager"];

/**
 * Ask for all limits at once; an empty field keeps the rulebook's limit.
 *
 * @param {import("./station.js").Station} station
 */
export function askForLimits(station) {
  const { word, state } = station;
  const { currency, bets } = state.rulebook;
  const amount = (name, label, value) => moneyInput({ name, label, value, currency, word });
  const rows = bets.map((bet) => ({
    bet: bet.id,
    inputs: OF_A_BET.map((name) =>
      amount(`${bet.id}-${name}`, `${betName(bet.id, word)}: ${word(LABELS[name])}`, bet[name]),
    ),
    per: perInput(bet, word),
  }));
  const whole = OF_ALL.map((name) => ({
    name,
    input: amount(name, word(`field.${name}`), state.rulebook[name]),
  }));
  askFor(station, {
    command: "set_limits",
    about: `${word("limits.about")} (${currency})`,
    fields: [
      {
        name: "bets",
        kind: "own",
        element: betTable(rows, word),
        read: () => rows.map((row) => limitsOf(row, currency)),
      },
      ...whole.map(({ name, input }) => ({
        name,
        kind: "own",
        element: el("label", {}, el("span", {}, word(`field.${name}`)), input),
        read: () => parseMoney(input.value, currency),
      })),
    ],
  });
}

const LABELS = {
  minimum: "limits.minimum",
  maximum: "limits.maximum",
  step: "field.step",
  table_maximum: "limits.of_table",
};

function betTable(rows, word) {
  const heads = ["field.bet", ...OF_A_BET.map((name) => LABELS[name]), "field.per"];
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
        ...rows.map(({ bet, inputs, per }) => {
          const cells = [...inputs, per].map((input) => el("td", {}, input));
          return el("tr", {}, el("th", { scope: "row" }, betName(bet, word)), ...cells);
        }),
      ),
    ),
  );
}

/** Return one bet's limits for the command. */
function limitsOf({ bet, inputs, per }, currency) {
  const amounts = inputs.map((input, n) => [OF_A_BET[n], parseMoney(input.value, currency)]);
  return { bet, ...Object.fromEntries(amounts), per: per.value };
}

/** Create the choice of what a bet's minimum and maximum bind. */
function perInput({ id, per }, word) {
  const options = PER.map((value) => el("option", { value }, word(`per.${value}`)));
  const label = `${betName(id, word)}: ${word("field.per")}`;
  const input = el("select", { name: `${id}-per`, aria: { label } }, ...options);
  input.value = per;
  return input;
}

/** Create a field for an amount; it may be empty, and the form refuses anything else. */
function moneyInput({ name, label, value, currency, word }) {
  const input = el("input", {
    name,
    value: value === null ? "" : typed(value, currency),
    autocomplete: "off",
    inputMode: "decimal",
    maxLength: 16,
    aria: { label },
  });
  input.addEventListener("input", () => {
    const wrong = input.value.trim() !== "" && parseMoney(input.value, currency) === null;
    input.setCustomValidity(wrong ? word("limits.not_money") : "");
  });
  return input;
}
