// The editor's side of the real Gemini CLI, without its terminal: finds an editor by itself, as it would there, and does what
// it is told on stdin, a JSON object a line. What it sees is printed as one JSON object a line.
//
//     node driver.mjs BUNDLE     with the vault's folder as the working directory
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

for (const name of ["log", "info", "debug"]) console[name] = console.error; // stdout is ours

const bundle = process.argv[2];
const library = readdirSync(bundle).find((name) => /^core-.*\.js$/.test(name));
const { IdeClient, ideContextStore } = await import(pathToFileURL(join(bundle, library)));

const say = (seen) => process.stdout.write(`${JSON.stringify(seen)}\n`);
ideContextStore.subscribe((context) => context && say({ context }));

const client = await IdeClient.getInstance();
await client.connect({ logToConsole: false });
say({
  editor: client.getDetectedIdeDisplayName(),
  status: client.getConnectionStatus().status,
  diffs: client.isDiffingEnabled(),
});
client.addStatusChangeListener((state) => say({ status: state.status }));

for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  if (told.open) client.openDiff(told.open, told.text).then((decided) => say({ decided }));
  if (told.answer) await client.resolveDiffFromCli(told.answer, told.outcome);
  if (told.leave) await client.disconnect();
}
process.exit(0);
