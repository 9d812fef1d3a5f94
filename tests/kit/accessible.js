// What `accessible.py` asks of a page: each function is run there, and gives what is wrong.

// 1.4.3: every text that is seen, against the nearest opaque ground.
const faint = () => {
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = (rgb) => rgb.slice(0, 3)
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const judge = (name, ink, paper) => {
    if (ratio(ink, paper) < 4.5) found.push(`${name}: ${ratio(ink, paper).toFixed(2)}`);
  };
  const colour = (element, kind = "color", part = null) =>
    parse(getComputedStyle(element, part)[kind]);
  for (const element of document.querySelectorAll("body *:not(svg *):not(option)")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const field = element.matches("input:not([type=range]):not([type=checkbox]), select");
    if (!(own || field) || !element.checkVisibility()) continue;
    judge(element.outerHTML.slice(0, 80), colour(element), ground(element));
    if (element.placeholder) {
      judge("placeholder", colour(element, "color", "::placeholder"), ground(element));
    }
  }
  for (const text of document.querySelectorAll("svg text")) {
    if (!text.checkVisibility()) continue;
    judge(text.textContent, colour(text, "fill"), ground(text.ownerSVGElement));
    if (!text.matches(".name")) continue;
    for (const bar of document.querySelectorAll(".timeline .bar")) {
      judge(`${text.textContent} on a bar`, colour(text, "fill"), colour(bar, "fill"));
    }
  }
  return [...new Set(found)];
};

const wrong = () => {
  const found = [];
  const told = (element) => element.outerHTML.slice(0, 90);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = (selector) => all(selector).filter((each) => each.checkVisibility());
  if (!document.documentElement.lang) found.push("the page has no language");
  if (!document.title) found.push("the page has no title");
  if (seen("main").length !== 1) found.push("there is not one main");
  const home = "header, main, nav, aside, footer, dialog, .skip, [role=status]";
  for (const each of seen("body *")) {
    const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (own && !each.closest(home)) found.push(`outside of the landmarks: ${told(each)}`);
  }
  let before = 0;
  for (const each of seen("h1, h2, h3, h4, h5, h6")) {
    const level = Number(each.tagName[1]);
    if (level > before + 1) found.push(`a level is left out before ${told(each)}`);
    before = level;
  }
  if (seen("h1").length !== 1) found.push("there is not one h1");
  const ids = all("[id]").map((each) => each.id);
  if (new Set(ids).size < ids.length) found.push("an id is used twice");
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const each of all(`[${name}]`)) {
      const lost = each.getAttribute(name).split(" ").filter((id) => !ids.includes(id));
      if (lost.length) found.push(`${name} leads nowhere: ${told(each)}`);
    }
  }
  for (const each of seen("table")) if (!each.caption) found.push(`no caption: ${told(each)}`);
  for (const each of seen("th")) if (!each.scope) found.push(`no scope: ${told(each)}`);
  for (const each of all("[tabindex]")) {
    if (each.tabIndex > 0) found.push(`out of the order: ${told(each)}`);
  }
  // 2.5.8: 24 pixels, but for links within a sentence.
  for (const each of seen("button, .button, select, input, summary, nav a")) {
    const box = each.getBoundingClientRect();
    const label = each.closest("label")?.getBoundingClientRect();
    if (Math.max(box.height, label?.height ?? 0) < 23.5) found.push(`too small: ${told(each)}`);
  }
  // 1.4.10
  if (document.documentElement.scrollWidth > innerWidth) found.push("scrolls sideways");
  return found;
};

const moves = () => [...document.querySelectorAll("*")]
  .filter((each) => {
    const style = getComputedStyle(each);
    return style.scrollBehavior === "smooth"
      || [...style.transitionDuration.split(","), ...style.animationDuration.split(",")]
        .some((each) => parseFloat(each) > 0);
  })
  .map((each) => each.outerHTML.slice(0, 80));

const mark = () => {
  let at = 0;
  for (const each of document.querySelectorAll("*")) each.dataset.order = at++;
};

const focus = () => {
  const each = document.activeElement;
  if (each === document.body) return null;
  const box = each.getBoundingClientRect();
  const style = getComputedStyle(each);
  const home = each.closest("#results, #sample, header, dialog") ?? document.body;
  return {
    told: each.outerHTML.slice(0, 90),
    order: Number(each.dataset.order),
    home: Number(home.dataset.order),
    top: box.top + scrollY + home.scrollTop,
    bottom: box.bottom + scrollY + home.scrollTop,
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
    seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
  };
};
