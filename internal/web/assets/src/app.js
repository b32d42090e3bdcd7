import "./htmx-global.js";
import "htmx.org/dist/ext/hx-sse.js";

// theme: system -> the other -> back; stored in a cookie so that the server paints it
document.addEventListener("click", (e) => {
  if (!e.target.closest("[data-theme-toggle]")) return;
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `theme=${root.dataset.theme};path=/;max-age=31536000;samesite=lax`;
  dispatchEvent(new CustomEvent("themechange"));
});

// local time: the server renders UTC, the browser shows the reader's zone
const local = (root) => {
  for (const t of root.querySelectorAll("time[data-local]"))
    t.textContent = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" }).format(new Date(t.dateTime));
};

// features by attribute, (re)run on every swapped-in fragment
const features = { "[data-chart]": () => import("./chart.js") };
const upgrade = (root) => {
  local(root);
  for (const [sel, load] of Object.entries(features))
    for (const el of root.querySelectorAll(sel))
      if (!el.dataset.on) { el.dataset.on = "1"; load().then((m) => m.default(el)); }
};
document.addEventListener("htmx:after:process", (e) => upgrade(e.target?.parentElement || document));
upgrade(document);

// the current tab is in sight, however many stand before it
const tabs = document.querySelector(".tabs"), here = tabs?.querySelector("[aria-current]");
if (here) tabs.scrollLeft = here.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - here.offsetWidth) / 2;

// copy to clipboard
document.addEventListener("click", async (e) => {
  const b = e.target.closest("[data-copy]");
  if (!b) return;
  await navigator.clipboard.writeText(document.querySelector(b.dataset.copy).textContent);
  const s = b.querySelector("span"), t = s.textContent;
  s.textContent = b.dataset.done;
  setTimeout(() => (s.textContent = t), 1600);
});

// a form that was sent once is not sent again by a second click
document.addEventListener("submit", (e) => {
  const f = e.target.closest("form[data-once]");
  if (!f) return;
  if (f.dataset.sent) { e.preventDefault(); return; }
  f.dataset.sent = "1";
});
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((f) => delete f.dataset.sent));

// fields that only matter for one choice: data-shows on the control, "value=#id" pairs
const reveal = (el) => {
  for (const pair of el.dataset.shows.split(" ")) {
    const [value, id] = pair.split("=");
    const target = document.getElementById(id);
    if (target) target.hidden = el.value !== value;
  }
};
document.addEventListener("change", (e) => e.target.dataset?.shows && reveal(e.target));
const reveals = (root) => root.querySelectorAll("[data-shows]").forEach(reveal);
document.addEventListener("htmx:after:process", () => reveals(document));
reveals(document);

// logs stay at the end unless the reader scrolled up, and keep the last 2000 lines
const log = document.querySelector("[data-log]");
if (log) {
  let end = true;
  log.scrollTop = log.scrollHeight;
  log.addEventListener("scroll", () => { end = log.scrollHeight - log.scrollTop - log.clientHeight < 80; });
  new MutationObserver(() => {
    while (log.childElementCount > 2000) log.firstElementChild.remove();
    if (end) log.scrollTop = log.scrollHeight;
  }).observe(log, { childList: true });
}

document.addEventListener("keydown", (e) => {
  if (e.key === "k" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); document.getElementById("q-global")?.focus(); }
});
