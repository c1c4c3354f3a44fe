// openai for Node reads responses: its own accumulators over the bytes that a server sent.
// It reads a response a line as JSON and writes what the SDK made of it, as openai_python.py does.

import OpenAI from "openai";
import { VERSION } from "openai/version";
import { body, CUT, readLines, words } from "./lines.mjs";

const REPORTS = [
  OpenAI.APIError,
  OpenAI.LengthFinishReasonError,
  OpenAI.ContentFilterFinishReasonError,
].filter(Boolean);

async function read(response) {
  const sdk = new OpenAI({
    baseURL: "http://capture.invalid/v1",
    apiKey: "none",
    maxRetries: 0,
    fetch: async () => body(response),
  });
  let readToEnd = false;
  try {
    if (response.whole) return { outcome: "read", error: "", answer: await bodyAnswer(sdk, response) };
    const stream =
      response.endpoint === "responses"
        ? sdk.responses.stream({ model: "capture", input: "" })
        : sdk.chat.completions.stream({ model: "capture", messages: [] });
    for await (const _ of stream);
    readToEnd = true;
    const final = response.endpoint === "responses" ? "finalResponse" : "finalChatCompletion";
    return { outcome: "read", error: "", answer: await stream[final]() };
  } catch (error) {
    const reported = error?.message?.includes(CUT) || REPORTS.some((kind) => error instanceof kind);
    const outcome = reported ? "reported" : readToEnd ? "no final object" : "unreadable";
    return { outcome, error: words(error), answer: null };
  }
}

function bodyAnswer(sdk, response) {
  if (response.endpoint === "responses") return sdk.responses.create({ model: "capture", input: "" });
  if (response.endpoint === "chat") return sdk.chat.completions.create({ model: "capture", messages: [] });
  return sdk.completions.create({ model: "capture", prompt: "" });
}

await readLines({ version: VERSION }, read);
