// Files and texts dropped or pasted anywhere in the window, and files chosen with the button that opens them. Fields
// and upload boxes keep what is given to them.

/** @import { Component } from "../component.d.ts" */

/** @typedef {{ name: string, base64: string }} GivenFile */
/** @typedef {{ at: number, text?: string, files?: GivenFile[], rejected?: string, most_mb?: number }} Given */

const MB = 2 ** 20;
const DROPPED_MB = 32; // of all files together, on a page without an upload box
const TEXT_AT_MOST = 2 ** 22;
const BOX = "[data-testid=stFileUploaderDropzone]";
const FIELDS = "input, textarea, select";
const BUTTON = "[class*=st-key-open_] button";

/** @type {((given: Given) => void) | null} */
let send = null;
let listening = false;

/**
 * @typedef {object} Limits
 * @property {number} uploaded_mb of one file that goes through an upload box
 */

/** @type {Limits} */
let limits = { uploaded_mb: 0 };

/** @param {Component<Limits>} component */
export default function ({ data, setStateValue }) {
  limits = data;
  send = (given) => setStateValue("given", given);
  if (listening) return;
  listening = true;
  const app = document.querySelector(".stApp") ?? document.body; // it knows the theme
  const overlay = app.appendChild(document.createElement("div"));
  overlay.className = "drop-overlay";
  overlay.textContent = "Drop to open";
  overlay.hidden = true;
  let own = false; // what is dragged comes from the page itself
  const hide = () => {
    overlay.hidden = true;
    own = false;
  };
  window.addEventListener("dragstart", () => {
    own = true;
  });
  window.addEventListener("dragover", (event) => {
    const taken = !within(event, FIELDS, BOX);
    if (taken) event.preventDefault();
    overlay.hidden = own || !taken;
  });
  window.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) overlay.hidden = true; // out of the window
  });
  window.addEventListener("dragend", hide);
  window.addEventListener("drop", (event) => {
    hide();
    if (within(event, FIELDS, BOX) || !event.dataTransfer) return;
    event.preventDefault(); // the browser would leave the page for the file
    take(event.dataTransfer);
  });
  window.addEventListener("paste", (event) => {
    if (within(event, FIELDS, BOX) || !event.clipboardData) return;
    event.preventDefault();
    take(event.clipboardData);
  });
  window.addEventListener("click", (event) => {
    if (within(event, BUTTON)) choose();
  });
}

/**
 * True for an event inside of an element that one of the selectors names, or of one that is edited.
 * @param {Event} event
 * @param {string[]} selectors
 */
function within(event, ...selectors) {
  return event
    .composedPath()
    .some(
      (element) =>
        element instanceof HTMLElement && (element.matches(selectors.join()) || element.isContentEditable),
    );
}

/** @param {DataTransfer} data */
function take(data) {
  const text = data.getData("text/plain");
  if (data.files.length) void open(data.files);
  else if (text.trim()) send?.({ at: Date.now(), text: text.slice(0, TEXT_AT_MOST) });
}

/** Let the user choose files. */
function choose() {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.addEventListener("change", () => input.files && void open(input.files));
  input.click();
}

/** @param {FileList} list */
async function open(list) {
  const box = document.querySelector(`[data-testid=stSidebar] ${BOX} input[type=file]`);
  const files = [...list];
  const uploaded = box instanceof HTMLInputElement;
  const most = uploaded ? limits.uploaded_mb : DROPPED_MB;
  const total = files.reduce((sum, file) => sum + file.size, 0);
  const large = files.find((file) => (uploaded ? file.size : total) > most * MB);
  if (large) return send?.({ at: Date.now(), rejected: large.name, most_mb: most });
  if (uploaded) {
    box.files = list;
    box.dispatchEvent(new Event("change", { bubbles: true }));
    return;
  }
  const read = await Promise.all(
    files.map(async (file) => ({
      name: file.name,
      base64: base64(new Uint8Array(await file.arrayBuffer())),
    })),
  );
  send?.({ at: Date.now(), files: read });
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) {
    text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  }
  return btoa(text);
}
