// Prints the command that a host makes from a bundle's manifest, by the function of the official package, which hosts use.
// Arguments: the folder of the package, the unpacked bundle, the person's answers as JSON.
import { readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, folder, answers] = process.argv.slice(2);
const { getMcpConfigForManifest } = await import(
  pathToFileURL(join(modules, "@anthropic-ai", "mcpb", "dist", "index.js")).href
);
const config = await getMcpConfigForManifest({
  manifest: JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")),
  extensionPath: folder,
  systemDirs: {},
  userConfig: JSON.parse(answers),
  pathSeparator: sep,
});
console.log(JSON.stringify(config ?? null));
