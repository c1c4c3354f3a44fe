// Files and texts dropped or pasted anywhere in the window, and files chosen with the button that opens them. Fields
// and upload boxes keep what is given to them. More than a handful of files go to the server as one archive: Streamlit
// would upload each by itself and tell the page of them in parts.

import { COUNT_AT_MOST, packed } from "./zip.js";

/** @import { Component } from "../component.d.ts" */

/** @import { Member } from "./zip.js" */
/** @typedef {{ at: number, text?: string, rejected?: string }} Given */

const MB = 2 ** 20;
const TEXT_AT_MOST = 2 ** 22;
const BOX = "[data-testid=stFileUploaderDropzone]";
const FIELDS = "input, textarea, select";
const BUTTON = "[class*=st-key-open_] button, [class*=st-key-choose_] button";
const FOLDER = "[class*=st-key-choose_folder] button";

/** @type {((given: Given) => void) | null} */
let send = null;
let listening = false;

/**
 * @typedef {object} Limits
 * @property {number} uploaded_mb of what is uploaded at once
 * @property {number} handful files that are uploaded one by one
 */

/** @type {Limits} */
let limits = { uploaded_mb: 0, handful: 0 };

/** @type {(words: string) => void} */
let say = () => {};

/** @param {Component<Limits>} component */
export default function ({ data, setStateValue }) {
  limits = data;
  send = (given) => setStateValue("given", given);
  if (listening) return;
  listening = true;
  const app = document.querySelector(".stApp") ?? document.body; // it knows the theme
  const overlay = app.appendChild(document.createElement("div"));
  overlay.className = "drop-overlay";
  const drop = "Drop to open";
  overlay.textContent = drop;
  overlay.hidden = true;
  say = (words) => {
    overlay.textContent = words || drop;
    overlay.hidden = !words;
  };
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
    if (within(event, BUTTON)) choose(within(event, FOLDER));
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
  // Only while the event is handled does the browser name the folders.
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => !!entry);
  if (entries.some((entry) => entry.isDirectory)) void walk(entries).then((files) => open(files, true));
  else if (data.files.length)
    void open(
      [...data.files].map((file) => ({ name: file.name, file })),
      false,
    );
  else if (text.trim()) send?.({ at: Date.now(), text: text.slice(0, TEXT_AT_MOST) });
}

/**
 * The files below some folders, by their paths.
 * @param {FileSystemEntry[]} entries
 * @returns {Promise<Member[]>}
 */
async function walk(entries) {
  /** @type {Member[]} */
  const files = [];
  const waiting = [...entries];
  for (let entry = waiting.pop(); entry; entry = waiting.pop()) {
    if (entry instanceof FileSystemFileEntry) {
      const { fullPath } = entry;
      const file = await new Promise((done, failed) => entry.file(done, failed));
      files.push({ name: fullPath.slice(1), file });
    } else if (entry instanceof FileSystemDirectoryEntry) {
      const reader = entry.createReader();
      for (;;) {
        /** @type {FileSystemEntry[]} */
        const some = await new Promise((done, failed) => reader.readEntries(done, failed));
        if (!some.length) break; // it names a hundred at a time
        waiting.push(...some);
      }
    }
  }
  return files.sort((left, right) => (left.name < right.name ? -1 : 1));
}

/**
 * Let the user choose files, or a folder.
 * @param {boolean} folder
 */
function choose(folder) {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.webkitdirectory = folder;
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    void open(
      files.map((file) => ({ name: file.webkitRelativePath || file.name, file })),
      folder,
    );
  });
  input.click();
}

/**
 * @param {Member[]} files
 * @param {boolean} folder true for files of a folder
 */
async function open(files, folder) {
  const box = document.querySelector(`[data-testid=stSidebar] ${BOX} input[type=file]`);
  if (!files.length || !(box instanceof HTMLInputElement)) return;
  const archives = files.filter(({ name }) => /\.zip$/i.test(name));
  const others = files.filter((member) => !archives.includes(member));
  const together = folder || others.length > limits.handful;
  const size = others.reduce((sum, { file }) => sum + file.size, 0);
  const most = limits.uploaded_mb * MB;
  const words = `${others.length} files`;
  const large = [...archives, ...(together ? [] : others)].find(({ file }) => file.size > most);
  if (large) return send?.({ at: Date.now(), rejected: large.file.name });
  if (together && (size > most || others.length > COUNT_AT_MOST))
    return send?.({ at: Date.now(), rejected: words });
  const given = new DataTransfer();
  for (const { file } of together ? archives : files) given.items.add(file);
  if (together && others.length) {
    say(`Reading ${words}`);
    const name = folder ? others[0].name.split("/")[0] : words;
    given.items.add(new File([await packed(others)], `${name}.zip`));
    say("");
  }
  box.files = given.files;
  box.dispatchEvent(new Event("change", { bubbles: true }));
}
