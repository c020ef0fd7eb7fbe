// The pit's page: problems that need a person and their remedies, and corrections of coups.

import { actButton, placeButtons } from "./command_buttons.js";
import { drawFloat, drawPayable } from "./chips.js";
import { Record } from "./correct.js";
import { byId, el, fill } from "./dom.js";
import { askFor } from "./forms.js";
import { listenForShortcuts, shortcutSwitch } from "./key_presses.js";
import { money, parseMoney, typed } from "./money.js";
import { bead, big, drawRoad } from "./roads/draw.js";
import { beadPlate, bigRoad, columnsOf } from "./roads/grid.js";
import { Station } from "./station.js";
import { alarmName, drawHands, drawNext, drawStrip, reasonOf } from "./table_strip.js";
import { payerOf, refundLines } from "./wagers.js";
import { language } from "./words.js";

const STANDING = {
  true: { kind: "ok", mark: "✓" },
  false: { kind: "not", mark: "✗" },
  null: { kind: "unknown", mark: "·" },
};
const LEAST = { bead_plate: 14, big_road: 24 };
const COUPS_SHOWN = 8;
const DISK = ["log_unwritable", "log_unsound"];
const DOUBTS = ["coup_misaligned", "result_disputed"]; // of the coup on the table

const station = await Station.open();
const { word } = station;
const record = new Record(station);
let health = { live: false, reason: "server" };

placeButtons(station, "pit");
byId("acts").append(
  actButton(station, "void_coup", {
    key: "V",
    act: () => record.show(station.state.coup.id).then(() => byId("on-record").querySelector(".act[data-command=void_coup]")?.click()),
  }),
);
document.querySelector(".who form").before(shortcutSwitch(word));
listenForShortcuts(undefined, (button) => station.shut(button));
station.onHealth((now) => {
  health = now;
  if (station.state) drawHealth(station.state);
});

function render(state) {
  drawStrip(state, word);
  drawHands(state, word);
  drawNext(state, station);
  drawRoads(state);
  drawAlarms(state);
  drawHealth(state);
  drawCommission(state);
  drawPayable(byId("payable"), state.rulebook, word);
  drawFloat(byId("float"), state, word);
  record.offer(state);
}

/** Draw the roads of the shoe, and its last coups, each of which opens on record. */
function drawRoads({ shoe }) {
  const beads = shoe?.roads.bead_plate ?? [];
  const roads = { bead_plate: beadPlate(beads, shoe?.side_wins), big_road: bigRoad(shoe?.roads.big_road ?? [], beads, shoe?.side_wins) };
  const shapes = { bead_plate: (cell) => bead(cell, word), big_road: big };
  for (const [id, cells] of Object.entries(roads)) {
    byId(id).dataset.columns = columnsOf(cells, LEAST[id], null);
    drawRoad(byId(id), cells, shapes[id]);
  }
  const coups = Array.from({ length: Math.min(COUPS_SHOWN, shoe?.coups ?? 0) }, (_, back) => shoe.coups - back);
  fill(
    byId("last-coups"),
    coups.length ? el("span", {}, word("pit.last_coups")) : null,
    ...coups.map((number) => {
      const open = () => record.show(`${shoe.id}/${number}`);
      return el("button.coup-number", { type: "button", data: { key: `coup-${number}` }, on: { click: open } }, String(number));
    }),
  );
}

/** Draw the open alarms, with their meaning and remedy. The table decides which can be acknowledged. */
function drawAlarms({ alarms, link, coup }) {
  const hint = (name) => {
    const key = `hint.${name.startsWith("shoe_error_") ? "shoe_error" : name}`;
    return word(key) === key ? "" : word(key);
  };
  fill(
    byId("alarm-list"),
    ...alarms.map((alarm) => {
      return el(
        "li.alarm",
        { data: { alarm: alarm.name } },
        el("b", {}, `⚠ ${alarmName(alarm, word)}`),
        DOUBTS.includes(alarm.name) ? el("p", {}, `${coup.id}: ${reasonOf(coup, station)}`) : alarmText(alarm),
        hint(alarm.name) ? el("p.hint", {}, hint(alarm.name)) : null,
        wayOut(alarm, link),
      );
    }),
    alarms.length ? null : el("li", {}, `✓ ${word("pit.no_alarms")}`),
  );
}

/** Create an alarm's text; what has no form in the page's language is the table's English. */
function alarmText({ text }) {
  const told = station.tell(text);
  return el("p", { lang: told === text ? "en" : language }, told);
}

/** Create an alarm's button, where it has one: clear a shoe's error or silence by name, release a held shoe, or acknowledge. */
function wayOut({ name }, link) {
  const silent = name === "link_down" && link.state === "stalled";
  const code = silent ? "stalled" : name.startsWith("shoe_error_") ? name.slice("shoe_error_".length) : null;
  const held = name === "shoe_held";
  const command = code ? "clear_shoe_error" : held ? "release_shoe" : "acknowledge_alarm";
  if (command === "acknowledge_alarm" && !station.state.acknowledgeable?.includes(name)) return null;
  const reason = { name: "reason", kind: "reason" };
  const shoe = { name: "shoe", kind: "text", value: station.state.shoe?.id };
  const button = el("button", { type: "button", data: { key: name, command } }, word(`command.${command}`));
  return station.bind(button, {
    command: "",
    roles: code ? ["supervisor", "technician"] : held ? ["supervisor"] : [],
    act: () =>
      code || held
        ? askFor(station, {
            command,
            fields: held ? [shoe, reason] : [reason],
            build: (values) => (held ? values : { code, ...values }),
          })
        : station.send(button, command, { alarm: name }),
  });
}

/** Draw a component's health: a mark, a word, and its details. */
function drawHealth(state) {
  const { link, catching_up, alarms } = state;
  const { live, reason } = health;
  const disk = alarms.find((alarm) => DISK.includes(alarm.name));
  const linked = ["open", "up"].includes(link.state);
  const rows = [
    ["server", reason !== "server", ""],
    ["bus", live || !["server", "bus"].includes(reason), ""],
    ["table", live, catching_up ? word("health.catching_up") : ""],
    ["shoe", linked && !link.errors.length && !link.locked, [word(`link.${link.state}`), ...link.errors, link.locked ? word("health.locked") : ""].filter(Boolean).join(", ")],
    ["disk", !disk, disk ? station.tell(disk.text) : ""],
    ...cageRows(state),
  ];
  // One line, until something is bad.
  byId("health").dataset.well = rows.some(([, ok]) => ok === false) ? "no" : "yes";
  fill(
    byId("health"),
    ...rows.map(([name, ok, text]) =>
      el(
        "div",
        {},
        el("dt", {}, word(`health.${name}`)),
        el(
          `dd.${STANDING[ok].kind}`,
          { data: { health: name } },
          `${STANDING[ok].mark} `,
          el("span", {}, [word(`health.${STANDING[ok].kind}`), text].filter(Boolean).join(": ")),
        ),
      ),
    ),
  );
}

/** Draw each durable consumer that the table lists; without any, show that none has registered. */
function cageRows({ consumers, position }) {
  if (!consumers.length) return [["cage", null, word("health.cage_none")]];
  return consumers.map((each) => {
    const owes =
      each.waiting_s === null
        ? word("health.cage_all")
        : word("health.cage_waits", { seconds: each.waiting_s });
    const heard =
      each.heard_s === null ? word("health.cage_silent") : word("health.cage_heard", { seconds: each.heard_s });
    const stands = word("health.cage_position", { position: each.position, head: position });
    return ["cage", !each.overdue, [each.name, owes, stands, heard].join(" · ")];
  });
}

/** Draw the debts of commission, each with its buttons, and what goes back after a correction. */
function drawCommission({ commission }) {
  const button = (command, debt, act) => {
    const key = [command, debt.seat, debt.patron ?? "", debt.coup].join("-");
    const made = el("button", { type: "button", data: { key, command } }, word(`short.${command}`));
    return station.bind(made, { command: "", roles: ["supervisor"], act: () => act(made) });
  };
  const about = (debt) => [payerOf(debt, word), word("commission.of_coup", debt)].join(" · ");
  const row = (title, debt, amount, ...buttons) =>
    el("li", { data: { seat: debt.seat } }, el("span", {}, `${about(debt)} · ${word(title)} ${money(amount, debt.decimals)}`), ...buttons);
  const named = ({ seat, patron, coup }) => ({ seat, patron: patron ?? "", coup });
  const recover = (debt) =>
    askFor(station, {
      command: "recover_commission",
      about: about(debt),
      fields: [
        { name: "amount", kind: "text", value: typed(debt.uncollected, debt.decimals), read: (text) => parseMoney(text, debt.decimals) ?? text },
      ],
      build: (values) => ({ ...named(debt), ...values }),
    });
  const giveUp = (debt) =>
    askFor(station, {
      command: "mark_uncollected",
      about: about(debt),
      fields: [{ name: "reason", kind: "reason" }],
      build: (values) => ({ ...named(debt), ...values }),
    });
  const owed = commission.debts.filter(({ outstanding }) => outstanding);
  const gone = commission.debts.filter(({ uncollected }) => uncollected);
  const rows = [
    ...owed.map((debt) =>
      row(
        "commission.owes",
        debt,
        debt.outstanding,
        button("collect_commission", debt, (made) => station.send(made, "collect_commission", { ...named(debt), amount: debt.outstanding })),
        button("mark_uncollected", debt, () => giveUp(debt)),
      ),
    ),
    ...gone.map((debt) =>
      row("commission.given_up", debt, debt.uncollected, button("recover_commission", debt, () => recover(debt))),
    ),
  ];
  const list = rows.length ? el("ul", {}, ...rows) : el("p", {}, word("commission.none"));
  fill(byId("commission"), ...refundLines(commission, word), list);
}

station.watch(render);
