// A second person's signature, given with name and password in the form that needs it.

import { byId, el } from "./dom.js";

/** Return the field of the two signatures, by the site's choice: with a password, or both as text. */
export function signatures(word) {
  return byId("station").dataset.countersign === "yes"
    ? secondSignature(word)
    : { name: "signed", kind: "text", read: (text) => text.split(/[\s,;]+/).filter(Boolean) };
}

/** Create the field of the two signatures: this person's, and one that somebody else gives here. */
function secondSignature(word) {
  const person = byId("station").dataset.person;
  let signed = null;
  const name = el("input", { name: "second", autocomplete: "off", maxLength: 64, required: true });
  const password = el("input", { name: "second_password", type: "password", autocomplete: "off", maxLength: 256 });
  const said = el("p.said", { role: "alert" });
  const sign = el("button", { type: "button", id: "sign" }, word("sign_second.go"));
  const ask = async () => {
    const csrf = document.querySelector('meta[name="csrf"]').content;
    const answer = await fetch("/countersign", {
      method: "POST",
      headers: { "x-csrf-token": csrf, "content-type": "application/json" },
      body: JSON.stringify({ user: name.value.trim(), password: password.value }),
    }).catch(() => null);
    const told = answer?.ok ? await answer.json() : { result: "lost", code: "sign_second.lost" };
    password.value = "";
    signed = told.result === "accepted" ? told.user : null;
    name.readOnly = signed !== null;
    password.parentElement.hidden = sign.hidden = signed !== null;
    said.textContent = signed ? "" : word(told.code === "second_person" ? "sign_second.other" : told.code);
    done.textContent = signed ? `✓ ${word("sign_second.done", { name: signed })}` : "";
  };
  const done = el("output", {});
  sign.addEventListener("click", ask);
  const element = el(
    "fieldset",
    {},
    el("legend", {}, word("sign_second.title")),
    el("p", {}, word("sign_second.first", { name: person })),
    el("label", {}, el("span", {}, word("login.user")), name),
    el("label", {}, el("span", {}, word("login.password")), password),
    sign,
    done,
    said,
  );
  return { name: "signed", kind: "own", element, read: () => [person, ...(signed ? [signed] : [])] };
}
