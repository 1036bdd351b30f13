// The page of what runs now: the server renders its state, this asks for it when something happened.
import { say } from "./page.js";

const SOON = 250; // milliseconds in which several events are one
const FILES_EVERY = 2_000;
const BROKEN_EVERY = 5_000;
const place = document.getElementById("live");
const link = document.getElementById("live-link");
const button = document.getElementById("notify");
let waiting = 0;
let noticed = -1;

async function look() {
  waiting = 0;
  try {
    const answer = await fetch(place.dataset.state);
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    const found = await answer.json();
    show(found.html);
    for (const notice of found.notices) {
      if (noticed >= 0 && notice.number > noticed) announce(notice);
    }
    noticed = Math.max(0, noticed, ...found.notices.map((notice) => notice.number));
    if (place.dataset.source === "files") state("reading files", "good");
  } catch {
    state("the server does not answer", "bad");
  }
}

/** Put what changed into the page; what has the focus keeps it. */
function show(html) {
  const made = document.createElement("div");
  made.innerHTML = html;
  const focused = document.activeElement?.id;
  for (const part of made.querySelectorAll("[data-part]")) {
    const old = place.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!old || old.served === part.innerHTML) continue;
    old.served = part.innerHTML;
    const top = old.querySelector(".feed")?.scrollTop ?? 0;
    old.replaceChildren(...part.childNodes);
    const feed = old.querySelector(".feed");
    if (feed) feed.scrollTop = top;
  }
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
}

function announce(notice) {
  say(`${notice.title}. ${notice.text}`);
  if (button.getAttribute("aria-pressed") !== "true") return;
  const shown = new Notification(`Foldaway: ${notice.title}`, { body: notice.text });
  shown.onclick = () => window.focus();
}

function state(text, kind) {
  if (link.textContent !== text) link.textContent = text;
  link.className = `chip ${kind}`;
}

function soon() {
  waiting ||= setTimeout(look, SOON);
}

function listen() {
  const events = new EventSource("/foldaway/events");
  events.onopen = () => {
    state("connected", "good");
    soon();
  };
  events.onmessage = soon;
  events.onerror = () => {
    state("connection lost, trying again", "bad");
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, BROKEN_EVERY);
  };
  addEventListener("pagehide", () => events.close());
}

async function poll() {
  if (!document.hidden) await look();
  setTimeout(poll, FILES_EVERY);
}

if ("Notification" in window) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const isOn = button.getAttribute("aria-pressed") === "true";
    if (!isOn && (await Notification.requestPermission()) !== "granted") {
      say("Your browser does not allow notifications for this page; notices are shown here.", true);
      return;
    }
    button.setAttribute("aria-pressed", String(!isOn));
    button.textContent = isOn ? "Notify me of compactions" : "Notifications are on";
  });
}

if (place.dataset.source === "events") listen();
else poll();
