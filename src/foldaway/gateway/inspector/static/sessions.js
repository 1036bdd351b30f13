// The list of sessions: several of them are chosen, then compared, saved or deleted together.
import { act, press } from "./page.js";

const list = document.getElementById("list");
const find = (id) => document.getElementById(id);
const chosen = new Map(); // names of sessions, each with its title and whether it is in a file
const words = (count) => `${count} session${count === 1 ? "" : "s"}`;

function show() {
  const isFile = [...chosen.values()].some((one) => one.isFile);
  find("chosen").hidden = !chosen.size;
  find("chosen-count").textContent = `${chosen.size} chosen`;
  find("compare").disabled = chosen.size !== 2;
  find("delete").disabled = isFile;
  find("delete").title = isFile ? "Files of agents are only read; delete them yourself" : "";
  for (const box of list.querySelectorAll(".pick input")) box.checked = chosen.has(box.value);
}

list.addEventListener("change", ({ target }) => {
  if (!target.matches(".pick input")) return;
  const title = target.closest("tr").querySelector(".name").textContent;
  if (target.checked) chosen.set(target.value, { title, isFile: "file" in target.dataset });
  else chosen.delete(target.value);
  show();
});
new MutationObserver(show).observe(list, { childList: true });

find("clear").addEventListener("click", () => {
  chosen.clear();
  show();
});
find("compare").addEventListener("click", () => {
  const [a, b] = chosen.keys();
  location.assign(`/inspector/lab?${new URLSearchParams({ a, b })}`);
});
find("export").addEventListener("click", () => {
  const names = [...chosen.keys()].map((name) => ["id", name]);
  location.assign(`/inspector/sessions/export?${new URLSearchParams(names)}`);
});
find("delete").addEventListener("click", () => {
  find("sure-title").textContent = `Delete ${words(chosen.size)}?`;
  const lines = [...chosen.values()].map(({ title }) => Object.assign(document.createElement("li"), { textContent: title }));
  find("sure-names").replaceChildren(...lines);
  find("sure").showModal();
});
find("erase").addEventListener("click", () => press(find("erase"), async () => {
  await act("POST", "/inspector/sessions/delete", { sessions: [...chosen.keys()] }).finally(() => find("sure").close());
  location.reload();
}));
show();
