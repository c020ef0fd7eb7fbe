/**
 * The page: takes files and a key, verifies, and shows the coup. It makes no request.
 */

import { isRed, total } from "../cards.js";
import { Fault, drawRules } from "../coup.js";
import { inspectEvidence, isEvidence } from "../evidence.js";
import { LogVerifier, isExport } from "../log.js";
import { canVerify, parseCheckpoint, parseKey, splitCheckpoints } from "../note.js";
import { exactOdds } from "../odds.js";
import { roads } from "../roads.js";
import { WORDS } from "./words.js";

const TWO_DECIMALS = ["AUD", "NZD", "USD", "EUR", "GBP", "HKD", "SGD", "MOP"];
const SUIT = { S: "♠", H: "♥", D: "♦", C: "♣" };
const MARK = { player: "P", banker: "B", tie: "T" };
const state = { data: null, text: null, kept: [], language: "en", shown: null };
const by = (id) => document.getElementById(id);

/** @param {string} key @returns {string} in the page's language; the key's last word where nobody has it */
function say(key) {
  return WORDS[state.language][key] ?? WORDS.en[key] ?? key.split(".").at(-1).replaceAll("_", " ");
}

/** @param {string} tag @param {object} attributes @param {...(Node|string)} children @returns {HTMLElement} */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** @param {[string, unknown][]} rows @returns {HTMLElement} those that say something */
function list(rows) {
  const told = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make("dl", {}, ...told.flatMap(([key, value]) => [make("dt", {}, say(key)), make("dd", {}, String(value))]));
}

/** @param {string} card @returns {string} */
const face = (card) => (card ? card[0].replace("T", "10") + SUIT[card[1]] : "?");

/** @param {string} name @param {string[]} cards @returns {HTMLElement} */
function hand(name, cards) {
  const pictures = cards.map((card) => make("span", { class: card && isRed(card) ? "card red" : "card" }, face(card)));
  const points = cards.every(Boolean) && cards.length ? ` = ${total(cards)}` : "";
  return make("div", { class: "hand" }, make("b", {}, say(name)), ...pictures, points);
}

/** @param {object|null} rules @returns {(amount: number) => string} minor units as people write them */
function moneyOf(rules) {
  const decimals = rules?.decimals ?? (TWO_DECIMALS.includes(rules?.currency) ? 2 : 0);
  return (amount) => {
    if (!decimals) return String(amount);
    const digits = String(Math.abs(amount)).padStart(decimals + 1, "0");
    return `${amount < 0 ? "-" : ""}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
  };
}

/** @param {string[]} heads @param {(Node|string)[][]} rows @param {number} from the first column of amounts */
function table(heads, rows, from = 99) {
  const cells = (tag, row) => row.map((cell, i) => make(tag, i >= from ? { class: "amount" } : {}, cell));
  const body = rows.map((row) => make("tr", row.wrong ? { class: "bad" } : {}, ...cells("td", row)));
  return make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, ...cells("th", heads))), make("tbody", {}, ...body)));
}

/** What each wager got. */
function wagers(expected, rules) {
  const money = moneyOf(rules);
  const outcome = (line) => {
    const named = say(`category.${line.bet}.${line.category}`);
    return ["win", "lose", "push", "void"].includes(line.category) ? say(line.result) : `${say(line.result)}: ${named} ${line.odds ?? ""}`;
  };
  const rows = expected.lines.map((line) => [
    String(line.seat), say(`bet.${line.bet}`), outcome(line), money(line.stake), money(line.winnings), money(line.commission), money(line.paid),
  ]);
  rows.push([say("sum"), "", "", money(expected.staked), "", money(expected.commission), money(expected.paid)]);
  return table(["seat", "bet", "outcome", "stake", "winnings", "commission", "paid"].map(say), rows, 3);
}

/** @param {object} event @returns {string} the details of an event in a line */
function detail({ type, data }) {
  if (type === "shoe_reported") {
    const { report, raw = "" } = data.source;
    const { kind, ...rest } = report;
    return [say(kind), ...Object.values(rest).map(String), raw && `[${raw}]`].filter(Boolean).join(" ");
  }
  if (data.card !== undefined || data.hand) return [say(data.hand), data.number, face(data.card), data.rule ? say(`rule.${data.rule}`) : "", data.reason ?? ""].filter(Boolean).join(" ");
  if (type === "wagers_placed") return data.wagers.map(({ seat, bet, stake }) => `${say("seat")} ${seat} ${say(`bet.${bet}`)} ${stake}`).join("; ");
  if (type === "coup_settled") return `${data.settlement.settlement_id}: ${say("paid")} ${data.settlement.paid}`;
  const told = Object.entries(data).filter(([key]) => !["coup", "rules", "rulebook_hash", "was_hash"].includes(key));
  return told.map(([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
}

/** What happened, position by position. */
function steps(events, { ok, position }) {
  const rows = events.map((event) => {
    const wrong = !ok && event.position === position;
    const reached = ok || (position !== null && event.position < position);
    const row = [wrong ? `✗ ${say("wrong")}` : reached ? `✓ ${say("proved")}` : `– ${say("not_reached")}`, String(event.position), event.at.replace("T", " ").slice(0, 23), event.actor, say(`event.${event.type}`), detail(event)];
    row.wrong = wrong;
    return row;
  });
  const whole = table(["", "position", "time", "who", "what", ""].map((key) => key && say(key)), rows);
  whole.classList.add("steps");
  return whole;
}

/** The five roads of the shoe up to a coup, in letters. */
function shoeRoads(results) {
  const { big_road: columns, big_eye_boy: eye, small_road: small, cockroach_pig: pig } = roads(results);
  const big = columns.map((column) => column.map(({ winner, ties }) => winner + (ties ? `(${ties}T)` : "")).join("")).join(" ");
  return make("p", { class: "roads" }, `${results}\n${big}\n${eye}\n${small}\n${pig}`);
}

/** What the house keeps of the main wagers. */
function odds(rules) {
  const exact = exactOdds(rules);
  const rows = ["player", "banker", "tie"].filter((bet) => exact[bet]).map((bet) => {
    const [num, den] = exact[bet].edge.split("/").map(BigInt);
    const ppm = Number((num * 1000000n) / den);
    return [say(`bet.${bet}`), `${(ppm / 10000).toFixed(4)} %`, exact[bet].edge];
  });
  return make("details", {}, make("summary", {}, say("odds")), make("p", {}, say("odds_note")), table(["bet", "odds", ""].map((key) => key && say(key)), rows, 1));
}

/** @param {{coup: string, expected: object, events: object[], rules: object|null, results?: string}} view @param {object} found */
function showCoup({ coup, expected, events, rules, results }, found) {
  const { player, banker, winner } = expected;
  const applied = expected.player_total === null ? [] : drawRules(player, banker).slice(4).map(({ rule }) => say(`rule.${rule}`));
  const parts = [
    make("h2", {}, `${say("coup")} ${coup}`),
    hand("player", player),
    hand("banker", banker),
    make("p", {}, [...new Set(applied)].join(" · ")),
    list([["result", say(expected.void ? "void" : (winner ?? "hidden"))], ["rulebook", `${expected.rulebook}${rules?.currency ? `, ${rules.currency}` : ""}`]]),
    make("h2", {}, say("wagers")),
    wagers(expected, rules),
  ];
  if (expected.refunds.length) {
    const money = moneyOf(rules);
    parts.push(make("h2", {}, say("refunds")), table([say("seat"), say("stake")], expected.refunds.map(({ seat, stake }) => [String(seat), money(stake)]), 1));
  }
  if (results) parts.push(make("h2", {}, say("roads")), shoeRoads(results));
  if (rules) parts.push(odds(rules));
  parts.push(make("h2", {}, say("steps")), steps(events, found));
  by("coup").replaceChildren(...parts);
}

/** @param {boolean} ok @param {[string, unknown][]} rows */
function showVerdict(ok, rows) {
  const banner = make("p", { class: `verdict ${ok ? "good" : "bad"}` }, `${ok ? "✓" : "✗"} ${say(ok ? "ok" : "not_ok")}`);
  const notes = ok ? [make("p", {}, say("ok_means")), make("p", {}, say("cannot"))] : [];
  by("verdict").replaceChildren(banner, list(rows), ...notes);
}

/** @param {string} part @returns {string} which part is wrong, in words */
const partName = (part) => say(`part.${part.startsWith("event at") ? "event" : part}`);

/** Verify evidence and show it. */
async function runEvidence(key) {
  const { verdict, position, file, coup } = await inspectEvidence(state.data, [key]);
  state.shown = verdict;
  showVerdict(verdict.ok, [
    ["part", verdict.part && partName(verdict.part)], ["position", position], ["reason", verdict.reason], ["coup", verdict.coup],
    ["origin", verdict.origin], ["size", verdict.size], ["signed", verdict.key], ["events", verdict.ok ? verdict.events : null],
  ]);
  const events = (file?.events ?? []).flatMap(({ stored }) => {
    try {
      return [JSON.parse(stored)];
    } catch {
      return [];
    }
  });
  if (file) showCoup({ coup: file.coup, expected: file.expected, events, rules: coup?.rules ?? null }, { ok: verdict.ok, position });
}

/** Verify an exported log, and offer its coups. */
async function runLog(keys) {
  const told = new Map();
  const onCoup = (id, event, report) => {
    const events = told.get(id) ?? told.set(id, []).get(id);
    if (report && event.cause === report.cause && events.at(-1) !== report) events.push(report);
    events.push(event);
  };
  const verifier = new LogVerifier({ keys, kept: state.kept, onCoup });
  let verdict;
  try {
    for (const line of state.text.split("\n")) if (line) verifier.line(line);
    verdict = await verifier.verdict();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    verdict = { ok: false, first_bad: error.position, reason: error.message };
  }
  state.shown = verdict;
  showVerdict(verdict.ok, [
    ["position", verdict.first_bad], ["reason", verdict.reason], ["origin", verifier.header?.origin], ["events", verifier.tree.size],
    ["root", verdict.root], ["signed_to", verdict.signed_to], ["signed", verdict.keys?.join(", ")], ["unsigned", verdict.unsigned_settlements],
    ["judged", verdict.judged?.settlements], ["not_judged", verdict.judged?.not_judged], ["not_decoded", verdict.judged?.not_decoded],
  ]);
  offerCoups(verifier, told, { ok: verdict.ok, position: verdict.first_bad });
}

/** @param {LogVerifier} verifier @param {Map<string, object[]>} told @param {object} found */
function offerCoups(verifier, told, found) {
  const select = make("select", { id: "choose", "aria-label": say("choose") }, ...[...told.keys()].map((id) => make("option", {}, id)));
  const show = () => {
    const id = select.value;
    const ids = [...verifier.coups.keys()];
    const shoe = ids.slice(0, ids.indexOf(id) + 1).filter((one) => one.split("/")[0] === id.split("/")[0]);
    const coups = shoe.map((one) => verifier.coups.get(one)).filter((one) => !one.isVoid && one.isOver);
    const results = coups.map((one) => MARK[one.expected().winner] ?? "").join("");
    const coup = verifier.coups.get(id);
    showCoup({ coup: id, expected: coup.expected(), events: told.get(id), rules: coup.rules, results }, found);
  };
  select.addEventListener("change", show);
  if (!told.size) return;
  by("verdict").append(make("label", {}, `${say("choose")} `, select));
  if (found.position) select.value = [...told].find(([, events]) => events.some(({ position }) => position >= found.position - 1))?.[0] ?? select.value;
  show();
}

/** Verify what was given, as soon as there is enough of it. */
async function run() {
  by("coup").replaceChildren();
  if (!state.data) return;
  const say1 = (key) => by("verdict").replaceChildren(make("p", { class: "warning" }, say(key)));
  const isLog = isExport(state.text.slice(0, 100));
  if (!isLog && !isEvidence(state.data)) return say1("neither");
  if (!by("key").value.trim()) return say1("no_key");
  say1("working");
  try {
    const key = parseKey(by("key").value);
    await (isLog ? runLog([key]) : runEvidence(key));
  } catch (error) {
    by("verdict").replaceChildren(make("p", { class: "warning" }, error.name === "NotSupportedError" ? say("no_crypto") : error.message));
  }
  return undefined;
}

/** @param {Uint8Array} data */
function take(data) {
  state.data = data;
  state.text = new TextDecoder().decode(data);
}

/** Take files as they are dropped: keys, checkpoints, evidence or logs. */
async function takeFiles(files) {
  for (const file of files) {
    const data = new Uint8Array(await file.arrayBuffer());
    if (file.size < 5000 && /^\S+\+[0-9a-f]{8}\+\S+\s*$/.test(new TextDecoder().decode(data))) by("key").value = new TextDecoder().decode(data).trim();
    else if (new TextDecoder().decode(data.slice(0, 4000)).includes("\n\n\u2014 ")) takeCheckpoints(data);
    else take(data);
  }
  await run();
}

/** @param {Uint8Array} data checkpoints one behind the other */
function takeCheckpoints(data) {
  const texts = splitCheckpoints(new TextDecoder().decode(data));
  state.kept = texts.map((text, i) => ({ name: `${say("checkpoints")} ${i + 1}`, checkpoint: parseCheckpoint(text) }));
}

/** Put the page's own words in the chosen language. */
async function speak(language) {
  state.language = language;
  document.documentElement.lang = language;
  document.title = say("title");
  for (const element of document.querySelectorAll("[data-word]")) element.textContent = say(element.dataset.word);
  await run();
}

/** Evidence that the file brings with it. */
function bundled() {
  const text = JSON.parse(by("evidence").textContent);
  if (text === null) return;
  by("bundled").hidden = false;
  take(new TextEncoder().encode(text));
  by("save").addEventListener("click", () => {
    const link = make("a", { href: URL.createObjectURL(new Blob([text])), download: "evidence.json" });
    link.click();
  });
}

/** Bind everything once. */
function start() {
  const names = { en: "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文" };
  by("language").append(...Object.entries(names).map(([code, name]) => make("option", { value: code, lang: code }, name)));
  const wanted = [new URLSearchParams(location.search).get("lang"), ...navigator.languages.map((one) => (/^zh-(TW|HK|MO|Hant)/i.test(one) ? "zh-Hant" : /^zh/i.test(one) ? "zh-Hans" : one.slice(0, 2)))];
  const language = wanted.find((one) => one in names) ?? "en";
  by("language").value = language;
  by("language").addEventListener("change", () => speak(by("language").value));
  by("print").addEventListener("click", () => print());
  by("no-crypto").hidden = canVerify();
  by("file").addEventListener("change", () => takeFiles(by("file").files));
  by("checkpoints").addEventListener("change", () => takeFiles(by("checkpoints").files));
  by("key").addEventListener("change", run);
  by("given").addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["dragover", "drop", "dragleave"]) {
    document.body.addEventListener(name, (event) => {
      event.preventDefault();
      document.body.classList.toggle("over", name === "dragover");
      if (name === "drop") takeFiles(event.dataTransfer.files);
    });
  }
  bundled();
  speak(language);
}

start();
