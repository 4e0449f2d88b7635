// The rules that Obsidian's review applies to plugins: all of them, as they are.
import obsidianmd from "eslint-plugin-obsidianmd";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig([
  { ignores: ["main.js"] }, // made from src
  ...obsidianmd.configs.recommended,
  { files: ["src/*.ts"], languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  // The preset has the rule for the manifest, but looks at no JSON file.
  { files: ["manifest.json"], languageOptions: { parser: tseslint.parser }, rules: { "obsidianmd/validate-manifest": "error" } },
]);
