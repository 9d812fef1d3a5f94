// Joins the panes: filters bring results, results bring samples, and the address follows.

import { listenToKeys } from "./keys.js";
import { Player } from "./player.js";
import { Siblings } from "./siblings.js";

const TYPING_MS = 200;
const results = document.getElementById("results");
const pane = document.getElementById("sample");
const filters = document.getElementById("filters");
const announcer = document.getElementById("announcer");
const help = document.getElementById("help");
const rows = () => [...results.querySelectorAll("[data-sample]")];
const current = () => results.querySelector("[aria-current]");
const asking = { results: null, sample: null };
let chosen = pane.querySelector("article")?.dataset.id;
let typing = 0;
let player = null;
let siblings = null;

// Fetch a fragment into a pane; a later request for the pane ends an earlier one. What had the focus
// has it again, or the pane has it.
async function load(name, element, address) {
  asking[name]?.abort();
  const request = (asking[name] = new AbortController());
  element.ariaBusy = "true";
  try {
    const answer = await fetch(address, { signal: request.signal, headers: { Accept: "text/html" } });
    const text = await answer.text();
    const found = new DOMParser().parseFromString(text, "text/html");
    const body = found.querySelector("main.failure") ?? found.body;
    const held = element.contains(document.activeElement) ? document.activeElement : null;
    element.replaceChildren(...body.childNodes);
    if (held) (element.querySelector(selectorOf(held)) ?? element).focus({ preventScroll: true });
    return answer.ok;
  } catch (error) {
    if (error.name === "AbortError") return false;
    element.textContent = "The server does not answer: has `segue browse` been stopped?";
    return false;
  } finally {
    if (asking[name] === request && !typing) element.ariaBusy = "false";
  }
}

// Finds what a control of a pane is replaced by.
function selectorOf({ rel, dataset }) {
  if (rel) return `[rel="${rel}"]`;
  const name = ["sample", "step", "play", "seek"].find((each) => each in dataset);
  return name ? `[data-${name}="${CSS.escape(dataset[name])}"]` : ":not(*)";
}

async function showResults(query) {
  if (!(await load("results", results, `/results?${query}`))) return false;
  results.scrollTop = 0;
  announcer.textContent = document.getElementById("count").textContent;
  markRow();
  return true;
}

// `found` is announced before the sample: what a search found would be lost behind it.
async function showSample(link, found = "") {
  const query = new URL(link.href).searchParams;
  chosen = link.dataset.sample ?? link.dataset.open;
  history.replaceState(null, "", `/?${query}`);
  markRow();
  closePlayers();
  if (await load("sample", pane, `/samples/${encodeURIComponent(chosen)}?${query}`)) {
    pane.scrollTop = 0;
    openPlayers();
    announcer.textContent = `${found}${chosen}: ${pane.querySelector(".main").textContent}`;
  }
}

// Not scrollIntoView: in newer browsers Tab goes on from what it scrolled to.
function reveal(row) {
  const [list, own] = [results.getBoundingClientRect(), row.getBoundingClientRect()];
  results.scrollTop += Math.min(0, own.top - list.top) + Math.max(0, own.bottom - list.bottom);
}

function markRow() {
  const focused = results.contains(document.activeElement) && document.activeElement !== results;
  for (const row of rows()) {
    if (row.dataset.sample !== chosen) row.removeAttribute("aria-current");
    else {
      row.setAttribute("aria-current", "true");
      reveal(row);
      if (focused) row.focus({ preventScroll: true });
    }
  }
}

function openPlayers() {
  const article = pane.querySelector("article");
  if (!article) return;
  player = new Player(article);
  siblings = new Siblings(article, () => player.audio.pause());
}

function closePlayers() {
  player?.close();
  siblings?.stop();
  player = siblings = null;
}

async function step(by) {
  const all = rows();
  const at = all.indexOf(current()) + by;
  if (all[at] && (current() || by > 0)) return showSample(all[at]);
  const turn = results.querySelector(by > 0 ? "[data-page][rel=next]" : "[data-page][rel=prev]");
  if (!turn || !(await showResults(new URL(turn.href).searchParams))) return undefined;
  const there = rows();
  return there.length ? showSample(by > 0 ? there[0] : there.at(-1)) : undefined;
}

function asked() {
  const entries = [...new FormData(filters)].filter(([, value]) => value !== "");
  return new URLSearchParams(entries);
}

async function search() {
  typing = 0;
  const query = asked();
  history.replaceState(null, "", `/?${query}`);
  if ((await showResults(query)) && !current() && rows().length) {
    await showSample(rows()[0], `${announcer.textContent}; `);
  }
}

filters.addEventListener("input", (event) => {
  clearTimeout(typing);
  results.ariaBusy = "true";
  typing = setTimeout(search, event.target.matches("select") ? 0 : TYPING_MS);
});
filters.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  search();
});
document.getElementById("clear").addEventListener("click", (event) => {
  event.preventDefault();
  for (const field of filters.querySelectorAll("input, select")) field.value = "";
  search();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-sample], a[data-open], a[data-page], [data-step]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.dataset.step) step(Number(link.dataset.step));
  else if ("page" in link.dataset) showResults(new URL(link.href).searchParams);
  else showSample(link);
});

document.getElementById("help-open").addEventListener("click", () => help.showModal());
listenToKeys(
  {
    next: () => step(1),
    previous: () => step(-1),
    play: () => {
      siblings?.stop();
      player?.toggle();
    },
    search: () => document.getElementById("text").select(),
    help: () => help.showModal(),
  },
  help,
);

if (current()) reveal(current());
openPlayers();
