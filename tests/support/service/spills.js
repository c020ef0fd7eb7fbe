// What is wrong with the page's geometry, a line a fault; `tall` says that the page may be scrolled.
(tall) => {
  const faults = [];
  const name = (node) => {
    const owner = node.nodeType === 3 ? node.parentElement : node;
    const own = owner.closest("[id]");
    return `${own ? "#" + own.id : ""} ${owner.localName}.${owner.className?.baseVal ?? owner.className}`;
  };
  // What a field's text takes, and what the field has for it; a select has an arrow as well.
  const pen = document.createElement("canvas").getContext("2d");
  const fieldRoom = (field) => {
    const style = getComputedStyle(field);
    pen.font = style.font;
    const text = field.localName === "select" ? (field.selectedOptions[0]?.text ?? "") : field.value || field.placeholder;
    const arrow = field.localName === "select" ? 18 : 0;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - arrow;
    return { needs: ["range", "checkbox", "password"].includes(field.type) ? 0 : pen.measureText(text).width, room };
  };
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth + 1) faults.push(`the page is ${root.scrollWidth} wide in ${innerWidth}`);
  if (!tall && root.scrollHeight > innerHeight + 1)
    faults.push(`the page is ${root.scrollHeight} high in ${innerHeight}`);
  const scrolls = (style, axis) => ["auto", "scroll"].includes(style[`overflow${axis}`]);
  const over = document.querySelector("dialog[open]") ?? document.body;
  const boxes = [];
  const walker = document.createTreeWalker(over, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.nodeType === 3;
    const owner = text ? node.parentElement : node;
    const drawn = !text && (node.localName === "svg" || node.matches(".card, input, select, button"));
    if (text ? !node.data.trim() : !drawn) continue;
    if (owner.closest("[hidden], .unseen, .health[data-well=yes] dd span, option, datalist, .behind, .skip") || !owner.checkVisibility({ visibilityProperty: true }))
      continue;
    if (text && owner.closest("svg")) continue;
    let rects;
    if (text) {
      const range = document.createRange();
      range.selectNodeContents(node);
      rects = [...range.getClientRects()];
    } else rects = [node.getBoundingClientRect()];
    // A text whose lines hold a letter or two is in a column that gave its room away.
    const letters = text ? node.data.replace(/\s/g, "").length : 0;
    const lines = letters > 1 ? new Set(rects.map(({ top }) => Math.round(top))).size : 1;
    if (lines > 1 && letters / lines < 2) faults.push(`${name(node)} ${JSON.stringify(node.data.trim().slice(0, 40))} is broken letter by letter`);
    if (!text && owner.matches(".pad button") && rects[0].width < 43.5) faults.push(`a key of a pad is ${rects[0].width} wide`);
    if (!text && owner.matches("input, select")) {
      const { needs, room } = fieldRoom(owner);
      if (needs > room + 1) faults.push(`${name(node)} ${owner.name} needs ${Math.round(needs)} in ${Math.round(room)}`);
    }
    for (const rect of rects) {
      if (rect.width < 1 || rect.height < 1) continue;
      const slack = text ? rect.height * 0.17 : 0.5;
      const box = { node, owner, left: rect.left, right: rect.right, top: rect.top + slack, bottom: rect.bottom - slack };
      const said = `${name(node)} ${JSON.stringify((text ? node.data : "").trim().slice(0, 40))}`;
      let seen = true;
      for (let up = text ? owner : owner.parentElement; up && up !== document.documentElement; up = up.parentElement) {
        const style = getComputedStyle(up);
        if (["inline", "contents"].includes(style.display)) continue;
        const { left, right, top, bottom } = up.getBoundingClientRect();
        // An ellipsis cuts a text off on purpose where its title has the whole of it.
        const cut = style.textOverflow === "ellipsis" && up.title;
        if (scrolls(style, "X") || scrolls(style, "Y") || cut) {
          box.left = Math.max(box.left, left); box.right = Math.min(box.right, right);
          box.top = Math.max(box.top, top); box.bottom = Math.min(box.bottom, bottom);
          seen = box.right > box.left && box.bottom > box.top;
          break;
        }
        if (box.left < left - 1.5 || box.right > right + 1.5 || box.top < top - 1.5 || box.bottom > bottom + 1.5) {
          faults.push(`${said} leaves ${name(up)}`);
          break;
        }
        if (style.position === "fixed" || (style.position === "absolute" && !up.classList.contains("tags"))) break;
      }
      if (seen) boxes.push({ ...box, said });
    }
  }
  const lost = document.querySelector("#lost:not([hidden])");
  for (const [at, one] of boxes.entries()) {
    for (const other of boxes.slice(at + 1)) {
      if (one.node.contains(other.node) || other.node.contains(one.node)) continue;
      if (one.node === other.node) continue;
      if (lost && (lost.contains(one.node) || lost.contains(other.node))) continue;
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (across > 1.5 && down > 1.5) faults.push(`${one.said} over ${other.said}`);
    }
  }
  return [...new Set(faults)].slice(0, 12);
}
