// Saves the evidence for a coup as the exact file from the server.

import { goToLogin } from "../login.js";

const AGAIN_MS = 700;
// The server waits for the table for 3 s; the file of a coup comes at once.
const GIVE_UP_MS = 15_000;
const TRIES = 30;
const PASSING = ["past_loading", "past_slow", "past_unavailable", "busy"];

/** Fetch the file, let the browser save it, and show the outcome. */
export async function saveEvidence(station, coup, button, said) {
  const { word } = station;
  button.disabled = true;
  said.textContent = word("why.waiting");
  try {
    said.textContent = await save(station, coup);
  } catch (error) {
    said.textContent = `${word("result.unknown")} (${error})`;
  } finally {
    button.disabled = false;
  }
}

async function save(station, coup) {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await fetch(`/replay/evidence/${coup}`, { signal: AbortSignal.timeout(GIVE_UP_MS) });
    if (answer.status === 401) goToLogin();
    const file = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "");
    if (answer.ok && file) {
      const address = URL.createObjectURL(await answer.blob());
      const link = document.createElement("a");
      link.href = address;
      link.download = file[1];
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      return station.word("replay.saved", { file: file[1] });
    }
    if (!answer.ok) return (await answer.text()).trim();
    const refusal = await answer.json();
    if (!PASSING.includes(refusal.code)) return station.explain(refusal);
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
  return station.word("code.past_slow");
}
