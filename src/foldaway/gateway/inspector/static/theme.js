// before anything is drawn: light or dark as the user chose, otherwise as the system says
const chosen = localStorage.getItem("foldaway-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
