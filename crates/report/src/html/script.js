"use strict";
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; });
  const form = document.getElementById("filter");
  const cards = [...document.querySelectorAll(".card")];
  const shown = document.getElementById("shown");
  const visible = () => cards.filter(card => !card.hidden);
  const apply = () => {
    const selects = [...form.querySelectorAll("select")];
    const text = form.elements.text.value.trim().toLowerCase();
    for (const card of cards) {
      const chosen = selects.every(s => !s.value || card.dataset[s.name] === s.value);
      card.hidden = !chosen || (text !== "" && !card.textContent.toLowerCase().includes(text));
    }
    for (const group of document.querySelectorAll(".group")) {
      const own = [...group.querySelectorAll(".card")];
      group.classList.toggle("empty", own.length > 0 && own.every(card => card.hidden));
    }
    shown.value = visible().length + " of " + cards.length;
  };
  if (cards.length > 1) {
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", event => event.preventDefault());
    apply();
  }
  const go = step => {
    const all = visible();
    const at = all.indexOf(document.activeElement);
    const to = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step];
    if (to) { to.focus(); to.scrollIntoView({ block: "start" }); }
  };
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "/" && !form.hidden) { event.preventDefault(); form.elements.text.focus(); }
  });
})();
