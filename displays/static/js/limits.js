// The form for the table's own limits of each bet and of a coup; they apply from the next coup on.

import { el } from "./dom.js";
import { askFor } from "./forms.js";
import { money, parseMoney } from "./money.js";
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
  const { currency, decimals, bets } = state.rulebook;
  const inputs = new Map();
  const amount = (name, label, value) => {
    const input = moneyInput({ name, label, value, decimals, word });
    inputs.set(name, { input, label, was: value });
    return input;
  };
  const changes = el("ul.changes", { aria: { live: "polite" } });
  const review = () => {
    const shown = (minor) => (minor === null ? "–" : money(minor, decimals));
    const changed = [...inputs.values()].map(({ input, label, was }) => ({ label, was, now: parseMoney(input.value, decimals) }));
    const lines = changed.filter(({ was, now }) => was !== now);
    changes.replaceChildren(
      ...lines.map(({ label, was, now }) => el("li", {}, `${label}: ${shown(was)} → ${shown(now)}`)),
      ...(lines.length ? [] : [el("li", {}, word("limits.no_change"))]),
    );
  };
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
  review();
  askFor(station, {
    command: "set_limits",
    onRefused: ({ text }) => showFaults(text ?? "", inputs, { decimals, word }),
    about: `${word("limits.about")} (${currency})`,
    fields: [
      {
        name: "bets",
        kind: "own",
        element: el("div", { on: { input: review } }, betTable(rows, word)),
        read: () => rows.map((row) => limitsOf(row, decimals)),
      },
      ...whole.map(({ name, input }) => ({
        name,
        kind: "own",
        element: el("label", { on: { input: review } }, el("span", {}, word(`field.${name}`)), el("span.entry", {}, input)),
        read: () => parseMoney(input.value, decimals),
      })),
      { name: "review", kind: "own", element: el("section.review", {}, el("h3", {}, word("limits.review")), changes), read: () => undefined },
    ],
    build: ({ review: _, ...limits }) => limits,
  });
}

const LABELS = {
  minimum: "limits.minimum",
  maximum: "limits.maximum",
  step: "field.step",
  table_maximum: "limits.of_table",
};

// How the table says what is wrong with a limit, and what a person reads at its field.
const FAULTS = [
  [/^maximum (?<most>\d+) is below minimum (?<least>\d+)/, "limits.fault.below", "maximum"],
  [/^step \d+ is no multiple of (?<unit>\d+)/, "limits.fault.unit", "step"],
  [/^no multiple of step (?<step>\d+) lies/, "limits.fault.reach", "step"],
  [/^table_maximum \d+ is below (?<least>\d+)/, "limits.fault.least", "table_maximum"],
  [/^\d+ is below (?<least>\d+)/, "limits.fault.least", ""],
];

/** Show each fault of a refusal at its field, the first with the focus; return whether all have one. */
function showFaults(text, inputs, { decimals, word }) {
  for (const each of document.querySelectorAll("dialog .fault")) each.remove();
  for (const { input } of inputs.values()) input.removeAttribute("aria-invalid");
  const faults = text.split("; ");
  const faulty = faults.flatMap((line) => {
    const [, name, fault] = /^'?(\w+)'?: (.*)$/.exec(line) ?? [];
    const [form, key, field] = FAULTS.find(([each]) => each.test(fault ?? "")) ?? [/^/, "", "minimum"];
    const found = inputs.get(name) ?? inputs.get(`${name}-${field}`);
    if (!found) return [];
    const amounts = Object.entries(form.exec(fault).groups ?? {}).map(([each, minor]) => [each, money(Number(minor), decimals)]);
    const id = `fault-${found.input.name}`;
    found.input.setAttribute("aria-invalid", "true");
    found.input.setAttribute("aria-describedby", id);
    found.input.after(el("span.fault", { id }, key ? word(key, Object.fromEntries(amounts)) : fault));
    return [found.input];
  });
  faulty[0]?.focus();
  return faulty.length === faults.length;
}

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
          const cells = [...inputs, per].map((input, n) => el("td", { data: { name: word(heads[n + 1]) } }, input));
          return el("tr", {}, el("th", { scope: "row" }, betName(bet, word)), ...cells);
        }),
      ),
    ),
  );
}

/** Return one bet's limits for the command. */
function limitsOf({ bet, inputs, per }, decimals) {
  const amounts = inputs.map((input, n) => [OF_A_BET[n], parseMoney(input.value, decimals)]);
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
function moneyInput({ name, label, value, decimals, word }) {
  const input = el("input", {
    name,
    value: value === null ? "" : money(value, decimals),
    autocomplete: "off",
    inputMode: "decimal",
    maxLength: 16,
    aria: { label },
  });
  input.addEventListener("change", () => {
    const minor = parseMoney(input.value, decimals);
    if (minor !== null) input.value = money(minor, decimals);
  });
  input.addEventListener("input", () => {
    input.removeAttribute("aria-invalid");
    document.getElementById(`fault-${name}`)?.remove();
    const wrong = input.value.trim() !== "" && parseMoney(input.value, decimals) === null;
    input.setCustomValidity(wrong ? word("limits.not_money") : "");
  });
  return input;
}
