// A response a line as JSON on standard input, what a client made of it a line on standard output.

import { createInterface } from "node:readline";

export const CUT = "the connection was closed";

/** The response that `fetch` gives to a client. */
export function body(response) {
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(response.text));
      if (!response.cut) controller.close();
    },
    pull(controller) {
      controller.error(new TypeError(CUT));
    },
  });
  const type = response.whole ? "application/json" : "text/event-stream";
  return new Response(stream, { status: response.status, headers: { "content-type": type } });
}

/** Class and message of an exception. */
export function words(error) {
  const name = error?.name && error.name !== "Error" ? error.name : (error?.constructor?.name ?? "Error");
  return `${name}: ${String(error?.message ?? error)
    .split(/\s+/)
    .join(" ")}`;
}

/** Answer each line; a client that fails in the background reaches no one else's answer. */
export async function readLines(about, read) {
  process.on("unhandledRejection", () => {});
  process.stdout.write(`${JSON.stringify(about)}\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await read(JSON.parse(line)))}\n`);
  }
}
