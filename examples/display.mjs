// A display in JavaScript: it writes what its screen shows into a file, as JSON.
//
// node display.mjs SHOWN HOST PORT bac/v1/SITE/TABLE
//
// The login's files: see mqtt.mjs.

import { renameSync, writeFileSync } from "node:fs";
import { connect } from "./mqtt.mjs";

const STALE_MS = 2500; // a screen; other readers allow ten seconds

const [path, host, port, root] = process.argv.slice(2);
let document = null; // the newest message on `display`
let table = { online: false, session: 0, until: 0, live: false };

const status = ({ state, session, ts }, retained) => {
  if (retained) {
    if (table.live || session < table.session) return;
    const age = Date.now() - Date.parse(ts); // of the future: like an old one
    const fresh = state === "online" && age >= 0 && age < STALE_MS;
    table = { ...table, online: fresh, session, until: Date.now() - age + STALE_MS };
  } else if (state === "online") {
    table = { online: true, session, until: Date.now() + STALE_MS, live: true };
  } else if (session === table.session) {
    table = { ...table, online: false, live: true }; // any other session: a late Will
  }
};

const screen = () => {
  if (document === null || !table.online || Date.now() > table.until) return { live: false };
  const { position, shoe, coup, rulebook, catching_up } = document;
  const hand = (name) =>
    (coup?.cards ?? [])
      .filter((each) => each.hand === name)
      .sort((one, other) => one.number - other.number)
      .map((each) => each.card); // null: a face that nobody has seen
  return {
    live: true,
    position,
    coup: coup?.id ?? null,
    player: hand("player"),
    banker: hand("banker"),
    player_total: coup?.player_total ?? null,
    banker_total: coup?.banker_total ?? null,
    winner: coup?.winner ?? null,
    beads: shoe?.roads.bead_plate ?? [],
    sign: rulebook.says.map((line) => line.key),
    catching_up,
  };
};

let shown = "";
const show = () => {
  const now = JSON.stringify(screen());
  if (now === shown) return;
  shown = now;
  writeFileSync(`${path}.new`, now);
  renameSync(`${path}.new`, path);
};

const received = (topic, payload, retained) => {
  const said = JSON.parse(payload);
  if (topic.endsWith("/status/table")) status(said, retained);
  else document = said; // the whole table, in place of the one before
  show();
};
connect(host, port, [`${root}/display`, `${root}/status/table`], received);
setInterval(show, 200);
