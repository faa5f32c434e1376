/**
 * The picture: cytoscape on a canvas, told what to show and what changed since.
 *
 * Live values arrive ten times a second, so nothing here restyles everything: `mark` takes the few
 * nodes whose look changed, and `show` only touches elements that came, went or moved.
 */

import cytoscape from "../../vendor/cytoscape.esm.min.mjs";
import { elementsOf } from "./elements.js";
import { LARGEST, isNarrow, place, widthMarked } from "./layout.js";
import { readColours, stylesheet } from "./style.js";

const STYLE_ID = "__________cytoscape_stylesheet";
const READABLE = 0.72;
const MARGIN = 18;

export class GraphCanvas {
  #graph;
  #container;
  #cy;
  #room = null;
  #moved = false;
  #keys = "";
  #focus = [];
  #size = "";
  #resizes;
  #onTheme = () => this.#cy.style(stylesheet(readColours(this.#container)));

  /**
   * @param container an element that is positioned and sized by CSS
   * @param on {pick(key), nothing(), over(key|null, place)}: keys are those of the scene's nodes
   *   and arrows, "t3" for the title of stage 3
   */
  constructor(graph, container, on) {
    this.#graph = graph;
    this.#container = container;
    reserveStyle();
    this.#cy = cytoscape({
      container,
      layout: { name: "preset" },
      style: stylesheet(readColours(container)),
      minZoom: 0.08, maxZoom: 4,
      autounselectify: true, autoungrabify: true, boxSelectionEnabled: false,
      selectionType: "single",
    });
    this.#listen(on);
    window.addEventListener("themechange", this.#onTheme);
    this.#resizes = new ResizeObserver(() => this.#resized());
    this.#resizes.observe(container);
  }

  destroy() {
    window.removeEventListener("themechange", this.#onTheme);
    this.#resizes.disconnect();
    this.#cy.destroy();
  }

  /**
   * Show a scene.
   *
   * @param looks by node: {label, classes} (see `looks.js`)
   * @param focus keys of nodes to begin with where not everything can be readable at once
   */
  show(scene, looks, focus) {
    // The shape of the place decides the layout once per scene, not while a window is dragged.
    const keys = scene.nodes.map((node) => node.key).join();
    const anew = keys !== this.#keys;
    if (anew) {
      this.#room = { width: this.#container.clientWidth || 900, height: this.#container.clientHeight || 560 };
    }
    const placed = place(this.#graph, scene, this.#room);
    const elements = elementsOf(this.#graph, scene, placed, looks);
    this.#cy.batch(() => this.#change(elements));
    this.#keys = keys;
    this.#focus = focus;
    if (anew) this.begin();
  }

  /** Change the look of some nodes: Map of key to {label, classes}. */
  mark(looks) {
    if (!looks.size) return;
    this.#cy.batch(() => {
      for (const [key, look] of looks) {
        const node = this.#cy.getElementById(key);
        if (node.empty()) continue;
        node.data({ label: look.label, wMore: widthMarked(look.label) });
        for (const name of STATES) node.toggleClass(name, look.classes.includes(name));
      }
    });
  }

  /** Bring out one node or arrow with what it touches, and step the rest back; null for none. */
  pick(key) {
    this.#cy.batch(() => {
      this.#cy.elements().removeClass("picked near dim");
      const one = key ? this.#cy.getElementById(key) : this.#cy.collection();
      if (one.empty()) return;
      const edges = one.isNode() ? one.connectedEdges() : one;
      const kept = edges.union(edges.connectedNodes()).union(one);
      this.#cy.elements(".signal, .card, edge").difference(kept).addClass("dim");
      this.#cy.nodes(".note").forEach((note) => {
        if (!edges.some((edge) => note.id() === `n${edge.id()}`)) note.addClass("dim");
      });
      edges.addClass("near");
      one.addClass("picked");
    });
  }

  /**
   * How the picture is first seen: whole if that is readable, otherwise the part that matters. In a
   * narrow place, where a part would be a few signals, always whole.
   */
  begin() {
    this.fit();
    if (this.#cy.zoom() >= READABLE || isNarrow(this.#cy.width())) return;
    this.#cy.zoom(READABLE);
    const wanted = this.#cy.nodes().filter((node) => this.#focus.includes(node.id()));
    if (wanted.nonempty()) this.#cy.center(wanted);
    else this.#cy.pan({ x: 1e6, y: 1e6 }); // far right and down, so that filling ends at the top left
    this.#fill();
  }

  /** Move the picture so that no room is wasted beside it; one that is smaller is centred. */
  #fill() {
    const box = this.#cy.elements().boundingBox();
    const zoom = this.#cy.zoom();
    const along = (pan, first, last, size) => {
      const most = MARGIN - first * zoom;
      const least = size - MARGIN - last * zoom;
      return least > most ? (least + most) / 2 : Math.min(most, Math.max(least, pan));
    };
    const { x, y } = this.#cy.pan();
    this.#cy.pan({
      x: along(x, box.x1, box.x2, this.#cy.width()), y: along(y, box.y1, box.y2, this.#cy.height()),
    });
  }

  /** See it as at first again, unless somebody has moved the picture. */
  settle() {
    if (!this.#moved) this.begin();
  }

  /** Everything at once. */
  fit() {
    this.#moved = false;
    this.#cy.fit(undefined, MARGIN);
    if (this.#cy.zoom() > LARGEST) {
      this.#cy.zoom(LARGEST);
      this.#cy.center();
    }
  }

  /** Make sure a node is within sight. */
  reveal(key) {
    const one = this.#cy.getElementById(key);
    if (one.empty()) return;
    const box = one.renderedBoundingBox();
    const inside = box.x1 >= 0 && box.y1 >= 0 && box.x2 <= this.#cy.width() && box.y2 <= this.#cy.height();
    if (!inside) this.#cy.center(one);
  }

  zoomBy(factor) {
    this.#moved = true;
    this.#cy.zoom({
      level: this.#cy.zoom() * factor,
      renderedPosition: { x: this.#cy.width() / 2, y: this.#cy.height() / 2 },
    });
  }

  panBy(x, y) {
    this.#moved = true;
    this.#cy.panBy({ x, y });
  }

  /** What part is seen, to come back to; null while nobody moved it. */
  get viewport() {
    return this.#moved ? { keys: this.#keys, zoom: this.#cy.zoom(), pan: { ...this.#cy.pan() } } : null;
  }

  /** Go back to what was seen, if the picture still holds the same nodes. */
  set viewport(seen) {
    if (!seen || seen.keys !== this.#keys) return;
    this.#cy.viewport({ zoom: seen.zoom, pan: seen.pan });
    this.#moved = true;
  }

  /** The whole picture as a PNG file: a promise of a Blob. */
  png() {
    return this.#cy.png({
      output: "blob-promise", full: true, scale: 2, maxWidth: 8000, maxHeight: 8000,
      bg: readColours(this.#container).paper,
    });
  }

  #change(elements) {
    const cy = this.#cy;
    cy.elements().forEach((old) => {
      if (!elements.has(old.id())) old.remove();
    });
    const fresh = [];
    for (const [id, element] of elements) {
      const old = cy.getElementById(id);
      if (old.empty()) {
        fresh.push(element);
        continue;
      }
      if (element.position) old.position(element.position);
      for (const [name, value] of Object.entries(element.data)) {
        if (old.data(name) !== value && !["id", "source", "target"].includes(name)) old.data(name, value);
      }
      const kept = ["picked", "near", "dim", "over"].filter((name) => old.hasClass(name));
      const classes = [...element.classes, ...kept];
      if (old.classes().length !== classes.length || classes.some((name) => !old.hasClass(name))) {
        old.classes(classes);
      }
    }
    cy.add(fresh);
  }

  #listen(on) {
    const cy = this.#cy;
    cy.on("tap", (event) => {
      if (event.target === cy) on.nothing();
      else on.pick(keyOf(event.target));
    });
    cy.on("mouseover", "node, edge", (event) => {
      event.target.addClass("over");
      this.#container.classList.add("graph-pointing");
      on.over(keyOf(event.target), event.renderedPosition);
    });
    cy.on("mouseout", "node, edge", (event) => {
      event.target.removeClass("over");
      this.#container.classList.remove("graph-pointing");
      on.over(null);
    });
    cy.on("dragpan pinchzoom scrollzoom", () => {
      this.#moved = true;
      on.over(null);
    });
  }

  #resized() {
    const size = `${this.#container.clientWidth}×${this.#container.clientHeight}`;
    if (size === this.#size) return;
    this.#size = size;
    this.#cy.resize();
    if (!this.#moved && this.#keys) this.begin();
  }
}

/** The key an element stands for: the label of an arrow stands for the arrow. */
function keyOf(element) {
  return element.hasClass("note") ? element.id().slice(1) : element.id();
}

/** Classes that tell the state of a node. */
export const STATES = ["level1", "level2", "level3", "unwell", "cause", "unsure"];

/**
 * The library adds a style element of its own unless one with its id is there, and the page's
 * policy would refuse that; the rule it holds (position: relative) is in graph.css.
 */
function reserveStyle() {
  if (document.getElementById(STYLE_ID)) return;
  const stand = document.createElement("meta");
  stand.id = STYLE_ID;
  document.head.append(stand);
}
