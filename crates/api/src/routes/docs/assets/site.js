"use strict";

// Samples that follow each other are one sample in several languages: tabs. Without this script they
// stand below each other.
const names = { bash: "curl", typescript: "TypeScript", python: "Python", json: "JSON" };
const chosen = () => sessionStorage.getItem("language") ?? "bash";

function tabs(group) {
  const box = document.createElement("div");
  box.className = "tabs";
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  group[0].before(box);
  box.append(list, ...group);
  const buttons = group.map((sample) => {
    const button = document.createElement("button");
    button.type = "button";
    button.role = "tab";
    button.textContent = names[sample.dataset.language] ?? sample.dataset.language;
    button.addEventListener("click", () => {
      sessionStorage.setItem("language", sample.dataset.language);
      document.dispatchEvent(new Event("language"));
    });
    return button;
  });
  list.append(...buttons);
  const show = () => {
    const wanted = Math.max(0, group.findIndex((sample) => sample.dataset.language === chosen()));
    group.forEach((sample, place) => {
      sample.hidden = place !== wanted;
      buttons[place].setAttribute("aria-selected", String(place === wanted));
    });
  };
  document.addEventListener("language", show);
  show();
}

const samples = [...document.querySelectorAll("main pre")];
const groups = [];
for (const sample of samples) {
  const last = groups.at(-1);
  if (last && last.at(-1) === sample.previousElementSibling) last.push(sample);
  else groups.push([sample]);
}
groups.filter((group) => group.length > 1).forEach(tabs);

for (const sample of samples) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  const text = sample.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  // The clipboard is there for pages that nobody could have changed on their way.
  if (navigator.clipboard) sample.append(button);
}

// The search: every word has to be in the title, the place or the text.
const input = document.querySelector("#search");
const found = document.querySelector("#found");
input.hidden = false;
let index;

async function search() {
  index ??= await (await fetch("/docs/assets/search.json")).json();
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length === 0 ? [] : index
    .map((entry) => {
      const [title, place, , text] = entry.map((part) => part.toLowerCase());
      const scores = words.map((word) =>
        title.startsWith(word) ? 8 : title.includes(word) ? 4 : place.includes(word) ? 2 : text.includes(word) ? 1 : 0);
      return { entry, score: scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score) };
    })
    .filter((hit) => hit.score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, 12);
  found.replaceChildren(...hits.map(({ entry: [title, place, address] }) => {
    const link = document.createElement("a");
    link.href = address;
    const where = document.createElement("small");
    where.textContent = place;
    link.append(title, where);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  if (words.length > 0 && hits.length === 0) {
    const item = document.createElement("li");
    item.textContent = "Nothing found";
    found.append(item);
  }
  found.hidden = words.length === 0;
}

input.addEventListener("input", search);
input.addEventListener("keydown", (event) => {
  const first = found.querySelector("a");
  if (event.key === "Escape") {
    input.value = "";
    found.hidden = true;
  } else if (first && event.key === "Enter") {
    location.href = first.href;
    found.hidden = true;
  } else if (first && event.key === "ArrowDown") {
    event.preventDefault();
    first.focus();
  }
});
found.addEventListener("keydown", (event) => {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (!step) return;
  event.preventDefault();
  const next = event.target.closest("li")[step];
  (next?.querySelector("a") ?? input).focus();
});
found.addEventListener("click", () => (found.hidden = true));
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search")) found.hidden = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement === document.body) {
    event.preventDefault();
    input.focus();
  }
});
