// The table's commands as big buttons, for dealer and pit alike. A dialog asks for a command's
// details; a button's title shows why the table refuses the command now.

import { askForChips } from "./chips.js";
import { faceText } from "./cards.js";
import { nextOfDay } from "./day_number.js";
import { byId, el } from "./dom.js";
import { askFor } from "./forms.js";
import { askForLimits } from "./limits.js";
import { previewOf } from "./correct.js";

const reason = { name: "reason", kind: "reason" };
const SUPERVISOR = ["supervisor"];
const DEALER = ["dealer"];

/** Which button stands where, by page and place, and which key presses it. */
const BUTTONS = {
  dealer: {
    acts: [
      ["call_supervisor", { key: "H" }],
      ["open_betting", { key: "O" }],
      ["close_betting", { key: "C" }],
      ["mark_unreadable", { key: "M" }],
      ["enter_card", { key: "I", roles: SUPERVISOR }],
      ["correct_card", { key: "Y", roles: SUPERVISOR }],
      ["confirm_result", { key: "R", roles: SUPERVISOR }],
      ["resolve_irregularity", { key: "X" }],
      ["realign", { key: "A", roles: SUPERVISOR }],
      ["void_coup", { key: "V", roles: SUPERVISOR }],
      ["free_hand", { key: "F" }],
      ["cut_card", { key: "K" }],
      ["burn", { key: "N" }],
      ["collect_commission", { key: "G" }],
      ["end_shoe", { key: "E" }],
      ["load_shoe", { key: "L" }],
      ["take_table", { key: "D", roles: DEALER }],
    ],
  },
  pit: {
    acts: [
      ["enter_card", { key: "I" }],
      ["correct_card", { key: "Y" }],
      ["mark_unreadable", { key: "M" }],
      ["realign", { key: "A" }],
      ["confirm_result", { key: "R" }],
      ["resolve_irregularity", { key: "X" }],
    ],
    more: [
      ["resolve_irregularity", { form: "record", label: "irregularity.record", key: "J" }],
      ["replace_shoe", { key: "S" }],
      ["burn", { key: "N" }],
      ["cut_card", { key: "K" }],
      ["end_shoe", { key: "E" }],
      ["count_shoe"],
      ["load_shoe", { key: "L" }],
      ["assign_dealer", { key: "D" }],
      ["set_limits", { key: "T" }],
    ],
    chips: [["open_float"], ["fill"], ["credit"], ["count_chips"], ["close_float"], ["correct_chips"]],
  },
};

/** The cards on the table, as options of a select. */
function places(station, wanted) {
  return (station.state.coup?.cards ?? []).filter(wanted).map((card) => ({
    value: `${card.hand} ${card.number}`,
    text: `${station.word(`side.${card.hand}`)} ${card.number}${card.card ? `: ${faceText(card.card)}` : ""}`,
  }));
}

const placed = ({ place, ...others }) => {
  const [hand, number] = place.split(" ");
  return { hand, number: Number(number), ...others };
};

const shoeFields = (station) => [
  { name: "shoe", kind: "text", value: nextOfDay(station.state.shoe?.id) },
  {
    name: "decks",
    kind: "select",
    value: String(station.state.rulebook.decks),
    options: ["8", "6", "4"].map((value) => ({ value, text: value })),
    read: Number,
  },
];

function face(station, command) {
  const known = (card) => Boolean(card.card);
  const unread = places(station, (card) => !card.card);
  const due = (station.state.coup?.due ?? []).map(({ hand, number }) => ({
    value: `${hand} ${number}`,
    text: `${station.word(`side.${hand}`)} ${number}`,
  }));
  const options = command === "enter_card" ? [...unread, ...due] : places(station, known);
  // An unread card is what a face is entered for; which card else is said by whoever looks at it.
  const fields = [
    { name: "place", kind: "select", options, value: command === "enter_card" && unread.length === 1 ? unread[0].value : "" },
    ...(command === "mark_unreadable" ? [] : [{ name: "face", kind: "card" }]),
    reason,
  ];
  askFor(station, { command, fields, build: placed });
}

const inCoup = ({ state }) => !["settled", "voided", undefined].includes(state.coup?.phase);

/** Commands that need one press only, and their fields. */
const SIMPLE = new Map([
  ["open_betting", () => ({})],
  ["close_betting", (station) => ({ coup: station.state.coup?.id ?? null })],
  ["free_hand", () => ({})],
  ["take_table", () => ({})],
]);

/** The form of each other command. */
const FORMS = {
  load_shoe: (station) => askFor(station, { command: "load_shoe", fields: shoeFields(station) }),
  end_shoe: (station) => askFor(station, { command: "end_shoe", fields: [reason] }),
  burn: (station) =>
    askFor(station, { command: "burn", fields: [{ name: "cards", kind: "number" }, reason] }),
  cut_card: (station) => {
    const places_ = inCoup(station) ? ["mid_coup", "first_card"] : ["between"];
    const options = places_.map((value) => ({ value, text: station.word(`cut.${value}`) }));
    askFor(station, { command: "cut_card", fields: [{ name: "place", kind: "select", options }] });
  },
  mark_unreadable: (station) => face(station, "mark_unreadable"),
  enter_card: (station) => face(station, "enter_card"),
  correct_card: (station) => face(station, "correct_card"),
  void_coup: (station) => {
    const { coup, rulebook } = station.state;
    askFor(station, {
      command: "void_coup",
      about: `${station.word("station.coup")} ${coup?.id ?? ""}`,
      fields: [reason],
      build: (values) => ({ coup: coup?.id ?? "", ...values }),
      preview: (shown) => previewOf(shown, station, rulebook.decimals),
    });
  },
  realign: (station) => askFor(station, { command: "realign", fields: [reason] }),
  confirm_result: (station) => {
    const { coup } = station.state;
    askFor(station, {
      command: "confirm_result",
      about: coup?.winner ? `${coup.id}: ${station.word(`winner.${coup.winner}`)}` : undefined,
      fields: [reason],
    });
  },
  resolve_irregularity: (station) =>
    askFor(station, {
      command: "resolve_irregularity",
      fields: [
        {
          name: "seen",
          kind: "select",
          options: ["no", "yes"].map((value) => ({ value, text: station.word(`seen.${value}`) })),
          read: (value) => value === "yes",
        },
        reason,
      ],
      build: (values) => ({ kind: "excess_card", ...values }),
    }),
  record: (station) => {
    const kinds = ["card_to_wrong_hand", "too_few_cards", "shoe_fault", "late_wager", "limit_breach", "other"];
    const options = kinds.map((value) => ({ value, text: station.word(`irregularity.${value}`) }));
    askFor(station, {
      command: "resolve_irregularity",
      about: station.word("irregularity.about"),
      fields: [{ name: "kind", kind: "select", options }, reason],
    });
  },
  count_shoe: (station) =>
    askFor(station, {
      command: "count_shoe",
      fields: [
        { name: "shoe", kind: "text", value: station.state.shoe?.id },
        { name: "cards", kind: "number", label: station.word("field.counted") },
      ],
    }),
  replace_shoe: (station) => {
    const options = ["void", "continue"].map((value) => ({ value, text: station.word(`replace.${value}`) }));
    askFor(station, {
      command: "replace_shoe",
      fields: [...shoeFields(station), ...(inCoup(station) ? [{ name: "coup", kind: "select", options }] : []), reason],
    });
  },
  set_limits: askForLimits,
  ...Object.fromEntries(
    ["open_float", "fill", "credit", "count_chips", "close_float", "correct_chips"].map((command) => [
      command,
      (station) => askForChips(station, command),
    ]),
  ),
  call_supervisor: (station) =>
    askFor(station, { command: "call_supervisor", fields: [{ name: "reason", kind: "text", required: false }] }),
  assign_dealer: (station) =>
    askFor(station, {
      command: "assign_dealer",
      fields: [
        { name: "dealer", kind: "text", offers: JSON.parse(byId("station").dataset.dealers ?? "[]") },
        { name: "supervisor", kind: "text", required: false, read: (text) => text.trim() || null },
      ],
    }),
  collect_commission: (station) => askFor(station, { command: "collect_commission", fields: [], about: station.word("commission.all") }),
};

/** Put a page's buttons where they stand. */
export function placeButtons(station, page) {
  for (const [place, buttons] of Object.entries(BUTTONS[page]))
    byId(place).append(...buttons.map(([command, how]) => actButton(station, command, how)));
}

/**
 * Create a button for a command.
 *
 * @param {import("./station.js").Station} station
 * @param {string} command
 * @param {{key?: string, roles?: string[], form?: string, label?: string, act?: (button: HTMLElement) => void}} [how]
 */
export function actButton(station, command, { key, roles, form = command, label, act } = {}) {
  const { word } = station;
  const button = el(
    `button.act.${command}`,
    { type: "button", data: { command, key: command + form, ...(key ? { shortcut: key } : {}), ...(roles ? { roles: roles.join(" ") } : {}) } },
    el("span", {}, word(label ?? `command.${command}`)),
    key ? el("kbd", {}, key) : null,
    el("small.why", {}),
  );
  const press = () => {
    if (act) act(button);
    else if (SIMPLE.has(command)) station.send(button, command, SIMPLE.get(command)(station));
    else FORMS[form](station);
  };
  return station.bind(button, { command: form === "record" ? "" : command, roles, act: press });
}
