(() => {
  const root = document.querySelector(".tj.page");
  const all = (selector, from = root) => [...from.querySelectorAll(selector)];

  // Theme: as the system has it, light, or dark
  const themes = ["auto", "light", "dark"];
  const themeButton = root.querySelector("[data-theme]");
  function setTheme(name) {
    root.classList.toggle("light", name === "light");
    root.classList.toggle("dark", name === "dark");
    themeButton.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[name];
    themeButton.dataset.theme = name;
    try { localStorage.setItem("tracejit-theme", name); } catch { /* a file of its own may not */ }
  }
  const nextTheme = () => setTheme(themes[(themes.indexOf(themeButton.dataset.theme) + 1) % 3]);
  themeButton.addEventListener("click", nextTheme);
  let saved = "auto";
  try { saved = localStorage.getItem("tracejit-theme") || saved; } catch { /* likewise */ }
  setTheme(themes.includes(saved) ? saved : "auto");

  // Tabs: a kernel each, and the comparison of two
  const tabs = all("[role=tab]");
  const visible = () => all(".kernel").find((one) => !one.hidden);
  function open(tab, focus) {
    tabs.forEach((one) => {
      const chosen = one === tab;
      one.setAttribute("aria-selected", chosen);
      one.tabIndex = chosen ? 0 : -1;
      document.getElementById(one.getAttribute("aria-controls")).hidden = !chosen;
    });
    if (focus) tab.focus();
    if (tab.getAttribute("aria-controls") === "compare") compare();
    all("svg.net").forEach((svg) => fit(svg));
    tell(null);
  }
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) open(tabs[(number + step + tabs.length) % tabs.length], true);
    });
  });

  // The functions of a pane
  all(".pane [data-show]").forEach((button) => button.addEventListener("click", () => {
    const pane = button.closest(".pane");
    all("[data-show]", pane).forEach((one) => {
      const chosen = one === button;
      one.setAttribute("aria-pressed", chosen);
      document.getElementById(one.dataset.show).hidden = !chosen;
    });
    pane.querySelector(".code").scrollTop = 0;
  }));

  // What is lit up, in words
  const status = root.querySelector(".status");
  const usual = status && status.innerHTML;
  function tell(selection) {
    if (!status) return;
    if (!selection) { status.innerHTML = usual; return; }
    const { scope, s, e } = selection;
    const parts = e === null ? [] : all(`.user [data-e="${e}"]`, scope);
    const line = scope.querySelector(`.user .l[data-s~="${s}"] code`);
    const text = (parts.length ? parts.map((one) => one.textContent).join(" ") : line ? line.textContent : "").trim();
    const counts = all(".rows[data-name]", scope).map((rows) => {
      const number = all(`.l[data-s~="${s}"]`, rows).length;
      return number ? `${number} in ${rows.dataset.name}` : "";
    }).filter((one) => one);
    const code = document.createElement("code");
    code.textContent = text;
    status.replaceChildren(code, ` \u2014 lines made from its statement: ${counts.join(", ") || "none"}`);
  }
  root.addEventListener("tj-show", (event) => tell(event.detail));

  // Keys
  const help = root.querySelector("dialog");
  root.querySelector("[data-help]").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input")) return;
    if (event.key === "?") help.open ? help.close() : help.showModal();
    if (event.key === "t") nextTheme();
    if (event.key === "Escape") tell(null);
    if (/^[1-9]$/.test(event.key) && tabs[event.key - 1]) open(tabs[event.key - 1], true);
    if (event.key === "c" && tabs.length > 1) open(tabs[tabs.length - 1], true);
  });

  // The graph: pan and zoom
  function box(svg) { return svg.viewBox.baseVal; }
  function fit(svg, all = false) {
    const [width, height] = svg.dataset.size.split(" ").map(Number);
    const frame = svg.getBoundingClientRect();
    if (!frame.width) return;
    const scale = Math.max(Math.min(frame.width / (width + 40), frame.height / (height + 40), 1.15), all ? 0.02 : 0.75);
    const view = box(svg);
    view.width = frame.width / scale;
    view.height = frame.height / scale;
    view.x = width / 2 - view.width / 2;
    view.y = height * scale + 40 < frame.height ? height / 2 - view.height / 2 : -20;
    if (width > view.width && !all) view.x = Number(svg.dataset.start) - view.width / 2;
  }
  function zoom(svg, factor, x = 0.5, y = 0.5) {
    const view = box(svg);
    const width = Math.min(Math.max(view.width * factor, 80), 60000);
    const real = width / view.width;
    view.x += view.width * (1 - real) * x;
    view.y += view.height * (1 - real) * y;
    view.width *= real;
    view.height *= real;
  }
  all("svg.net").forEach((svg) => {
    fit(svg);
    let drag = null;
    const moved = (by) => {
      const view = box(svg);
      const frame = svg.getBoundingClientRect();
      view.x -= (by.x * view.width) / frame.width;
      view.y -= (by.y * view.height) / frame.height;
    };
    let far = 0;
    svg.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY }; far = 0; });
    svg.addEventListener("pointermove", (event) => {
      if (!drag) return;
      far += Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y);
      moved({ x: event.clientX - drag.x, y: event.clientY - drag.y });
      drag = { x: event.clientX, y: event.clientY };
    });
    // What ends a drag is no click on a box.
    svg.addEventListener("click", (event) => { if (far > 5) event.stopPropagation(); }, true);
    ["pointerup", "pointerleave", "pointercancel"].forEach((name) => svg.addEventListener(name, () => { drag = null; }));
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== svg) return;
      event.preventDefault();
      const frame = svg.getBoundingClientRect();
      zoom(svg, Math.exp(event.deltaY / 400), (event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height);
    }, { passive: false });
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
      if (by) { moved({ x: by[0], y: by[1] }); event.preventDefault(); }
      if (event.key === "+" || event.key === "=") zoom(svg, 0.8);
      if (event.key === "-") zoom(svg, 1.25);
      if (event.key === "0") fit(svg, true);
    });
    const tools = svg.closest(".graph");
    tools.querySelector("[data-zoom=in]").addEventListener("click", () => zoom(svg, 0.75));
    tools.querySelector("[data-zoom=out]").addEventListener("click", () => zoom(svg, 1.33));
    tools.querySelector("[data-zoom=fit]").addEventListener("click", () => fit(svg, true));
  });
  window.addEventListener("resize", () => all("svg.net").forEach((svg) => fit(svg)));

  // The difference of two kernels
  const chosen = all(".compare select");
  chosen.forEach((one) => one.addEventListener("change", compare));
  function textOf(id) {
    const lines = [];
    all(".made .l", document.getElementById(id)).forEach((line) => {
      lines[Number(line.querySelector(".n").textContent) - 1] = line.querySelector("code").textContent;
    });
    return Array.from(lines, (line) => line || "");
  }
  function compare() {
    if (chosen.length < 2) return;
    const [left, right] = chosen.map((one) => textOf(one.value));
    if (left.join("\n") === right.join("\n")) {
      root.querySelector(".diff").textContent = "These two have the same text.";
      return;
    }
    const table = document.createElement("table");
    table.innerHTML = "<colgroup><col style='width:48px'><col><col style='width:48px'><col></colgroup>";
    rowsOf(changes(left, right), left, right).forEach((row) => table.append(row));
    root.querySelector(".diff").replaceChildren(table);
  }
  // The pairs of lines that are alike, by Myers' algorithm; none within what differs too much.
  function changes(a, b) {
    let head = 0, tail = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) head++;
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
    const n = a.length - head - tail, m = b.length - head - tail;
    const alike = [];
    for (let i = 0; i < head; i++) alike.push([i, i]);
    const trail = [];
    let at = new Map([[1, 0]]), found = -1;
    for (let d = 0; d <= Math.min(n + m, 1200) && found < 0; d++) {
      trail.push(new Map(at));
      for (let k = -d; k <= d; k += 2) {
        let x = k === -d || (k !== d && at.get(k - 1) < at.get(k + 1)) ? at.get(k + 1) : at.get(k - 1) + 1;
        while (x < n && x - k < m && a[head + x] === b[head + x - k]) x++;
        at.set(k, x);
        if (x >= n && x - k >= m) { found = d; break; }
      }
    }
    const middle = [];
    let x = n, y = m;
    for (let d = found; d > 0; d--) {
      const v = trail[d], k = x - y;
      const from = k === -d || (k !== d && v.get(k - 1) < v.get(k + 1)) ? k + 1 : k - 1;
      const px = v.get(from), py = px - from;
      while (x > px && y > py) middle.push([head + --x, head + --y]);
      x = px; y = py;
    }
    if (found >= 0) while (x > 0 && y > 0) middle.push([head + --x, head + --y]);
    alike.push(...middle.reverse());
    for (let i = tail; i > 0; i--) alike.push([a.length - i, b.length - i]);
    return alike;
  }
  function cell(text, kind) {
    const one = document.createElement("td");
    if (kind) one.className = kind;
    if (text instanceof Node) one.append(text); else one.textContent = text;
    return one;
  }
  function rowOf(...cells) {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
  }
  // A line with the words that its partner has not.
  function marked(line, other) {
    const words = line.split(/(\W)/), others = other.split(/(\W)/);
    let head = 0, tail = 0;
    while (head < words.length && head < others.length && words[head] === others[head]) head++;
    while (tail < words.length - head && tail < others.length - head && words[words.length - 1 - tail] === others[others.length - 1 - tail]) tail++;
    const made = document.createDocumentFragment();
    const strong = document.createElement("b");
    strong.textContent = words.slice(head, words.length - tail).join("");
    made.append(words.slice(0, head).join(""), strong, tail ? words.slice(words.length - tail).join("") : "");
    return made;
  }
  function rowsOf(alike, a, b) {
    const rows = [], around = 3;
    let i = 0, j = 0, same = [];
    const flush = (isLast) => {
      const first = rows.length ? around : 0, last = isLast ? 0 : around;
      same.forEach(([x, y], number) => {
        const near = number < first || number >= same.length - last;
        if (near || same.length <= first + last + 1) rows.push(rowOf(cell(x + 1), cell(a[x]), cell(y + 1), cell(b[y])));
        else if (number === first) {
          const gap = cell(`${same.length - first - last} lines alike`);
          gap.colSpan = 4;
          const row = rowOf(gap);
          row.className = "gap";
          rows.push(row);
        }
      });
      same = [];
    };
    for (const [x, y] of [...alike, [a.length, b.length]]) {
      if (i < x || j < y) {
        flush(false);
        const left = a.slice(i, x), right = b.slice(j, y);
        for (let n = 0; n < Math.max(left.length, right.length); n++) {
          const [l, r] = [left[n], right[n]];
          rows.push(rowOf(
            cell(l === undefined ? "" : i + n + 1), cell(l === undefined ? "" : r === undefined ? l : marked(l, r), l === undefined ? "" : "old"),
            cell(r === undefined ? "" : j + n + 1), cell(r === undefined ? "" : l === undefined ? r : marked(r, l), r === undefined ? "" : "new"),
          ));
        }
      }
      if (x < a.length) same.push([x, y]);
      i = x + 1;
      j = y + 1;
    }
    flush(true);
    return rows;
  }
})();
