// A dialog that asks for a command's details, with a preview where the table gives one.
//
// The dialog stays open until the table has accepted the command. A press after a change of fields
// sends another transaction; a press with the same fields repeats the same one.

import { cardPad, choose, faceText } from "./cards.js";
import { signatures } from "./countersign.js";
import { byId, el, markMore } from "./dom.js";

// What a form asks for that no coup matters to: it is bound to the coup at which it is sent.
const OF_TABLE = ["open_float", "fill", "credit", "count_chips", "close_float", "correct_chips", "set_limits", "assign_dealer", "recover_commission", "mark_uncollected", "clear_shoe_error"];

const READERS = {
  number: (text) => (text === "" ? null : Number(text)),
  text: (text) => text.trim(),
};

/**
 * Ask for a command's details, and send it.
 *
 * @param {import("./station.js").Station} station
 * @param {object} form
 * @param {string} form.command
 * @param {object[]} form.fields each {name, kind, label, value?, options?, offers?, required?}; kinds are text,
 *     number, select, reason, card, hands, and `own`, which brings its `element` and its `read`, and
 *     may bring a `foot`: what of it is always in sight, beside the buttons.
 * @param {(values: object) => object} [form.build] returns the command's body from the values.
 * @param {(answer: object) => (Node|string)} [form.preview] draws what the table would do.
 * @param {(answer: object) => void} [form.onDone] called when the table has accepted the command.
 * @param {(answer: object) => boolean} [form.onRefused] of a refusal; whether each fault is at its field now.
 * @param {string} [form.about] a line that explains the command.
 */
export function askFor(station, { command, fields, build = (v) => v, preview, onDone, onRefused, about }) {
  const { word } = station;
  const controls = fields.map((field) => control(field, word));
  const shown = el("div.preview", { role: "status" });
  const said = el("p.said", { role: "alert" });
  const go = el("button.go", { type: "button" }, word(`command.${command}`));
  const look = el("button.look", { type: "button", hidden: !preview }, word("form.preview"));
  const cancel = el("button.cancel", { type: "button" }, word("form.cancel"));
  const inside = el("div.body", {}, ...controls.map((each) => each.element), shown);
  const form = el(
    "form",
    { on: { submit: (event) => event.preventDefault() } },
    el("header", {}, el("h2", { id: "form-title" }, word(`command.${command}`)), about ? el("p", {}, about) : null),
    inside,
    el("div.buttons", {}, said, ...controls.map((each) => each.foot), cancel, look, go),
  );
  const dialog = el("dialog.ask", { aria: { labelledby: "form-title" } }, form);
  let previewed = null; // the body that was previewed
  let mark = null; // and what the table bound it to
  let lines = null; // what the preview before it said
  const during = station.newestCoup(); // the coup that the form was opened for

  const body = () => {
    const values = Object.fromEntries(controls.map((each) => [each.name, each.read()]));
    return { ...build(values), ...(values.signed && { signed: values.signed }) };
  };
  const same = () => !preview || previewed === JSON.stringify(body());
  const notYet = () => (same() ? "" : word("form.preview_first"));

  const askToSign = ({ code }) => {
    if (code !== "signatures_required" || controls.some(({ name }) => name === "signed")) return;
    const asked = control(signatures(word), word);
    controls.push(asked);
    shown.before(asked.element);
  };

  const showPreview = async () => {
    if (!form.reportValidity()) return;
    const asked = body();
    const answer = await station.look("preview", {
      command,
      body: { ...asked, transaction: "preview" },
    });
    const ok = answer.result === "accepted";
    said.textContent = ok ? "" : station.told(answer);
    askToSign(answer);
    shown.replaceChildren(ok ? preview(answer.shown) : "");
    if (ok) lines = markChanges(shown, lines, word);
    mark = ok ? { position: answer.position, digest: answer.shown.digest } : null;
    markMore(inside);
    if (ok) shown.scrollIntoView({ block: "end" });
    previewed = ok ? JSON.stringify(asked) : null;
    station.refresh();
  };

  station.bind(go, {
    command: "",
    also: notYet,
    act: () => {
      if (!form.reportValidity()) return;
      const fields = preview ? { ...body(), previewed: mark } : OF_TABLE.includes(command) ? body() : { during, ...body() };
      station.send(go, command, fields, (answer) => {
        if (answer.result === "accepted" || answer.result === "exists") {
          dialog.close();
          onDone?.(answer);
        } else {
          const atFields = onRefused?.(answer);
          said.textContent = station.told(atFields ? { ...answer, text: "" } : answer);
          askToSign(answer);
          if (answer.code === "preview_outdated") showPreview();
        }
      });
    },
  });
  station.bind(look, { command: "", act: showPreview });
  cancel.addEventListener("click", () => dialog.close());
  form.addEventListener("input", () => {
    station.refresh();
    markMore(inside);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.tagName === "BUTTON") return;
    event.preventDefault();
    (same() ? go : look).click();
  });
  dialog.addEventListener("close", () => dialog.remove());
  byId("station").append(dialog);
  dialog.showModal();
  markMore(inside);
  (dialog.querySelector("[data-first]") ?? controls[0]?.element.querySelector("input, select, button") ?? go).focus();
}

/** Mark what a preview says that the one before it did not; return what it says, line by line. */
function markChanges(shown, before, word) {
  const rows = [...shown.querySelectorAll("p, tr")];
  const now = rows.map((row) => row.textContent);
  if (before && rows.some((row) => !before.includes(row.textContent))) {
    for (const row of rows) if (!before.includes(row.textContent)) row.classList.add("changed");
    shown.prepend(el("p.changed", {}, word("preview.changed")));
  }
  return now;
}

function control(field, word) {
  if (field.kind === "own") return field;
  if (field.kind === "card") return cardControl(field, word);
  if (field.kind === "hands") return handsControl(field, word);
  const { name, kind, label = word(`field.${name}`), value = "", required = true } = field;
  const input =
    kind === "select"
      ? el("select", { name, required }, ...unchosen(field, word), ...field.options.map(option))
      : el("input", { name, required, value, autocomplete: "off", maxLength: 200 });
  if (kind === "number") Object.assign(input, { type: "number", min: field.min ?? 0, step: 1 });
  if (kind === "select" && value !== "") input.value = value;
  const offers = kind === "reason" ? word("reason.usual").split("|") : field.offers;
  const list = offers?.length ? offersOf(input, name, offers) : null;
  const read = () => (field.read ?? READERS[kind] ?? READERS.text)(input.value);
  const text = el("span", {}, label);
  return { name, read, element: el("label", {}, text, input, list) };
}

/** What a select shows before a person has chosen: only where there is a choice, and nothing stands yet. */
function unchosen({ options, value = "", required = true }, word) {
  const asks = required && value === "" && options.length > 1;
  return asks ? [el("option", { value: "", disabled: true, selected: true, hidden: true }, word("form.choose"))] : [];
}

function option({ value, text }) {
  return el("option", { value }, text);
}

/** Offer texts for a field; a person can type any other. */
function offersOf(input, name, offers) {
  const id = `offers-${name}`;
  input.setAttribute("list", id);
  return el("datalist", { id }, ...offers.map((text) => el("option", { value: text })));
}

function cardControl({ name, label }, word) {
  const input = el("input.behind", { name, required: true, tabIndex: -1, aria: { hidden: "true" } });
  const pad = cardPad((face) => {
    input.value = face;
    choose(pad, face);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }, word);
  const legend = el("legend", {}, label ?? word("field.face"));
  return { name, read: () => input.value, element: el("fieldset", {}, legend, pad, input) };
}

/** Create a field for both hands: the pad adds to the chosen hand or replaces the pressed card. */
function handsControl({ name, value }, word) {
  const hands = { player: [...value.player], banker: [...value.banker] };
  const most = 3;
  let chosen = { hand: "player", slot: null };
  const rows = el("div.rows");

  const draw = () => {
    rows.replaceChildren(...["player", "banker"].map(row));
    rows.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const press = (hand, slot) => {
    const again = slot !== null && chosen.hand === hand && chosen.slot === slot;
    if (again) hands[hand].splice(slot, 1);
    chosen = { hand, slot: again ? null : slot };
    draw();
    rows.querySelector("[data-chosen=yes]")?.focus();
  };
  const part = (tag, hand, slot, text, more) => {
    const on = chosen.hand === hand && chosen.slot === slot;
    const data = { chosen: on ? "yes" : "no" };
    const click = () => press(hand, slot);
    return el(tag, { type: "button", data, aria: { pressed: String(on) }, on: { click }, ...more }, text);
  };
  const row = (hand) =>
    el(
      `div.row.${hand}`,
      {},
      part("button.hand", hand, null, word(`side.${hand}`)),
      ...hands[hand].map((face, slot) =>
        part(`button.card.suit-${face[1]}`, hand, slot, faceText(face), { title: word("card.take_out") }),
      ),
    );
  const pad = cardPad((face) => {
    const { hand, slot } = chosen;
    if (slot !== null) hands[hand][slot] = face;
    else if (hands[hand].length < most) hands[hand].push(face);
    chosen = { hand, slot: null };
    draw();
  }, word);

  draw();
  const element = el("fieldset", {}, el("legend", {}, word("field.hands")), rows, pad);
  return { name, read: () => structuredClone(hands), element };
}
