// The TypeScript clients, `sdk` (version 1) and `client` (version 2), against `mcp-everything`: `clients.mjs PROGRAM URL`.
//
// Over the standard streams and over HTTP; version 2 in revision 2026-07-28.
import assert from "node:assert/strict";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";

const LARGE = "é".repeat(335_000); // 670 kB

/** The checks: `call(tool, arguments, options)` returns the protocol's result. */
async function everything(client, call) {
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert(names.includes("test_echo"), `${names}`);

  // Each kind of content.
  const kinds = async (tool) => (await call(tool, {})).content.map((block) => block.type);
  assert.deepEqual(await kinds("test_simple_text"), ["text"]);
  assert.deepEqual(await kinds("test_image_content"), ["image"]);
  assert.deepEqual(await kinds("test_audio_content"), ["audio"]);
  assert.deepEqual(await kinds("test_embedded_resource"), ["resource"]);
  assert.deepEqual(await kinds("test_resource_link"), ["resource_link"]);
  assert.deepEqual(await kinds("test_multiple_content_types"), ["text", "image", "resource"]);

  // Structured output, which the client validates by the tool's schema.
  const structured = await call("test_structured_content", { city: "Oslo" });
  assert.deepEqual(structured.structuredContent, { city: "Oslo", celsius: 21.5 });

  // Progress.
  const seen = [];
  await call("test_tool_with_progress", {}, { onprogress: (it) => seen.push([it.progress, it.total]) });
  // These clients drop progress that arrives together with the result.
  assert.deepEqual(seen.slice(0, 2), [[0, 100], [50, 100]]);

  // Cancellation. Behind a load balancer, each of three processes counts its own.
  const cancelled = async () => {
    let sum = 0;
    for (let process = 0; process < 3; process += 1) {
      sum += Number((await call("test_cancelled_calls", {})).content[0].text);
    }
    return sum;
  };
  const before = await cancelled();
  const stop = new AbortController();
  const waiting = assert.rejects(call("test_wait", {}, { signal: stop.signal }));
  setTimeout(() => stop.abort(), 100);
  await waiting;
  for (const end = Date.now() + 10_000; (await cancelled()) === before; ) {
    assert(Date.now() < end, "the call is not cancelled");
  }

  // 100 calls at once.
  const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`);
  const results = await Promise.all(texts.map((text) => call("test_echo", { text })));
  assert.deepEqual(results.map((result) => result.content[0].text), texts);

  // A large argument and result.
  const large = await call("test_echo", { text: LARGE });
  assert(large.content[0].text === LARGE, "670 kB");

  // A failure and invalid arguments are results.
  const failed = await call("test_error_handling", {});
  assert(failed.isError && failed.content[0].text.includes("intentionally"), JSON.stringify(failed));
  const invalid = await call("test_echo", { txt: 5 });
  assert(invalid.isError && invalid.content[0].text.includes("/text"), JSON.stringify(invalid));

  // An unknown tool is an error of the protocol, which names close tools.
  const unknown = (error) => error.code === -32602 && error.message.includes("test_echo");
  await assert.rejects(call("test_ecko", {}), unknown);

  // Prompts and resources.
  const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
  assert(prompts.includes("test_simple_prompt"), `${prompts}`);
  const prompt = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });
  assert.equal(prompt.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'");
  const read = await client.readResource({ uri: "test://template/5/data" });
  assert(read.contents[0].text.includes('"id":"5"'), JSON.stringify(read));
}

async function version1(transport) {
  const client = new Client1({ name: "typescript", version: "1" });
  await client.connect(transport);
  await everything(client, (name, args, options) => client.callTool({ name, arguments: args }, undefined, options));
  await client.close();
}

async function version2(transport, version) {
  const mode = version === "2026-07-28" ? { pin: version } : "legacy";
  const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode } };
  const client = new Client2({ name: "typescript", version: "2" }, options);
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
  await client.connect(transport);
  const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
  await everything(client, call);
  if (version === "2026-07-28") {
    assert.equal((await call("test_input_required_result_elicitation", {})).content[0].text, "Hello, Ada!");
  }
  await client.close();
}

const [program, url] = process.argv.slice(2);
const process_ = { command: program, args: ["--stdio"] };
const cases = {
  "TypeScript 1, stdio": () => version1(new Stdio1(process_)),
  "TypeScript 1, HTTP": () => version1(new Http1(new URL(url))),
};
for (const version of ["2025-11-25", "2026-07-28"]) {
  cases[`TypeScript 2, stdio, ${version}`] = () => version2(new Stdio2(process_), version);
  cases[`TypeScript 2, HTTP, ${version}`] = () => version2(new Http2(new URL(url)), version);
}
let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED: ${name}:`, error);
  }
}
process.exit(failed);
