// What the page tells to do and the table refuses now, a line a promise.
([refused, advised, betting]) => {
  const faults = [];
  const shown = (button) => button.checkVisibility({ visibilityProperty: true });
  for (const button of document.querySelectorAll(".act[data-command]")) {
    const { command, due, key } = button.dataset;
    const open = !button.disabled && button.getAttribute("aria-disabled") !== "true";
    // "Record an irregularity" shares its command with the remedy of one.
    const asks = key === command + command;
    if (open && asks && refused.includes(command)) faults.push(`${command} is refused, and its button is open`);
    if (due === "yes" && (!open || !advised.includes(command))) faults.push(`${command} is due here, and not to the table`);
    if (due === "yes" && !shown(button)) faults.push(`${command} is due, and cannot be seen`);
    if (!open && advised.includes(command) && !refused.includes(command)) faults.push(`${command} is advised, and shut`);
  }
  const place = document.querySelector("#place");
  if (place && place.getAttribute("aria-disabled") !== "true" && !place.disabled && !betting)
    faults.push("wagers can be placed here, and are refused");
  const tone = document.querySelector("#board")?.dataset.tone;
  if (tone !== undefined && (tone === "open") !== betting) faults.push(`the board's tone is ${tone}, with betting ${betting}`);
  return faults;
}
