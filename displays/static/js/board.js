// The wall of a property: what is wrong first, then each site's tables, the worst first.

import { faceText } from "./cards.js";
import { byId, el } from "./dom.js";
import { watch } from "./live.js";
import { bead, big, drawRoad } from "./roads/draw.js";
import { parseShown } from "./shown.js";
import { beadPlate, bigRoad, newest } from "./roads/grid.js";
import { loadWords, timeText } from "./words.js";

// Far above what the archive takes for an answer.
const GIVE_UP_MS = 60_000;
const SVG = "http://www.w3.org/2000/svg";
const BEADS = 9;
// Up to so many tables, the columns of their big roads, and a tile's least width; more are small.
const SIZES = [[12, "large", 18, 22], [60, "medium", 18, 13], [Infinity, "small", 22, 6]];
const MARKS = { player: "P", banker: "B", tie: "T" };
const WIDEST = 40; // of a tile, in rem as its least
const BROKEN = 3;
const ALARM = 2;
const LINK = 1;
const natural = new Intl.Collator("en", { numeric: true }).compare;

const word = await loadWords();
const tiles = new Map(); // site/table -> { table, tile, parts, level }
const sites = new Map(); // site -> { section, tiles }
const replay = byId("tables").dataset.replay;
let grown = ""; // how many tables, and what room, the tiles were last sized for

/** Return the text of a key; of one without a text, its last part. */
const named = (key) => {
  const text = word(key);
  return text === key ? key.split(".").at(-1) : text;
};

const counted = (key, n) => word(n === 1 ? `${key}.1` : key, { n });

function road(name, label) {
  const made = document.createElementNS(SVG, "svg");
  made.setAttribute("class", name);
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", label);
  return made;
}

/** Return a site's section, in the order of names. */
function siteOf(name) {
  if (!sites.has(name)) {
    const list = el("div.tiles");
    const section = el("section.site", { aria: { label: name } }, el("h2", { textContent: name }), list);
    sites.set(name, { section, list });
    byId("tables").append(section);
  }
  return sites.get(name);
}

function add(name) {
  const [site, table] = name.split("/");
  const parts = {
    won: el("span.won"),
    cards: el("p.cards"),
    stands: el("p.stands"),
    foot: el("p.foot"),
    beads: road("bead_plate", `${word("road.bead_plate")} ${name}`),
    big: road("big_road", `${word("road.big_road")} ${name}`),
  };
  parts.beads.dataset.columns = BEADS;
  const link = replay.replaceAll("{site}", site).replaceAll("{table}", table);
  const title = link ? el("a", { href: link, textContent: table }) : el("span", { textContent: table });
  const tile = el(
    "article.tile",
    { data: { table: name }, aria: { label: name } },
    el("h3", {}, title, parts.won),
    parts.stands,
    parts.cards,
    el("div.roads", {}, parts.beads, parts.big),
    parts.foot,
  );
  const made = { name, table: {}, tile, parts, level: 0 };
  tiles.set(name, made);
  siteOf(site).list.append(tile);
  return made;
}

/** Return what is wrong at a table, as [level, text] pairs, the worst first. */
function standing(table) {
  const found = [];
  if (table.live === false) {
    const way = table.way === "running" ? "behind" : table.way;
    found.push([BROKEN, word(`wall.way.${way}`, { n: table.lag ?? 0, s: table.lag_s ?? 0 })]);
  }
  for (const kind of table.feed_alarms ?? []) found.push([BROKEN, named(`wall.feed.${kind}`)]);
  for (const alarm of table.alarms ?? []) found.push([ALARM, named(`alarm.${alarm}`)]);
  if (table.contradicts) found.push([ALARM, table.contradicts]);
  if (table.link && table.link !== "up") found.push([LINK, word("wall.link", { state: table.link })]);
  return found;
}

/** Return the totals, the winner's first. */
const totals = ({ winner, player_total, banker_total }) =>
  winner === "banker" ? `${banker_total}:${player_total}` : `${player_total}:${banker_total}`;

const hands = (last) => [last.player, last.banker].map((cards) => cards.map(faceText).join(" ")).join(" / ");

/** Show a table's fields; draw the roads only after a change. */
function show({ table, tile, parts }, news) {
  const found = standing(table);
  const level = Math.max(0, ...found.map(([each]) => each));
  parts.stands.textContent = found.map(([, text]) => text).join(", ");
  parts.stands.title = parts.stands.textContent;
  parts.stands.hidden = found.length === 0;
  tile.dataset.level = level;
  tile.dataset.standing = found.length > 0;
  tile.dataset.position = table.position;
  tiles.get(tile.dataset.table).level = level;
  const at = table.at ? timeText(table.at, { date: false }) : "–";
  const shoe = table.shoe ? [word("shoe", { shoe: table.shoe }), counted("wall.coups", table.coups)] : [word("wall.no_shoe")];
  parts.foot.textContent = [...shoe, table.dealer, at].filter(Boolean).join(" · ");
  parts.foot.title = parts.foot.textContent;
  if (!("big_road" in news)) return;
  const last = table.last;
  parts.won.textContent = last ? word(`wall.won.${last.winner}`, { player: last.player_total, banker: last.banker_total }) : "";
  parts.won.dataset.mark = last ? MARKS[last.winner] : "";
  parts.won.dataset.short = last ? `${word(`bead.${MARKS[last.winner]}`)} ${totals(last)}` : "";
  parts.cards.textContent = last ? hands(last) : "";
  draw({ table, parts });
}

function draw({ table, parts }) {
  if (!table.big_road) return;
  drawRoad(parts.beads, newest(beadPlate(table.bead_plate), BEADS), (cell) => bead(cell, word));
  const columns = SIZES.find(([, size]) => size === byId("tables").dataset.size)[2];
  parts.big.dataset.columns = columns;
  drawRoad(parts.big, newest(bigRoad(table.big_road, table.bead_plate), columns), big);
}

/** Make the tiles as wide as leaves all of them in sight, and never smaller than their number has them. */
function grow() {
  const main = byId("tables");
  const room = [tiles.size, innerWidth, innerHeight, main.getBoundingClientRect().top + scrollY].join();
  if (room === grown) return;
  grown = room;
  let wide = SIZES.find(([most]) => tiles.size <= most)[3];
  for (let beyond = WIDEST + 1; beyond - wide > 1; ) {
    const half = Math.floor((wide + beyond) / 2);
    main.style.setProperty("--tile", `${half}rem`);
    if (main.getBoundingClientRect().bottom + scrollY <= innerHeight) wide = half;
    else beyond = half;
  }
  main.style.setProperty("--tile", `${wide}rem`);
}

/** Size the tiles by their number, and put the worst of each site first. */
function arrange() {
  const main = byId("tables");
  const size = SIZES.find(([most]) => tiles.size <= most)[1];
  if (main.dataset.size !== size) {
    main.dataset.size = size;
    tiles.forEach(draw);
  }
  const worst = new Map();
  const order = [...tiles.values()].sort((a, b) => b.level - a.level || natural(a.name, b.name));
  for (const each of order) {
    const site = each.name.split("/")[0];
    worst.set(site, Math.max(worst.get(site) ?? 0, each.level));
  }
  const bySite = [...sites].sort(([a], [b]) => worst.get(b) - worst.get(a) || natural(a, b));
  place(main, bySite.map(([, { section }]) => section));
  for (const [name, { list }] of bySite) {
    place(list, order.filter((each) => each.name.split("/")[0] === name).map(({ tile }) => tile));
  }
}

/** Put children in order; those that stand right are not touched. */
function place(parent, children) {
  children.forEach((child, at) => {
    if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
  });
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
  for (const { section, list } of sites.values()) {
    section.hidden = [...list.children].every((tile) => tile.hidden);
  }
  byId("sum").textContent = `${counted("wall.tables", tiles.size)}, ${word("wall.stands", { n: stands })}`;
}

function tell(findings) {
  byId("findings").hidden = findings.length === 0;
  byId("findings").replaceChildren(
    ...findings.map(({ kind, name, code, text, step, grave }) =>
      el(
        "li",
        { data: { grave, kind } },
        el("b", { textContent: `${named(`wall.part.${kind}`)} ${name}: ${named(`wall.code.${code}`)}` }),
        el("code", { textContent: `${text}; ${step}` }),
      ),
    ),
  );
}

watch("/events", {
  onState({ tables, findings }) {
    const known = tiles.size;
    for (const [name, news] of Object.entries(tables)) {
      const tile = tiles.get(name) ?? add(name);
      Object.assign(tile.table, news);
      show(tile, news);
    }
    if (findings) tell(findings);
    arrange();
    choose();
    if (findings || tiles.size > known) grow();
  },
  onHealth({ live, reason }) {
    const health = byId("health");
    const dead = [...tiles.values()].filter(({ table }) => table.live === false).length;
    health.dataset.live = live;
    health.textContent = live ? word("wall.live") : word(`wall.not_live.${reason}`, { n: dead, all: tiles.size });
  },
  onBuild(build) {
    if (build !== document.querySelector("meta[name=build]").content) location.reload();
  },
});

addEventListener("resize", grow);
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
  byId("said").textContent = word("wall.asking");
  const url = `/ask/${byId("question").value}?${new URLSearchParams(given)}`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(GIVE_UP_MS) }).catch(() => null);
  if (!answer?.ok) {
    byId("said").textContent = answer ? await answer.text() : word("wall.not_live.server");
    byId("answer").replaceChildren();
    return;
  }
  const { columns, rows } = parseShown(await answer.text());
  byId("said").textContent = counted("wall.rows", rows.length);
  byId("answer").replaceChildren(
    el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col", textContent: name })))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((value) => el("td", { textContent: cell(value) }))))),
  );
});
