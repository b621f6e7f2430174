"use strict";
// Forms that write: decisions about submissions, and submissions. A token stays in this tab: it is kept in
// sessionStorage, sent in a header of requests to this server alone, and never stands in an address.
(() => {
  const KEPT = "steelyard-token";

  const element = (tag, className = "", text = "") => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };

  const kept = {
    get: () => {
      try {
        return sessionStorage.getItem(KEPT) ?? "";
      } catch {
        return ""; // a browser that keeps nothing asks again
      }
    },
    set: (token) => {
      try {
        if (token) sessionStorage.setItem(KEPT, token);
        else sessionStorage.removeItem(KEPT);
      } catch {
        return;
      }
    },
  };

  const send = async (form, body, type, address = form.action) => {
    const token = form.elements.token.value.trim();
    const response = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": type, ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      body,
      credentials: "omit",
      redirect: "error",
    });
    kept.set(response.status === 401 ? "" : token);
    const text = await response.text();
    return { ok: response.ok, status: response.status, answers: parsed(text) };
  };

  // One JSON value, or one a line.
  const parsed = (text) => {
    try {
      return [JSON.parse(text)];
    } catch {
      return text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
    }
  };

  const problem = (body) => [body.detail ?? body.title, body.hint].filter(Boolean).join(". ");

  const decide = async (form) => {
    const reason = form.elements.reason.value.trim();
    const address = `${form.action}/${form.elements.decision.value}`;
    const { ok, answers } = await send(form, JSON.stringify(reason ? { reason } : {}), "application/json", address);
    if (!ok) return [element("p", "refused", problem(answers[0]))];
    const again = element("a", "", "Reload this page");
    again.href = location.href;
    return [element("p", "accepted", "Decision saved. "), again];
  };

  const rate = async (form) => {
    const fields = { score: Number(form.elements.score.value) };
    for (const name of ["criterion", "comment"]) {
      const value = form.elements[name].value.trim();
      if (value) fields[name] = value;
    }
    const { ok, answers } = await send(form, JSON.stringify(fields), "application/json");
    if (!ok) return [element("p", "refused", problem(answers[0]))];
    return [element("p", "accepted", `Rated ${answers[0].score} as ${answers[0].reviewer}.`)];
  };

  const submit = async (form) => {
    const text = form.elements.submissions.value.trim();
    if (!text) return [element("p", "refused", "Nothing to submit: paste a submission or choose a file.")];
    const [body, type] = typed(text);
    const { ok, answers } = await send(form, body, type);
    if (!ok && answers.length === 1 && !answers[0].receipts) return [element("p", "refused", problem(answers[0]))];
    return receipts(form, answers);
  };

  // One object is a submission; anything else goes line by line, and a list is taken apart.
  const typed = (text) => {
    try {
      const value = JSON.parse(text);
      if (!Array.isArray(value)) return [text, "application/json"];
      return [value.map((each) => JSON.stringify(each)).join("\n"), "application/x-ndjson"];
    } catch {
      return [text, "application/x-ndjson"];
    }
  };

  const receipts = (form, answers) => {
    const list = element("ol", "receipts");
    const shown = answers.slice(0, 200);
    for (const answer of shown) {
      const item = element("li");
      if (answer.submission_id) {
        const link = element("a", "", answer.submission_id);
        link.href = `${form.dataset.pages}/submissions/${encodeURIComponent(answer.submission_id)}`;
        const place = answer.overall_ranking === null ? "excluded" : `rank ${answer.overall_ranking} in ${answer.task_id}`;
        item.append(link, ` ${answer.status}: ${answer.overall_score}, ${place}.`, why(form, answer.submission_id));
      } else if (answer.detail ?? answer.title) {
        item.className = "refused";
        item.append(answer.line ? `line ${answer.line}: ${problem(answer)}` : problem(answer));
      } else {
        continue; // the totals
      }
      list.append(item);
    }
    const rest = answers.length - shown.length;
    return [list, ...(rest > 0 ? [element("p", "", `${rest.toLocaleString("en-US")} more receipts`)] : [])];
  };

  // Asked for when it is opened: a file may hold thousands of submissions.
  const why = (form, submission) => {
    const folded = element("details", "why");
    const scores = element("dl");
    folded.append(element("summary", "", "Why this score?"), scores);
    folded.addEventListener("toggle", async () => {
      const response = await fetch(`${form.dataset.pages}/api/v1/submissions/${encodeURIComponent(submission)}`);
      const body = await response.json();
      if (response.ok) scores.replaceChildren(...body.scores.flatMap(explained));
      else scores.replaceChildren(element("dd", "refused", problem(body)));
    }, { once: true });
    return folded;
  };

  const explained = (score) => {
    const put_in = Object.entries({ ...score.inputs, ...score.constants }).map(([name, value]) => `${name} = ${value}`);
    return [
      element("dt", "", `${score.title}: ${score.value ?? "unknown"}`),
      element("dd", "", score.formula),
      element("dd", "", put_in.join(", ")),
    ];
  };

  const work = { review: decide, rate, submit };

  for (const form of document.querySelectorAll("form[data-write]")) {
    form.querySelector("fieldset").disabled = false;
    form.elements.token.value = kept.get();
    const output = form.querySelector(".message");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      event.stopPropagation();
      const button = form.querySelector("button:not([type=button])");
      button.disabled = true;
      output.replaceChildren("Sending ...");
      try {
        output.replaceChildren(...(await work[form.dataset.write](form)));
      } catch (error) {
        output.replaceChildren(element("p", "refused", `The server is unreachable or returned an unexpected response (${error.name}).`));
      }
      button.disabled = false;
    });
    form.querySelector("[data-forget]")?.addEventListener("click", () => {
      kept.set("");
      form.elements.token.value = "";
    });
    const area = form.elements.submissions;
    if (!area) continue;
    const take = async (files) => {
      const texts = await Promise.all([...files].map((file) => file.text()));
      area.value = texts.join("\n");
    };
    form.elements.file.addEventListener("change", (event) => take(event.target.files));
    for (const name of ["dragover", "drop"]) form.addEventListener(name, (event) => event.preventDefault());
    form.addEventListener("drop", (event) => take(event.dataTransfer.files));
  }
})();
