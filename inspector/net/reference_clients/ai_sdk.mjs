// The Vercel AI SDK reads responses: `streamText` and `generateText` of `ai` with the models of `@ai-sdk/openai`.
// It reads a response a line as JSON and writes what the SDK made of it, as openai_python.py does; its answer
// has the shape of a chat completion.

import { readFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, jsonSchema, streamText, tool } from "ai";
import { body, CUT, readLines, words } from "./lines.mjs";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.resolve("ai/package.json"))));
const STOPPED_EARLY = ["length", "content-filter", "error"];

async function read(response) {
  const openai = createOpenAI({
    baseURL: "http://capture.invalid/v1",
    apiKey: "none",
    fetch: async () => body(response),
  });
  const model = response.endpoint === "responses" ? openai.responses("capture") : openai.chat("capture");
  // A call of a tool that the program did not name is an error of the SDK's own.
  const tools = Object.fromEntries(
    response.tools.map((name) => [name, tool({ inputSchema: jsonSchema({ type: "object" }) })]),
  );
  const asked = { model, tools, prompt: "capture", maxRetries: 0 };
  try {
    if (response.whole) {
      const result = await generateText(asked);
      return { outcome: "read", error: "", answer: completion(result.text, result.toolCalls) };
    }
    let text = "";
    let finish = "";
    const calls = [];
    for await (const part of streamText({ ...asked, onError() {} }).fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "text-delta") text += part.text;
      if (part.type === "tool-call") calls.push(part);
      if (part.type === "finish") finish = part.finishReason;
    }
    if (STOPPED_EARLY.includes(finish)) {
      return { outcome: "reported", error: `finishReason: ${finish}`, answer: null };
    }
    return { outcome: "read", error: "", answer: completion(text, calls) };
  } catch (error) {
    // The message quotes the whole event; its type is enough.
    const type = error?.value?.type;
    const message = words(error).replace(/: Value: .*/s, type ? ` (${type})` : "");
    return { outcome: isReport(error) ? "reported" : "unreadable", error: message, answer: null };
  }
}

/** An error that the server sent is an object of its own before ai 7, an AI_StreamProviderError from there on. */
function isReport(error) {
  const message = `${error?.message} ${error?.cause?.message}`;
  if (message.includes(CUT) || APICallError.isInstance(error)) return true;
  return error?.name === "AI_StreamProviderError" || (typeof error === "object" && !(error instanceof Error));
}

/** Calls that the server makes itself are no calls for the program. */
function completion(content, calls) {
  const tool_calls = calls
    .filter((call) => !call.providerExecuted)
    .map((call) => ({
      id: call.toolCallId,
      type: "function",
      function: {
        name: call.toolName,
        // Arguments that are not JSON are given as their text, in a call that is marked as invalid.
        arguments: call.invalid && typeof call.input === "string" ? call.input : JSON.stringify(call.input),
      },
    }));
  return {
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content, tool_calls } }],
  };
}

await readLines({ version }, read);
