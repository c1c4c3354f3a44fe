// Files and texts dropped or pasted anywhere in the window. Fields and upload boxes keep what is given to them.

/** @import { Component } from "../component.d.ts" */

/** @typedef {{ name: string, base64: string }} GivenFile */
/** @typedef {{ at: number, text?: string, files?: GivenFile[], refused?: string }} Given */

const BYTES_AT_MOST = 32 * 2 ** 20; // a larger file goes through the upload box
const TEXT_AT_MOST = 2 ** 22;
const BOX = "[data-testid=stFileUploaderDropzone]";

/** @type {((given: Given) => void) | null} */
let send = null;
let listening = false;

/** @param {Component<unknown>} component */
export default function ({ setStateValue }) {
  send = (given) => setStateValue("given", given);
  if (listening) return;
  listening = true;
  window.addEventListener("dragover", (event) => {
    if (!kept(event)) event.preventDefault();
  });
  window.addEventListener("drop", (event) => {
    if (kept(event) || !event.dataTransfer) return;
    event.preventDefault(); // the browser would leave the page for the file
    take(event.dataTransfer);
  });
  window.addEventListener("paste", (event) => {
    if (kept(event) || !event.clipboardData) return;
    event.preventDefault();
    take(event.clipboardData);
  });
}

/**
 * True where a field or an upload box takes what is given.
 * @param {Event} event
 */
function kept(event) {
  return event
    .composedPath()
    .some(
      (one) =>
        one instanceof HTMLElement &&
        (one.matches(`input, textarea, select, ${BOX}`) || one.isContentEditable),
    );
}

/** @param {DataTransfer} data */
function take(data) {
  const files = [...data.files];
  const text = data.getData("text/plain");
  if (files.length) void open(files, data.files);
  else if (text.trim()) send?.({ at: Date.now(), text: text.slice(0, TEXT_AT_MOST) });
}

/**
 * @param {File[]} files
 * @param {FileList} list
 */
async function open(files, list) {
  const box = document.querySelector(`[data-testid=stSidebar] ${BOX} input[type=file]`);
  if (box instanceof HTMLInputElement) {
    box.files = list;
    box.dispatchEvent(new Event("change", { bubbles: true }));
    return;
  }
  if (files.reduce((sum, file) => sum + file.size, 0) > BYTES_AT_MOST) {
    send?.({ at: Date.now(), refused: "too large" });
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
