// One conversation of a TypeScript SDK with a server; what it saw is printed as one JSON object.
//
//     NODE_PATH=NODE_MODULES node driver.cjs sdk|client MODE URL
//     NODE_PATH=NODE_MODULES node driver.cjs sdk|client MODE COMMAND ARGUMENT...
//
// "sdk" is version 1 (@modelcontextprotocol/sdk), "client" version 2 (@modelcontextprotocol/client). MODE of version 2:
// legacy, auto, or the revision to insist on. What the answers should be is run.py's matter.
"use strict";

const [generation, mode, ...target] = process.argv.slice(2);

const PACKAGES = {
  sdk: () => ({
    ...require("@modelcontextprotocol/sdk/client/index.js"),
    ...require("@modelcontextprotocol/sdk/client/stdio.js"),
    ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
  }),
  client: () => ({ ...require("@modelcontextprotocol/client"), ...require("@modelcontextprotocol/client/stdio") }),
};
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = PACKAGES[generation]();

function makeOptions() {
  if (generation === "sdk") return {};
  return { versionNegotiation: { mode: ["auto", "legacy"].includes(mode) ? mode : { pin: mode } } };
}

function makeTransport() {
  if (/^https?:/.test(target[0])) return new StreamableHTTPClientTransport(new URL(target[0]));
  return new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
}

// Version 1 takes the schema of the result between the call and its options.
function call(client, name, args, options) {
  const params = { name, arguments: args };
  return generation === "sdk" ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

async function failure(promise) {
  try {
    return { none: await promise };
  } catch (error) {
    return { name: error.constructor.name, code: error.code, message: error.message };
  }
}

async function main() {
  const problems = [];
  const client = new Client({ name: "tests", version: "0" }, makeOptions());
  client.onerror = (error) => problems.push(String(error));
  const transport = makeTransport();
  await client.connect(transport);

  const seen = {
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    revision: generation === "sdk" ? undefined : client.getNegotiatedProtocolVersion(),
    session: transport.sessionId !== undefined,
  };
  const { tools } = await client.listTools();
  seen.tools = tools.map((tool) => tool.name);
  seen.read = await call(client, "read_note", { path: "Alpha" });
  seen.written = await call(client, "write_note", { path: `By ${process.pid}.md`, content: "Grüße 🗝\n" });
  seen.missing = await call(client, "read_note", { path: "Nowhere" });
  seen.unknown = await failure(call(client, "fly", {}));
  seen.resources = (await client.listResources()).resources.map((resource) => resource.uri);
  const { resourceTemplates } = await client.listResourceTemplates();
  seen.templates = resourceTemplates.map((template) => template.uriTemplate);
  const uri = seen.resources.find((each) => each.endsWith("Alpha.md"));
  seen.resource = await client.readResource({ uri });
  seen.noResource = await failure(client.readResource({ uri: uri.replace("Alpha", "Nowhere") }));
  seen.prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
  seen.prompt = await client.getPrompt({ name: "summarize_note", arguments: { path: "Alpha" } });
  const ref = { type: "ref/resource", uri: seen.templates[0] };
  seen.completion = (await client.complete({ ref, argument: { name: "path", value: "alp" } })).completion;

  // A pattern no index helps with: every note is read, and each step told.
  seen.progress = [];
  await call(client, "search_notes", { query: "/f.x(?=y)/" }, { onprogress: (progress) => seen.progress.push(progress) });
  // A pattern that takes long on every note. Cancelled as soon as it is known to be at work; what comes behind that would end up in problems.
  const slow = { query: "/(?:x|xx)*(?=y)/" };
  const controller = new AbortController();
  const onprogress = () => controller.abort("enough");
  seen.cancelled = await failure(call(client, "search_notes", slow, { signal: controller.signal, onprogress }));
  seen.afterwards = await call(client, "read_note", { path: "Alpha" });

  if (seen.session) await transport.terminateSession();
  await client.close();
  seen.problems = problems;
  console.log(JSON.stringify(seen));
}

main();
