// The property board's page: a tile for each table, filled from the stream, and archive queries.

import { byId, el } from "./dom.js";
import { watch } from "./live.js";
import { bead, big, drawRoad } from "./roads/draw.js";
import { parseShown } from "./shown.js";
import { beadPlate, bigRoad, newest } from "./roads/grid.js";

// Far above what the archive takes for an answer.
const GIVE_UP_MS = 60_000;
const BEADS = 9;
const BIG = 18;
const SVG = "http://www.w3.org/2000/svg";
const WORDS = { player: "Player", banker: "Banker", tie: "Tie" };

const tiles = new Map(); // name -> { table, tile and what is in it }

function road(name, columns, label) {
  const made = document.createElementNS(SVG, "svg");
  made.dataset.columns = columns;
  made.setAttribute("class", name);
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", label);
  return made;
}

/** Create a tile, and insert it in name order. */
function add(name) {
  const parts = {
    at: el("span.at"),
    shoe: el("p"),
    last: el("p"),
    stands: el("p.stands"),
    beads: road("bead_plate", BEADS, `bead plate of ${name}`),
    big: road("big_road", BIG, `big road of ${name}`),
  };
  const tile = el(
    "article.tile",
    { data: { table: name }, aria: { label: name } },
    el("h2", {}, el("span", { textContent: name }), parts.at),
    parts.shoe,
    parts.last,
    parts.stands,
    el("div.roads", {}, parts.beads, parts.big),
  );
  const after = [...tiles.keys()].filter((other) => other > name).sort()[0];
  byId("tables").insertBefore(tile, after ? tiles.get(after).tile : null);
  const made = { table: {}, tile, parts };
  tiles.set(name, made);
  return made;
}

/** Return a table's problems as text. */
function standing(table) {
  const feed = (table.feed_alarms ?? []).map((kind) => `feed: ${kind}`);
  const link = table.link && table.link !== "up" ? [`shoe link: ${table.link}`] : [];
  const rules = table.contradicts ? [table.contradicts] : [];
  return [...(table.alarms ?? []), ...feed, ...link, ...rules];
}

function told(last) {
  if (!last) return "";
  const totals = last.winner === "banker" ? [last.banker_total, last.player_total] : [last.player_total, last.banker_total];
  return `${last.coup}: ${WORDS[last.winner]} ${totals.join(" : ")} — ${last.player.join(" ")} / ${last.banker.join(" ")}`;
}

/** Show a table's fields; draw the roads only after a change. */
function show({ table, tile, parts }, news) {
  parts.at.textContent = `${table.position} · ${table.at ? new Date(table.at).toLocaleTimeString() : "–"}`;
  const stands = standing(table);
  parts.stands.textContent = stands.join(", ");
  tile.dataset.standing = stands.length > 0;
  tile.dataset.position = table.position;
  if (!("big_road" in news)) return;
  parts.shoe.textContent = table.shoe ? `shoe ${table.shoe} · ${table.coups} coups${table.dealer ? ` · ${table.dealer}` : ""}` : "no shoe";
  parts.last.textContent = told(table.last);
  drawRoad(parts.beads, newest(beadPlate(table.bead_plate), BEADS), (cell) => bead(cell, (word) => word.slice(-1)));
  drawRoad(parts.big, newest(bigRoad(table.big_road, table.bead_plate), BIG), big);
}

/** Show the tiles that match the filter. */
function choose() {
  const wanted = byId("find").value.trim().toLowerCase();
  const only = byId("standing").checked;
  let stands = 0;
  for (const [name, { tile }] of tiles) {
    const raised = tile.dataset.standing === "true";
    stands += raised;
    tile.hidden = !name.includes(wanted) || (only && !raised);
  }
  byId("sum").textContent = `${tiles.size} tables, ${stands} where something stands`;
}

watch("/events", {
  onState({ tables }) {
    for (const [name, news] of Object.entries(tables)) {
      const tile = tiles.get(name) ?? add(name);
      Object.assign(tile.table, news);
      show(tile, news);
    }
    choose();
  },
  onHealth({ live, reason }) {
    const health = byId("health");
    health.dataset.live = live;
    health.textContent = live ? "Live" : `Not live: the ${reason} does not answer`;
  },
  onBuild(build) {
    if (build !== document.querySelector("meta[name=build]").content) location.reload();
  },
});

byId("find").addEventListener("input", choose);
byId("standing").addEventListener("change", choose);

byId("question").addEventListener("change", ({ target }) => {
  for (const each of document.querySelectorAll("fieldset[data-question]")) {
    each.hidden = each.disabled = each.dataset.question !== target.value;
  }
});

const cell = (value) => (value === null ? "" : Array.isArray(value) ? value.join(" ") : String(value));

byId("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = [...new FormData(event.target)].filter(([, value]) => value);
  byId("said").textContent = "Asking";
  const url = `/ask/${byId("question").value}?${new URLSearchParams(given)}`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(GIVE_UP_MS) }).catch(() => null);
  if (!answer?.ok) {
    byId("said").textContent = answer ? await answer.text() : "the server does not answer";
    byId("answer").replaceChildren();
    return;
  }
  const { columns, rows } = parseShown(await answer.text());
  byId("said").textContent = `${rows.length} rows`;
  byId("answer").replaceChildren(
    el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col", textContent: name })))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((value) => el("td", { textContent: cell(value) }))))),
  );
});
