// What all pages share: the theme, keys, sentences that are said, and requests with the page's key.

const pageKey = document.querySelector('meta[name="foldaway-page"]')?.content ?? "";

/** Say a sentence to everybody, those who do not see the page included. */
export function say(sentence, isBad = false) {
  const place = document.getElementById("said");
  if (!place) return;
  place.textContent = sentence;
  place.classList.toggle("bad", isBad);
  place.classList.add("shown");
  clearTimeout(place.timer);
  place.timer = setTimeout(() => place.classList.remove("shown"), isBad ? 12_000 : 5_000);
}

/** Ask the server to do something, and return its answer; throws an Error with its sentence. */
export async function act(method, address, body = {}) {
  const answer = await fetch(address, {
    method,
    headers: { "content-type": "application/json", "x-foldaway-page": pageKey },
    body: JSON.stringify(body),
  });
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.error?.message ?? `The server answered ${answer.status}.`);
  return found;
}

/** Do what a button is for: it cannot be pressed again meanwhile, and what fails is said. */
export async function press(button, work) {
  button.disabled = true;
  try {
    await work();
  } catch (error) {
    button.disabled = false;
    say(error.message, true);
  }
}

/** Return a value that the server put into the page. */
export function given(id) {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null");
}

/** Return a number in at most five characters, as the server writes it. */
export function short(number) {
  for (const [size, unit] of [[1e9, "B"], [1e6, "M"], [1e3, "k"]]) {
    if (number >= size * 0.9995) {
      const value = number / size;
      return value.toFixed(value < 9.95 || (value < 99.95 && unit !== "k") ? 1 : 0) + unit;
    }
  }
  return number.toFixed(0);
}

/** Return a color of the theme that is shown, as canvas takes it. */
export function themed(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

/** Return a number with its noun. */
export const plural = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// times: the server sends them in UTC, the reader gets words, and the moment in the zone of the browser
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
const IN_WORDS = 7 * 86_400; // seconds; what is older has its date

function writeTimes(places) {
  for (const place of places) {
    const then = new Date(place.dateTime);
    const write = (form) => then.toLocaleString("en", { hourCycle: "h23", ...form });
    const seconds = (then - Date.now()) / 1_000;
    const [unit, size] = UNITS.find((one) => Math.abs(seconds) >= one[1]) ?? UNITS.at(-1);
    place.title = write({ dateStyle: "full", timeStyle: "long" });
    place.textContent = place.dataset.as === "clock" ? write({ timeStyle: "medium" })
      : Math.abs(seconds) < IN_WORDS ? AGO.format(Math.trunc(seconds / size), unit)
      : write({ dateStyle: "medium", ...(place.dataset.as ? {} : { timeStyle: "short" }) });
  }
}
const writeNew = () => writeTimes(document.querySelectorAll("time[datetime]:not([title])"));
addEventListener("DOMContentLoaded", () => { // not before: other modules look at what the server sent
  writeNew();
  new MutationObserver(writeNew).observe(document.body, { childList: true, subtree: true });
  setInterval(() => writeTimes(document.querySelectorAll("time[datetime]")), 60_000);
});

const isDark = () =>
  (document.documentElement.dataset.theme ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

document.getElementById("theme")?.addEventListener("click", () => {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("foldaway-theme", next);
  dispatchEvent(new Event("foldaway-theme"));
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
  dispatchEvent(new Event("foldaway-theme")),
);

// what takes seconds is loaded when somebody opens it, once
document.addEventListener("toggle", async ({ target: details }) => {
  if (!details.open || !details.dataset.part || details.dataset.asked) return;
  details.dataset.asked = "yes";
  const place = details.lastElementChild;
  try {
    const answer = await fetch(details.dataset.part);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    place.innerHTML = await answer.text();
    place.querySelector(":scope > details:only-child")?.setAttribute("open", ""); // nothing else is there
  } catch (error) {
    place.textContent = `It could not be read: ${error.message}.`;
  }
}, true);

// a button that asks the server for something, and goes where the answer says
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-act]");
  if (button) press(button, async () => location.assign((await act(button.dataset.act, button.dataset.address)).address));
});

addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.getElementById("find")?.focus();
  }
});
