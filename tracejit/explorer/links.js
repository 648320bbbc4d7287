// What has the same numbers lights up together: data-s of statements, data-e of expressions.
// One set of listeners serves every explorer in a document.
(() => {
  if (document.tracejitLinks) return;
  document.tracejitLinks = true;
  const pinned = new WeakMap();
  let shown = null;

  const scopeOf = (element) => element.closest(".tj .kernel, .tj.kernel");

  function selectionAt(element) {
    if (!(element instanceof Element)) return null;
    const scope = scopeOf(element);
    const line = scope && element.closest("[data-s]");
    if (!line) return null;
    const part = element.closest("[data-e]");
    const e = part && line.contains(part) ? part.dataset.e : null;
    let s = line.dataset.s.split(" ")[0];
    if (e !== null) {
      const home = scope.querySelector(`.user [data-e="${e}"]`);
      if (home) s = home.closest("[data-s]").dataset.s.split(" ")[0];
    }
    return { scope, s, e, line };
  }

  function clear() {
    if (shown) shown.scope.querySelectorAll(".on, .near").forEach((one) => one.classList.remove("on", "near"));
    shown = null;
  }

  function show(selection) {
    if (shown && selection && shown.scope === selection.scope && shown.s === selection.s && shown.e === selection.e) return;
    clear();
    if (!selection) return;
    const { scope, s, e } = selection;
    scope.querySelectorAll(`.l[data-s~="${s}"], tr[data-s~="${s}"]`).forEach((one) => one.classList.add("on"));
    scope.querySelectorAll(`.box[data-s~="${s}"]`).forEach((one) => one.classList.add(e === null ? "on" : "near"));
    if (e !== null) scope.querySelectorAll(`[data-e="${e}"]`).forEach((one) => one.classList.add("on"));
    shown = selection;
    scope.dispatchEvent(new CustomEvent("tj-show", { detail: selection, bubbles: true }));
  }

  function reveal(selection) {
    selection.scope.querySelectorAll(".code").forEach((pane) => {
      if (pane.contains(selection.line) || !pane.offsetParent) return;
      const lines = [...pane.querySelectorAll(".l.on")].filter((one) => one.offsetParent);
      const inside = (one) => {
        const top = one.getBoundingClientRect().top - pane.getBoundingClientRect().top;
        return top >= 0 && top < pane.clientHeight - 20;
      };
      if (lines.length && !lines.some(inside)) {
        const top = lines[0].getBoundingClientRect().top - pane.getBoundingClientRect().top;
        pane.scrollTop += top - pane.clientHeight / 4;
      }
    });
  }

  const back = (scope) => show((scope && pinned.get(scope)) || null);

  document.addEventListener("mouseover", (event) => {
    const selection = selectionAt(event.target);
    if (selection) {
      if (!pinned.get(selection.scope)) show(selection);
    } else if (shown) back(shown.scope);
  });
  document.addEventListener("focusin", (event) => {
    const selection = event.target.matches(".l") && selectionAt(event.target);
    if (selection && !pinned.get(selection.scope)) show(selection);
  });
  document.addEventListener("click", (event) => {
    const selection = selectionAt(event.target);
    if (!selection || event.target.closest("summary, button")) return;
    const before = pinned.get(selection.scope);
    if (before && before.s === selection.s && before.e === selection.e) {
      pinned.delete(selection.scope);
      show(selection);
    } else {
      pinned.set(selection.scope, selection);
      show(selection);
      reveal(selection);
    }
    selection.scope.dispatchEvent(new CustomEvent("tj-show", { detail: selection, bubbles: true }));
  });
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    if (!(at instanceof Element) || event.ctrlKey || event.metaKey || event.altKey) return;
    const pane = at.closest(".tj .code");
    if (event.key === "Escape" && shown) {
      pinned.delete(shown.scope);
      clear();
    } else if (pane && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const lines = [...pane.querySelectorAll(".l[data-s]")].filter((one) => one.offsetParent);
      const from = lines.indexOf(at);
      const step = event.key === "ArrowDown" ? 1 : -1;
      const next = from < 0 ? lines[0] : lines[from + step];
      if (next) next.focus();
      event.preventDefault();
    } else if (pane && (event.key === "ArrowRight" || event.key === "ArrowLeft") && at.matches(".l")) {
      const panes = [...scopeOf(at).querySelectorAll(".code")].filter((one) => one.offsetParent);
      const next = panes[panes.indexOf(pane) + (event.key === "ArrowRight" ? 1 : -1)];
      const line = next && ([...next.querySelectorAll(".l.on")].find((one) => one.offsetParent) || next);
      if (line) line.focus();
      event.preventDefault();
    } else if (pane && at.matches(".l") && (event.key === "Enter" || event.key === " ")) {
      at.click();
      event.preventDefault();
    }
  });
})();
