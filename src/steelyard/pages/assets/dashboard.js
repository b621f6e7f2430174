"use strict";
// What a page of the dashboard does beyond its links and forms: keys, rows that come by themselves, news.
(() => {
  const MAX_ROWS = 2000; // rows that come by themselves; then a click leads on, so that the page stays quick
  const AGAIN_AFTER = 1500; // milliseconds until a page that was not made anew yet is asked for again
  const body = document.body;

  const element = (tag, className = "", text = "") => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };

  // A page as a document that runs no script: the server draws rows, here they are only moved.
  const pageAt = (address) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.responseType = "document";
      request.addEventListener("load", () => (request.status === 200 && request.response ? resolve(request.response) : reject(request.status)));
      request.addEventListener("error", () => reject(0));
      request.open("GET", address);
      request.send();
    });

  const nextLink = (of = document) => of.querySelector(".paging a[rel=next]");

  const served = document.querySelector("steel-table[served]");
  const rowsBody = served?.querySelector("tbody");
  let asking = false;
  const addRows = async () => {
    const link = nextLink();
    if (asking || !link || rowsBody.rows.length >= MAX_ROWS) return;
    asking = true;
    try {
      const page = await pageAt(link.href);
      const rows = page.querySelectorAll("steel-table[served] tbody tr");
      rowsBody.append(...[...rows].map((row) => document.adoptNode(row)));
      const following = nextLink(page);
      if (following) link.href = following.href;
      else link.remove();
    } catch {
      watcher?.disconnect(); // the list is gone: the link leads to a page that says so
    }
    asking = false;
  };
  const watcher = served && nextLink() ? new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && addRows(), { rootMargin: "600px" }) : null;
  watcher?.observe(nextLink());

  // An address holds only what differs from the defaults.
  addEventListener("submit", (event) => {
    if (event.target.method !== "get") return;
    for (const field of event.target.elements) if (field.name && field.value === (field.dataset.default ?? "")) field.disabled = true;
    setTimeout(() => [...event.target.elements].forEach((field) => (field.disabled = false)));
  });

  const rows = () => [...document.querySelectorAll("steel-table tbody tr:not(.space)")];
  const current = () => document.querySelector("tr[aria-current]");
  const go = (step) => {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    const to = all[Math.min(Math.max(at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step, 0), all.length - 1)];
    current()?.removeAttribute("aria-current");
    to.setAttribute("aria-current", "true");
    to.tabIndex = -1;
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "nearest" });
  };
  const pick = () => {
    const [a, b] = current()?.querySelectorAll("input[type=radio]") ?? [];
    if (!a) return;
    if (a.checked || b.checked) a.checked = b.checked = false;
    else (document.querySelector("input[name=baseline]:checked") ? b : a).checked = true;
  };
  const compare = () => {
    const form = document.querySelector("form.compare");
    if (form?.querySelector("input[name=baseline]:checked") && form.querySelector("input[name=candidate]:checked")) form.requestSubmit();
    else say("select two rows with x");
  };
  const turn = (relation) => (document.querySelector(`a[rel=${relation}]`) ?? (relation === "prev" && document.querySelector("a[rel=first]")))?.click();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say("link copied");
    } catch {
      say("the browser blocked copying the link");
    }
  };
  const keys = {
    "/": () => document.querySelector("steel-table input[type=search]")?.focus(),
    j: () => go(1),
    k: () => go(-1),
    Enter: () => current()?.querySelector("a")?.click(),
    "[": () => turn("prev"),
    "]": () => turn("next"),
    x: pick,
    c: compare,
    y: copy,
    "?": () => document.getElementById("keys")?.showModal(),
  };
  addEventListener("keydown", (event) => {
    const at = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || at.closest?.("input:not([type=radio]), select, textarea, dialog")) return;
    if (event.key === "Enter" && at.closest?.("a, button, summary, input")) return;
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    if (!act) return;
    event.preventDefault();
    act();
  });

  const news = document.querySelector(".news");
  let quiet = 0;
  const say = (text) => {
    clearTimeout(quiet);
    const before = [...news.childNodes];
    news.replaceChildren(text);
    quiet = setTimeout(() => news.replaceChildren(...before.filter((node) => node.nodeType === Node.ELEMENT_NODE)), 2500);
  };
  const offer = (text) => {
    clearTimeout(quiet);
    const button = element("button", "", `${text}, show`);
    button.type = "button";
    button.addEventListener("click", () => location.reload());
    news.replaceChildren(button);
  };

  // The stream says only that something changed. The page is asked for again; what is new is told and not shown until
  // the reader wants it, so that no row moves under a pointer.
  let stream = null;
  let announced = body.dataset.version;
  let waiting = 0;
  const look = async () => {
    clearTimeout(waiting);
    if (announced === body.dataset.version) return;
    offer("changed");
    try {
      const page = await pageAt(location.href);
      const more = Number(page.body.dataset.total) - Number(body.dataset.total);
      if (body.dataset.total && more > 0) offer(`${more.toLocaleString("en-US")} new`);
      if (page.body.dataset.version !== announced) waiting = setTimeout(look, AGAIN_AFTER);
    } catch {
      waiting = setTimeout(look, 4 * AGAIN_AFTER);
    }
  };
  const listen = () => {
    if (stream || document.hidden || !announced) return; // a page that tells of an error has no version
    stream = new EventSource(`${body.dataset.base}/api/v1/events`);
    stream.addEventListener("changed", (event) => {
      announced = JSON.parse(event.data).version;
      look();
    });
  };
  const hush = () => {
    stream?.close();
    stream = null;
    clearTimeout(waiting);
  };
  // A browser opens six connections to a server: a page that nobody sees must not hold one.
  document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
  addEventListener("pagehide", hush);
  addEventListener("pageshow", listen);
  listen();
})();
