// Calls tools with the official client for TypeScript: one, several at once, without arguments, with progress.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "recorder", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
await client.listTools();
await client.callTool({ name: "add", arguments: { a: 1, b: 2 } });
await Promise.all([
  client.callTool({ name: "draw", arguments: { shape: { kind: "circle", radius: 1.5 }, tags: [null, true, "é"] } }),
  client.callTool({ name: "nothing" }),
]);
await client.callTool({ name: "say", arguments: { text: 'a "quoted"\nline' } }, undefined, { onprogress: () => {} });
await client.close();
