// The replay viewer: finds a coup on the left, and shows its narrative on the right. Read-only.

import { goToLogin } from "../login.js";
import { byId, el, fill } from "../dom.js";
import { listenForShortcuts } from "../key_presses.js";
import { Finder } from "./find.js";
import { Told } from "./timeline.js";
import { Station } from "../station.js";
import { drawStrip } from "../table_strip.js";

const AGAIN_MS = 700;
const PATIENCE = 60;
const PASSING = ["past_loading", "past_slow", "past_unavailable", "busy"];

const station = await Station.open();
const { word } = station;
let shown = null;
let wanted = null;

/** Send a history query; while the table is still reading its history, show that and retry. */
async function ask(command, fields, said) {
  for (let tries = 0; ; tries += 1) {
    const answer = await station.look(command, fields);
    if (answer.result === "login") goToLogin();
    if (answer.result === "accepted") {
      said.textContent = "";
      return answer.shown;
    }
    const passing = answer.code === "past_loading" && answer.text ? ` ${answer.text}` : "";
    if (answer.result === "refused" && !(PASSING.includes(answer.code) && tries < PATIENCE)) {
      said.textContent = station.explain(answer);
      return null;
    }
    if (answer.result !== "refused") {
      said.textContent = answer.text || word(`result.${answer.result}`);
      return null;
    }
    said.textContent = `${word("replay.reading")}${passing}`;
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

/** Show a coup's narrative; the page's URL then names the coup. */
async function open(coup, { keep = true } = {}) {
  wanted = coup;
  const said = el("p", { role: "status" }, word("why.waiting"));
  fill(byId("coup-told"), said);
  const told = await ask("tell_coup", { coup }, said);
  if (wanted !== coup || !told) return;
  if (keep) history.replaceState(null, "", `#${coup}`);
  shown = new Told(station, told, ask);
  fill(byId("coup-told"), shown.element);
  finder.mark(coup);
}

const finder = new Finder(station, ask, open);

listenForShortcuts((event) => (shown ? shown.key(event) : false));
station.watch((state) => drawStrip(state, word));
await finder.search();
if (/^#[0-9]{8}-[0-9]{2}\/[0-9]+$/.test(location.hash)) open(location.hash.slice(1));
