// What fills the window: keep something through every compaction, or leave its results out.
import { act, say } from "./page.js";

const table = document.getElementById("tiles");
const address = `${table.dataset.api}/sessions/${table.dataset.session}`;
const methods = { pin: "POST", unpin: "DELETE" };

async function change(what, positions) {
  if (what in methods) {
    for (const at of positions) await act(methods[what], `${address}/pins/${at}`);
    return;
  }
  const { report } = await act("POST", `${address}/fold`, { positions: positions.slice(0, 500) });
  if (report.status !== "compacted") throw new Error(`Nothing changed: ${report.reason}. ${report.detail}`);
}

table.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button[data-do]");
  if (!button) return;
  button.disabled = true;
  try {
    await change(button.dataset.do, JSON.parse(button.dataset.positions));
    location.reload();
  } catch (error) {
    button.disabled = false;
    say(error.message, true);
  }
});
