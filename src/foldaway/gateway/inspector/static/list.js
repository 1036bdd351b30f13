// A list of any length, of which only the part near the screen is in the page.
import { say } from "./page.js";

const NEAR = 1_600; // pixels before and after the screen that are drawn
const FAR = 6_000; // pixels from which on they are taken out again
const PASSING = 60; // milliseconds; what is gone by then was only scrolled past

/**
 * Fill a container with parts of `size` entries each; `part(start, stop)` is the address of one,
 * `heights` is about how high each of them is. Parts that the page has already are kept.
 */
export function lazyList(container, { total, size, heights, part, tag = "div", root = null }) {
  const there = new Map([...container.children].map((one) => [Number(one.dataset.start), one]));
  const chunks = [];
  for (let start = 0, at = 0; start < total; start += size, at += 1) {
    let chunk = there.get(start);
    if (!chunk) {
      chunk = document.createElement(tag);
      chunk.className = "chunk";
      chunk.dataset.start = start;
      chunk.style.minHeight = `${heights[at] ?? heights.at(-1)}px`;
    }
    chunks.push(chunk);
  }
  container.replaceChildren(...chunks);

  function load(chunk) {
    if (chunk.dataset.loaded) return Promise.resolve();
    chunk.loading ??= (async () => {
      const start = Number(chunk.dataset.start);
      const answer = await fetch(part(start, Math.min(start + size, total)));
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const html = await answer.text();
      if (chunk.isFar && !chunk.isWanted) return; // somebody scrolled on; it is not taken out later
      chunk.innerHTML = html;
      chunk.style.minHeight = "";
      chunk.dataset.loaded = "yes";
    })()
      .catch((error) => say(`Messages could not be read: ${error.message}.`, true))
      .finally(() => { chunk.loading = null; });
    return chunk.loading;
  }

  function unload(chunk) {
    const isUsed = chunk.contains(document.activeElement) || chunk.querySelector(".inner, details[open]");
    if (!chunk.dataset.loaded || isUsed) return;
    chunk.style.minHeight = `${chunk.offsetHeight}px`;
    chunk.replaceChildren();
    delete chunk.dataset.loaded;
  }

  const watch = (margin, then) =>
    new IntersectionObserver((seen) => seen.forEach(then), { root, rootMargin: `${margin}px 0px` });
  const near = watch(NEAR, ({ target, isIntersecting }) => {
    target.isNear = isIntersecting;
    if (isIntersecting) setTimeout(() => target.isNear && load(target), PASSING);
  });
  const far = watch(FAR, ({ target, isIntersecting }) => {
    target.isFar = !isIntersecting;
    if (target.isFar) unload(target);
  });
  for (const chunk of chunks) {
    near.observe(chunk);
    far.observe(chunk);
  }
  return {
    /** Load the part with an entry, and return it. */
    at: async (place) => {
      const chunk = chunks[Math.floor(place / size)];
      chunk.isWanted = true;
      await load(chunk);
      chunk.isWanted = false;
      return chunk.children[place % size];
    },
  };
}
