// What fills the window: keep something through every compaction, or leave its results out.
import { act, press } from "./page.js";

const table = document.getElementById("tiles");
const address = `${table.dataset.api}/sessions/${table.dataset.session}`;
const methods = { pin: "POST", unpin: "DELETE" };

async function change(what, positions) {
  if (what in methods) {
    for (const at of positions) await act(methods[what], `${address}/pins/${at}`);
  } else {
    const { report } = await act("POST", `${address}/fold`, { positions: positions.slice(0, 500) });
    if (report.status !== "compacted") throw new Error(`Nothing changed: ${report.reason}. ${report.detail}`);
  }
  location.reload();
}

table.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-do]");
  if (button) press(button, () => change(button.dataset.do, JSON.parse(button.dataset.positions)));
});
