"use strict";
(() => {
  const $ = (s, e = document) => e.querySelector(s), all = (s, e = document) => [...e.querySelectorAll(s)];
  const toc = $("#toc"), wide = matchMedia("(min-width:82rem)");
  const setTOC = () => { if (wide.matches) toc.open = true; };
  setTOC(); wide.addEventListener("change", setTOC);
  addEventListener("beforeprint", () => all("details").forEach(d => { d.open = true; }));
  const table = $("#tasks");
  if (!table) return;
  const config = JSON.parse($("#samples-config").textContent), body = table.tBodies[0], rows = all("tr", body);
  const form = $("#filters"), count = $("#count"), panel = $("#replies");
  form.hidden = false;

  // Everything a model wrote is put into the page as text nodes; nothing is parsed as HTML.
  const el = (tag, cls, ...kids) => { const e = document.createElement(tag); if (cls) e.className = cls; e.append(...kids); return e; };
  const speaker = new RegExp("^([\\s*#>-]*)(" + config.speakers.join("|") + ")(\\**\\s*:)");
  const highlight = text => {
    const pre = el("pre", "");
    text.split("\n").forEach((line, i) => {
      if (i) pre.append("\n");
      const m = speaker.exec(line);
      if (m) pre.append(m[1], el("span", "turn", m[2] + m[3]), line.slice(m[0].length)); else pre.append(line);
    });
    return pre;
  };

  const blocks = new Map();
  const load = n => {
    if (!blocks.has(n)) blocks.set(n, (async () => {
      const bytes = Uint8Array.from(atob($("#block-" + n).textContent), c => c.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      return JSON.parse(await new Response(stream).text());
    })());
    return blocks.get(n);
  };

  const show = async row => {
    rows.forEach(r => r.classList.toggle("open", r === row));
    panel.replaceChildren();
    const id = Number(row.id.slice(5));
    if (row.dataset.block === undefined) { panel.append(el("p", "", "The replies to task " + id + " are in eval/*.jsonl.gz of the run folder.")); return; }
    let task;
    try { task = (await load(row.dataset.block)).find(t => t.task === id); }
    catch (e) { panel.append(el("p", "", "This browser cannot open the compressed replies (DecompressionStream): they are in eval/*.jsonl.gz of the run folder.")); return; }
    panel.append(el("h3", "", "Task " + id), el("p", "", "Gold answer: " + task.gold));
    if (task.question) panel.append(el("pre", "", task.question));
    const sets = el("div", "sets");
    config.evals.forEach((ev, i) => {
      const mine = task.replies.filter(r => r.e === i);
      if (!mine.length) return;
      const set = el("div", "set", el("h4", "", ev.model + ", " + ev.prompt));
      mine.forEach(r => {
        const grade = r.r === 1 ? "right" : r.r === 0 ? "wrong" : "not graded";
        const meta = el("p", "meta", "reply " + (r.s + 1) + ": ", el("b", "grade", grade), " (" + r.w + "), " + r.k + " tokens" + (r.c ? ", cut off" : "") + (r.n ? ", " + r.n + " turns" : ""));
        set.append(el("div", "reply " + (r.r === 1 ? "right" : r.r === 0 ? "wrong" : ""), meta, highlight(r.t)));
      });
      sets.append(set);
    });
    panel.append(sets);
  };

  const filter = () => {
    const f = form.elements, want = f.flip.value, num = f.task.value.trim();
    let n = 0;
    rows.forEach(r => {
      const d = r.dataset, ok = (!want || d.flip === want || want === "flips" && (d.flip === "won" || d.flip === "lost")) &&
        (!f.talk.checked || d.talk === "true") && (!f.cut.checked || d.cut === "true") && (!num || r.id === "task-" + num);
      r.hidden = !ok; if (ok) n++;
    });
    count.textContent = n + " of " + rows.length + " tasks";
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", e => e.preventDefault());
  filter();

  const key = (row, i) => {
    const s = row.cells[i].textContent.replace("\u2212", "-"), m = /^(-?[\d.]+)\/(\d+)$/.exec(s);
    if (m) return Number(m[1]) / (Number(m[2]) || 1);
    const n = Number(s);
    return s !== "" && !isNaN(n) ? n : s;
  };
  all("thead th", table).forEach((th, i) => {
    const b = el("button", "", ...th.childNodes);
    b.type = "button"; th.replaceChildren(b);
    b.addEventListener("click", () => {
      const up = th.getAttribute("aria-sort") !== "ascending";
      all("thead th", table).forEach(x => x.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sorted = rows.map((r, j) => [key(r, i), j, r]).sort((a, c) => (a[0] < c[0] ? -1 : a[0] > c[0] ? 1 : 0) * (up ? 1 : -1) || a[1] - c[1]);
      body.append(...sorted.map(x => x[2]));
      count.textContent = "sorted by " + b.textContent + (up ? ", ascending" : ", descending");
    });
  });

  const go = () => {
    const m = /^#task-(\d+)$/.exec(location.hash), row = m && document.getElementById("task-" + m[1]);
    if (!row) return;
    if (row.hidden) { form.reset(); filter(); }
    row.scrollIntoView({ block: "nearest" });
    show(row).then(() => panel.focus({ preventScroll: true }));
  };
  addEventListener("hashchange", go);
  body.addEventListener("click", e => { const a = e.target.closest("a"); if (a && a.hash === location.hash) go(); });
  go();
})();
