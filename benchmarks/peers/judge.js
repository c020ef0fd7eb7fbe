// Judges the coups of a file with baccarat-engine, again and again, and says how long it takes.
//
// `node judge.js COUPS.json PASSES`, where the file has a list of {"player": [...], "banker": [...]}
// with cards such as ["heart", "9"]. Its cards are made before the clock starts, and no answer is
// written: what is timed is the engine's own judgement and nothing else.
"use strict";

const fs = require("node:fs");
const { BaccaratResultsEngine, Card, Hand } = require("baccarat-engine");

const AT_LEAST = 500_000; // coups a pass
const [file, passes] = [process.argv[2], Number(process.argv[3])];
const cards = (hand) => hand.map(([suit, value]) => new Card(suit, value));
const hands = JSON.parse(fs.readFileSync(file, "utf8"))
  .map(({ player, banker }) => new Hand(cards(player), cards(banker)));
const engine = new BaccaratResultsEngine();

// The kernel counts a processor's time by ticks of milliseconds: a pass takes many of them.
const rounds = Math.ceil(AT_LEAST / hands.length);

let said = 0;

function pass() {
  const outcomes = { player: 0, banker: 0, tie: 0 };
  const [began, cpu] = [process.hrtime.bigint(), process.cpuUsage()];
  for (let round = 0; round < rounds; round += 1) {
    for (const hand of hands) {
      const result = engine.calculateGameResult(hand);
      outcomes[result.outcome] += 1;
      said += result.natural.length + result.pair.length; // or the compiler leaves them out
    }
  }
  const passed = Number(process.hrtime.bigint() - began);
  const { user, system } = process.cpuUsage(cpu);
  // The clock counts what others took of the processor, the processor's time node's other threads.
  const nanoseconds = Math.min(passed, (user + system) * 1000) / rounds;
  for (const name of Object.keys(outcomes)) outcomes[name] /= rounds;
  return { nanoseconds: Math.round(nanoseconds), outcomes };
}

pass(); // the compiler's
const found = Array.from({ length: passes }, pass);
process.stdout.write(JSON.stringify({
  nanoseconds: found.map((each) => each.nanoseconds),
  outcomes: found[0].outcomes,
  said,
}));
