"use strict";
(() => {
  const AROUND = 15; // rows kept above and below those in sight
  const PRINTED = 200;
  const SEARCHED = 12; // rows from which on a filter is worth its room

  const element = (tag, className = "", text = "") => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };

  const decompressed = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  };

  // A column of words holds each once and for every row its number, unless no word comes twice; one of numbers holds
  // null where a value is missing, and is written without the decimal point.
  const compressedColumn = ({ scaled, decimals, words, rows = words?.map((_, place) => place) }) => {
    const values = scaled?.map((value) => (value === null ? null : value / 10 ** decimals));
    const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    const shown = (value) => (value === null ? "-" : Number.isFinite(value) ? format.format(value) : value > 0 ? "∞" : "-∞");
    return {
      values,
      words,
      rows,
      text: (row) => (words ? (rows[row] < 0 ? "-" : words[rows[row]]) : shown(values[row])),
      missing: (row) => (values ? values[row] === null : rows[row] < 0),
    };
  };

  const columnOfCells = (cells, isNumber) => {
    const numbers = new Map();
    const words = [];
    const rows = cells.map((cell) => {
      const text = cell.textContent;
      if (cell.classList.contains("missing")) return -1;
      if (!numbers.has(text)) numbers.set(text, words.push(text) - 1);
      return numbers.get(text);
    });
    const values = isNumber ? cells.map((cell) => ("v" in cell.dataset ? Number(cell.dataset.v) : null)) : undefined;
    return { values, words, rows, missing: (row) => (values ? values[row] === null : rows[row] < 0) };
  };

  // What rows are ordered by, NaN where a value is missing: numbers themselves, and for words their place in the alphabet.
  const sortKeys = (column, count) => {
    const keys = new Float64Array(count).fill(NaN);
    if (column.values) {
      for (let row = 0; row < count; row++) if (column.values[row] !== null) keys[row] = column.values[row];
      return keys;
    }
    // numbers in words count as numbers; padding them is ten times as fast as a collator
    const padded = column.words.map((word) => word.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(15, "0")));
    const places = new Float64Array(padded.length);
    const order = Uint32Array.from(padded, (_, at) => at);
    order.sort((one, other) => (padded[one] < padded[other] ? -1 : padded[one] > padded[other] ? 1 : one - other));
    order.forEach((at, place) => (places[at] = place));
    for (let row = 0; row < count; row++) if (column.rows[row] >= 0) keys[row] = places[column.rows[row]];
    return keys;
  };

  const fragment = () => new URLSearchParams(location.hash.slice(1));

  class SteelTable extends HTMLElement {
    async connectedCallback() {
      if (this.hasAttribute("served")) return; // a server orders and chooses these rows
      this.table = this.querySelector("table");
      this.body = this.table.tBodies[0];
      this.heads = [...this.table.tHead.rows[0].cells].filter((head) => head.dataset.name);
      const compressed = this.querySelector("script");
      if (compressed) {
        const data = await decompressed(compressed.textContent);
        this.count = data.count;
        this.columns = data.columns.map(compressedColumn);
        this.makeTall();
      } else {
        this.cells = [...this.body.rows];
        this.count = this.cells.length;
        this.columns = this.heads.map((head) => columnOfCells(this.cells.map((row) => row.cells[head.cellIndex]), head.className === "n"));
      }
      this.order = { name: "", down: false };
      this.addButtons();
      this.addTools();
      this.readFragment();
      addEventListener("hashchange", () => this.readFragment());
      this.setAttribute("ready", "");
    }

    makeTall() {
      this.scroller = this.querySelector(".scroll");
      this.scroller.classList.add("tall");
      this.querySelector(".more.first")?.remove();
      const group = element("colgroup");
      this.columns.forEach((column, at) => {
        const longest = column.words ? column.words.reduce((most, word) => Math.max(most, word.length), 1) : this.longestNumber(column);
        const col = element("col");
        col.style.width = `${Math.min(Math.max(longest, this.heads[at].textContent.length + 2), 36) + 3}ch`;
        group.append(col);
      });
      this.table.prepend(group);
      if (this.table.caption) this.table.prepend(this.table.caption);
      this.table.setAttribute("aria-rowcount", this.count + 1);
      this.scroller.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()), { passive: true });
      addEventListener("beforeprint", () => this.draw(PRINTED));
      addEventListener("afterprint", () => this.draw());
    }

    longestNumber(column) {
      let largest = 0;
      for (const value of column.values) if (value !== null && Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
      const row = column.values.findIndex((value) => value !== null && Math.abs(value) === largest);
      return row < 0 ? 1 : column.text(row).length + 1;
    }

    addButtons() {
      this.heads.forEach((head) => {
        const button = element("button", "", head.textContent);
        button.type = "button";
        button.addEventListener("click", () => this.sortBy(head.dataset.name));
        head.replaceChildren(button);
      });
    }

    addTools() {
      const tools = element("div", "tools");
      this.find = element("input");
      this.find.type = "search";
      this.find.placeholder = "Filter rows";
      this.find.setAttribute("aria-label", `Filter rows of: ${this.getAttribute("label")}`);
      this.find.addEventListener("input", () => this.changed());
      this.status = element("output");
      tools.append(this.find, this.status);
      if (this.count >= SEARCHED) this.prepend(tools);
    }

    sortBy(name) {
      const again = this.order.name === name;
      if (again && this.order.down !== this.downFirst(name)) this.order = { name: "", down: false };
      else this.order = { name, down: again ? !this.order.down : this.downFirst(name) };
      this.changed();
    }

    // Of numbers the largest is looked for first, of words the first.
    downFirst(name) {
      return Boolean(this.columns[this.heads.findIndex((head) => head.dataset.name === name)].values);
    }

    readFragment() {
      const view = fragment();
      const anchor = [...view].find(([, value]) => value === "")?.[0];
      const sort = view.get(`${this.id}.sort`) ?? "";
      const name = sort.replace(/^-/, "");
      const isPlain = [...view].every(([, value]) => value === "");
      if (!isPlain || this.shown === undefined) {
        this.order = { name: this.heads.some((head) => head.dataset.name === name) ? name : "", down: sort.startsWith("-") };
        this.find.value = view.get(`${this.id}.find`) ?? "";
        this.apply();
      }
      if (!isPlain && anchor && anchor === this.closest("section")?.id) this.closest("section").scrollIntoView();
    }

    writeFragment() {
      const view = fragment();
      const anchor = this.closest("section")?.id ?? this.id;
      for (const [name, value] of [...view]) if (value === "") view.delete(name);
      for (const [name, value] of [["sort", (this.order.down ? "-" : "") + this.order.name], ["find", this.find.value]]) {
        if (value && value !== "-") view.set(`${this.id}.${name}`, value);
        else view.delete(`${this.id}.${name}`);
      }
      const rest = view.toString();
      history.replaceState(null, "", `#${encodeURIComponent(anchor)}${rest ? `&${rest}` : ""}`);
    }

    changed() {
      this.apply();
      this.writeFragment();
    }

    apply() {
      this.heads.forEach((head) => {
        if (head.dataset.name === this.order.name) head.setAttribute("aria-sort", this.order.down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      const chosen = this.filtered();
      const at = this.heads.findIndex((head) => head.dataset.name === this.order.name);
      this.shown = at < 0 ? chosen : this.sorted(chosen, at);
      const all = this.count.toLocaleString("en-US");
      const some = this.shown.length.toLocaleString("en-US");
      this.status.textContent = this.shown.length === this.count ? `${all} rows` : `${some} of ${all} rows`;
      if (this.scroller) {
        this.scroller.scrollTop = 0;
        this.draw();
      } else {
        this.body.replaceChildren(...[...this.shown].map((row) => this.cells[row]));
      }
    }

    filtered() {
      const wanted = this.find.value.toLowerCase().split(/\s+/).filter(Boolean);
      const searched = this.columns.filter((column) => column.words);
      const hits = wanted.map((part) => searched.map(({ words }) => Uint8Array.from(words, (word) => word.toLowerCase().includes(part))));
      const kept = [];
      for (let row = 0; row < this.count; row++) {
        if (hits.every((columns) => columns.some((hit, at) => searched[at].rows[row] >= 0 && hit[searched[at].rows[row]]))) kept.push(row);
      }
      return Uint32Array.from(kept);
    }

    sorted(rows, at) {
      this.keys ??= [];
      const keys = (this.keys[at] ??= sortKeys(this.columns[at], this.count));
      const known = rows.filter((row) => !Number.isNaN(keys[row]));
      const missing = rows.filter((row) => Number.isNaN(keys[row]));
      const sign = this.order.down ? -1 : 1;
      known.sort((one, other) => (keys[one] === keys[other] ? one - other : keys[one] < keys[other] ? -sign : sign));
      return Uint32Array.from([...known, ...missing]);
    }

    draw(all = 0) {
      const height = this.rowHeight ?? 33;
      const first = all ? 0 : Math.max(0, Math.floor(this.scroller.scrollTop / height) - AROUND);
      const last = all || Math.min(this.shown.length, first + Math.ceil(this.scroller.clientHeight / height) + 2 * AROUND);
      const rows = [...this.shown.subarray(first, last)].map((row, place) => this.row(row, first + place));
      const below = this.shown.length - Math.min(last, this.shown.length);
      this.body.replaceChildren(this.space(first * height), ...rows, this.space(all ? 0 : below * height));
      if (rows.length && !this.rowHeight && !all) this.rowHeight = rows[0].getBoundingClientRect().height || 33;
    }

    row(number, place) {
      const row = element("tr");
      row.setAttribute("aria-rowindex", place + 2);
      this.columns.forEach((column, at) => {
        const text = column.text(number);
        const isMissing = column.missing(number);
        const cell = element("td", [column.values ? "n" : "", isMissing ? "missing" : ""].filter(Boolean).join(" "), text);
        if (text.length > 24) cell.title = text;
        row.append(cell);
      });
      return row;
    }

    space(height) {
      const row = element("tr", "space");
      const cell = element("td");
      row.setAttribute("aria-hidden", "true");
      cell.colSpan = this.columns.length;
      cell.style.height = `${height}px`;
      row.append(cell);
      return row;
    }
  }

  customElements.define("steel-table", SteelTable);
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest?.("input")) return;
    const fields = document.querySelectorAll("steel-table input[type=search]");
    if (!fields.length) return;
    event.preventDefault();
    fields[fields.length - 1].focus();
  });
})();
