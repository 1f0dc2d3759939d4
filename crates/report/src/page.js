(() => {
  "use strict";

  // A number with its unit, in the smallest one; text stays text, and what is missing comes last.
  const units = { "µs": 1, ms: 1e3, s: 1e6 };
  const value = (cell) => {
    const text = cell ? cell.textContent.trim().replace(/^\u003c/, "") : "";
    const found = text.replace(/,/g, "").match(/^([+-]?\d+(?:\.\d+)?)\s*(µs|ms|s)?/);
    if (found) return Number(found[1]) * (units[found[2]] || 1);
    return text === "–" || text === "" ? null : text;
  };
  const compare = (a, b, direction) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" ? typeof b === "number" : false) return (a - b) * direction;
    return String(a).localeCompare(String(b)) * direction;
  };

  // A click on a heading sorts its table, the next one the other way round, and the third restores the order.
  const sortable = (table) => {
    const body = table.tBodies[0];
    const order = Array.from(body.rows);
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const was = head.getAttribute("aria-sort");
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        const next = was === null ? "ascending" : was === "ascending" ? "descending" : null;
        const direction = next === "descending" ? -1 : 1;
        const rows = Array.from(order);
        if (next) {
          head.setAttribute("aria-sort", next);
          rows.sort((a, b) => compare(value(a.cells[column]), value(b.cells[column]), direction));
        }
        table.classList.toggle("sorted", next !== null);
        body.append(...rows);
      });
    });
  };
  document.querySelectorAll("table.sortable").forEach(sortable);

  // A time line is drawn anew for each part of its time that is asked for, and as wide as there is room.
  const clocks = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const clock = (ns, step) => {
    const [unit, name] = clocks.find((one) => step >= one[0]) || clocks[3];
    const decimals = Number.isInteger(step / unit) ? 0 : 1;
    return (0.05 > Math.abs(ns / unit) ? 0 : ns / unit).toFixed(decimals) + " " + name;
  };
  const rounded = (raw) => {
    const power = Math.pow(10, Math.floor(Math.log10(raw)));
    return [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999) * power;
  };
  const fitted = (text, letters) => {
    if (3 > letters) return "";
    return text.length > letters ? text.slice(0, letters - 1) + "…" : text;
  };
  const drawn = (picture, name, attributes) => {
    const one = document.createElementNS(picture.namespaceURI, name);
    Object.entries(attributes).forEach(([key, value]) => one.setAttribute(key, value));
    return one;
  };

  const zoomable = (figure) => {
    const svg = figure.querySelector("svg[role=img]");
    const all = (selector) => Array.from(svg.querySelectorAll(selector));
    const read = (one, name) => Number(one.getAttribute(name));
    const [ground, paper, errors] = [".tw-ground", ".tw-paper", ".tw-error"].map((one) => svg.querySelector(one));
    const [rule, label] = [".tw-grid", ".tw-muted"].map((one) => svg.querySelector(one).cloneNode());
    all(".tw-grid, .tw-muted, .tw-name").forEach((one) => one.remove());
    const bars = all(".tw-bar").map((rect) => ({
      rect,
      ends: ["data-from", "data-to"].map((name) => read(rect, name)),
      unsure: (rect.getAttribute("data-unsure") || "0 0").split(" ").map(Number),
      name: rect.getAttribute("data-name"),
      text: null,
    }));
    const arrows = all(".tw-arrow");
    const ticks = drawn(svg, "g", {});
    ground.after(ticks);
    const [left, top, bottom] = [read(ground, "x"), read(ground, "y"), read(ground, "y") + read(ground, "height")];
    const [above, height] = svg.getAttribute("viewBox").split(" ").filter((_, at) => at % 2 === 1);
    const whole = ["data-from", "data-to"].map((name) => read(ground, name));
    const least = Math.min(whole[1] - whole[0], 100);
    let [from, to] = whole;
    let width = 0;
    let isDue = false;

    const place = (ns) => left + (ns - from) / (to - from) * (width - 2 * left);
    const held = (x) => Math.min(Math.max(x, left), width - left);
    const isWithin = (start, end) => (to >= start ? end >= from : false);
    const tick = (at, step) => {
      const x = place(at).toFixed(1);
      const line = rule.cloneNode();
      line.setAttribute("d", "M" + x + " " + top + "V" + bottom);
      const text = label.cloneNode();
      text.setAttribute("x", x);
      text.textContent = clock(at, step);
      ticks.append(line, text);
    };
    const bar = (one) => {
      const isSeen = isWithin(one.ends[0], one.ends[1]);
      const [start, end] = one.ends.map((at) => held(place(at)));
      one.rect.setAttribute("display", isSeen ? "inline" : "none");
      one.rect.setAttribute("x", start.toFixed(1));
      one.rect.setAttribute("width", (end - start > 3 ? end - start - 1 : Math.max(end - start, 0.8)).toFixed(1));
      const name = isSeen ? fitted(one.name, Math.floor((end - start - 4) / 6.4)) : "";
      if (one.text === null) {
        if (name === "") return;
        const look = { class: "tw-on", "font-size": "11", "pointer-events": "none", y: read(one.rect, "y") + 10 };
        one.text = drawn(svg, "text", look);
        one.text.setAttribute("fill", one.rect.getAttribute("data-ink"));
        one.rect.after(one.text);
      }
      one.text.setAttribute("x", (start + 2).toFixed(1));
      one.text.textContent = name;
    };
    const error = (one) => one.ends.map((at, side) => {
      const [start, end] = [at - one.unsure[side], at + one.unsure[side]];
      if (!isWithin(start, end)) return "";
      const [x, until] = [start, end].map((ns) => held(place(ns)));
      const y = read(one.rect, "y") + read(one.rect, "height") + 1;
      return until - x >= 3 ? "M" + x.toFixed(1) + " " + y + "v3m0 -1.5H" + until.toFixed(1) + "m0 -1.5v3" : "";
    }).join("");
    const draw = () => {
      isDue = false;
      svg.setAttribute("viewBox", "0 " + above + " " + width + " " + height);
      [svg, paper].forEach((one) => one.setAttribute("width", width));
      ground.setAttribute("width", width - 2 * left);
      ticks.replaceChildren();
      const step = rounded((to - from) / Math.max(2, Math.floor(width / 110)));
      for (let at = Math.ceil(from / step) * step; to >= at; at += step) tick(at, step);
      bars.forEach(bar);
      errors.setAttribute("d", bars.map(error).join(""));
      arrows.forEach((one) => {
        const at = read(one, "data-at");
        one.setAttribute("display", isWithin(at, at) ? "inline" : "none");
        one.setAttribute("transform", "translate(" + place(at).toFixed(1) + " 0)");
      });
      shown.textContent = clock(from, step / 10) + " to " + clock(to, step / 10);
    };
    const later = () => {
      if (!isDue) requestAnimationFrame(draw);
      isDue = true;
    };
    const show = (start, end) => {
      const long = Math.min(Math.max(end - start, least), whole[1] - whole[0]);
      from = Math.min(Math.max(start, whole[0]), whole[1] - long);
      to = from + long;
      later();
    };
    const zoom = (factor, around) => show(around - (around - from) * factor, around + (to - around) * factor);
    const move = (share) => show(from + (to - from) * share, to + (to - from) * share);
    const middle = () => (from + to) / 2;
    const time = (event) => {
      const x = held(event.clientX - svg.getBoundingClientRect().left);
      return from + (x - left) / (width - 2 * left) * (to - from);
    };

    const tools = document.createElement("div");
    const shown = document.createElement("output");
    const [larger, smaller] = [() => zoom(0.5, middle()), () => zoom(2, middle())];
    const [earlier, latter, restored] = [() => move(-0.25), () => move(0.25), () => show(whole[0], whole[1])];
    const buttons = [["Zoom in", larger], ["Zoom out", smaller], ["Earlier", earlier], ["Later", latter], ["All", restored]];
    buttons.forEach(([name, act]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", act);
      tools.append(button);
    });
    tools.className = "zooms";
    tools.setAttribute("role", "group");
    tools.setAttribute("aria-label", "Part of the time that is shown");
    tools.append(shown);
    svg.before(tools);
    svg.setAttribute("tabindex", "0");
    figure.classList.add("zoomable");

    const keys = { "+": larger, "=": larger, "-": smaller, ArrowLeft: earlier, ArrowRight: latter, "0": restored, Home: restored };
    figure.addEventListener("keydown", (event) => {
      const isOther = event.ctrlKey || event.metaKey || event.altKey;
      if (isOther || !Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    // The wheel goes on to move the page where the time line was not asked for.
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) if (document.activeElement !== svg) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / width);
      else zoom(Math.pow(1.002, event.deltaY), time(event));
    }, { passive: false });
    svg.addEventListener("dblclick", restored);
    let began = null;
    const brush = drawn(svg, "rect", { y: top, height: bottom - top, class: "tw-ink", fill: "#1f2328", "fill-opacity": "0.2", display: "none" });
    svg.append(brush);
    svg.addEventListener("pointerdown", (event) => {
      if (event.button === 0) began = { at: time(event), x: event.clientX, isDrawn: false };
    });
    svg.addEventListener("pointermove", (event) => {
      // Outside of the window a button may have been let go unseen.
      if (event.buttons === 0) began = null;
      if (began === null) return;
      if (!began.isDrawn) if (5 > Math.abs(event.clientX - began.x)) return;
      if (!began.isDrawn) svg.setPointerCapture(event.pointerId);
      began.isDrawn = true;
      const [start, end] = [began.at, time(event)].map(place).sort((a, b) => a - b);
      brush.setAttribute("x", start.toFixed(1));
      brush.setAttribute("width", (end - start).toFixed(1));
      brush.setAttribute("display", "inline");
    });
    const ended = (event) => {
      brush.setAttribute("display", "none");
      const [was, until] = [began, time(event)];
      began = null;
      if (event.type === "pointerup") if (was !== null) if (was.isDrawn) show(Math.min(was.at, until), Math.max(was.at, until));
    };
    ["pointerup", "pointercancel"].forEach((name) => svg.addEventListener(name, ended));
    new ResizeObserver(() => {
      const now = Math.max(Math.round(svg.getBoundingClientRect().width), 200);
      if (now === width) return;
      width = now;
      later();
    }).observe(figure);
  };
  document.querySelectorAll("figure.timeline").forEach(zoomable);

  // A click on a frame shows it as wide as there is room, in all flame graphs of the page at once.
  const flames = (section) => {
    const graphs = Array.from(section.querySelectorAll(".frames"));
    const read = (button) => ({
      button,
      number: Number(button.getAttribute("data-frame")),
      until: Number(button.getAttribute("data-until")),
      left: parseFloat(button.style.left),
      width: parseFloat(button.style.width),
      top: parseFloat(button.style.top),
    });
    const drawn = graphs.map((graph) => Array.from(graph.querySelectorAll("button")).map(read));
    // A frame has the numbers from its own to that of the last one within it.
    const holds = (bar, number) => (number >= bar.number ? bar.until >= number : false);
    const last = (bars) => bars[bars.length - 1];
    // One bar of each graph is reached by the tabulator, the others from there by arrows.
    const enter = (bars, bar) => bars.forEach((other) => { other.button.tabIndex = other === bar ? 0 : -1; });
    const show = (number) => drawn.forEach((bars) => {
      // A graph without this frame shows the innermost one around it.
      const shown = last(bars.filter((bar) => holds(bar, number)));
      bars.forEach((bar) => {
        const isAround = holds(bar, shown.number);
        bar.button.hidden = !(isAround || holds(shown, bar.number));
        bar.button.style.left = (isAround ? 0 : (bar.left - shown.left) / shown.width * 100) + "%";
        bar.button.style.width = (isAround ? 100 : bar.width / shown.width * 100) + "%";
        bar.button.classList.toggle("around", isAround ? bar !== shown : false);
      });
      enter(bars, shown);
    });

    const tools = document.createElement("div");
    const [whole, wanted, told] = ["button", "input", "output"].map((name) => document.createElement(name));
    const find = () => {
      const text = wanted.value.trim().toLowerCase();
      const isFound = (bar) => bar.number > 0 ? bar.button.textContent.toLowerCase().includes(text) : false;
      const shares = drawn.map((bars) => {
        let [share, until] = [0, 0];
        bars.forEach((bar) => {
          const found = text === "" ? false : isFound(bar);
          bar.button.classList.toggle("found", found);
          // What lies within another one that is found counts with it.
          if (!found || until >= bar.number) return;
          share += bar.width;
          until = bar.until;
        });
        return share;
      });
      section.classList.toggle("searched", text !== "");
      const named = shares.map((share, at) => share.toFixed(1) + " % of: " + graphs[at].getAttribute("aria-label"));
      told.textContent = text === "" ? "" : named.join("\n");
    };
    whole.type = "button";
    whole.textContent = "All";
    whole.addEventListener("click", () => show(0));
    wanted.type = "search";
    wanted.placeholder = "Find a function";
    wanted.setAttribute("aria-label", "Find a function");
    wanted.addEventListener("input", find);
    tools.className = "zooms";
    tools.setAttribute("role", "group");
    tools.setAttribute("aria-label", "Part of the calls that is shown");
    tools.append(whole, wanted, told);
    section.prepend(tools);

    const key = (bars, bar, name) => {
      const seen = bars.filter((other) => !other.button.hidden);
      const beside = seen.filter((other) => other.top === bar.top);
      const at = beside.indexOf(bar);
      const within = seen.filter((other) => holds(bar, other.number));
      const around = seen.filter((other) => holds(other, bar.number));
      const ways = {
        ArrowDown: within[1],
        ArrowUp: around[around.length - 2],
        ArrowLeft: beside[at - 1],
        ArrowRight: beside[at + 1],
        Home: bars[0],
      };
      return Object.hasOwn(ways, name) ? ways[name] || bar : null;
    };
    drawn.forEach((bars) => {
      enter(bars, bars[0]);
      bars.forEach((bar) => {
        bar.button.addEventListener("click", () => show(bar.number));
        bar.button.addEventListener("focus", () => {
          enter(bars, bar);
          told.textContent = bar.button.getAttribute("data-tip");
        });
        bar.button.addEventListener("keydown", (event) => {
          const isOther = event.ctrlKey || event.metaKey || event.altKey;
          const to = isOther ? null : key(bars, bar, event.key);
          if (to === null) return;
          event.preventDefault();
          to.button.focus();
        });
      });
    });
    section.addEventListener("keydown", (event) => {
      if (event.key === "Escape") show(0);
    });
  };
  document.querySelectorAll("section.flames").forEach(flames);

  // Values of a plot or a cell beside the pointer, or where it was touched, at once and on every device.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  document.querySelectorAll("figure svg title").forEach((title) => {
    title.parentNode.setAttribute("data-tip", title.textContent);
    title.remove();
  });
  document.querySelectorAll("td[title]").forEach((cell) => {
    cell.setAttribute("data-tip", cell.title);
    cell.removeAttribute("title");
  });
  const show = (event) => {
    const over = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = over === null;
    if (over === null) return;
    tip.textContent = over.getAttribute("data-tip");
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, room)) + "px";
    const below = event.clientY + 18;
    const fits = window.innerHeight - tip.offsetHeight - 8 >= below;
    tip.style.top = (fits ? below : event.clientY - tip.offsetHeight - 10) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, true);
})();
