// Single-key commands; they can be turned off, for those who dictate or hit keys by chance.

const STORED = "segue-browse-keys";

export function listenToKeys(commands, dialog) {
  const box = document.getElementById("keys-on");
  box.checked = localStorage.getItem(STORED) !== "off";
  box.addEventListener("change", () => localStorage.setItem(STORED, box.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    const target = event.target;
    const writes = target.matches("input:not([type=range]), select, textarea");
    if (event.key === "Escape" && writes) target.blur();
    if (writes || !box.checked) return;
    const name = nameOf(event.key, target);
    if (!name) return;
    event.preventDefault();
    commands[name]();
  });
}

function nameOf(key, target) {
  const named = { j: "next", k: "previous", "/": "search", "?": "help" }[key];
  if (named) return named;
  if (key === " ") return target.closest("button, a, summary, input") && !target.closest(".row") ? null : "play";
  const free = target === document.body || target.closest("#results");
  if (!free) return null;
  return { ArrowDown: "next", ArrowRight: "next", ArrowUp: "previous", ArrowLeft: "previous" }[key];
}
