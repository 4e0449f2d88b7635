// Where vaultwire keeps what this plugin reads: files in its state folder, outside the vault, which may be synced.

import { createHash } from "crypto";
import { realpathSync } from "fs";
import { homedir } from "os";
import * as path from "path";

// The recipe is `_user_state` in config.py.
export function statePlace(env = process.env, platform: string = process.platform, home = homedir()): string {
  const paths = platform === "win32" ? path.win32 : path.posix;
  // A Flatpak gives its app a state folder of its own; the server's is outside.
  const xdg = (env.FLATPAK_ID ? env.HOST_XDG_STATE_HOME : env.XDG_STATE_HOME) || "";
  let state = paths.join(paths.isAbsolute(xdg) ? xdg : paths.join(home, ".local", "state"), "vaultwire");
  if (platform === "darwin") state = paths.join(home, "Library", "Application Support", "vaultwire");
  if (platform === "win32") state = paths.join(env.LOCALAPPDATA || paths.join(home, "AppData", "Local"), "vaultwire-state");
  if (env.VAULTWIRE_STATE) state = paths.resolve(env.VAULTWIRE_STATE.replace(/^~(?=[/\\]|$)/, () => home));
  return paths.join(state, "editor");
}

// Where the server of a vault says how to reach it. The recipe is `endpoint_path` in transports/lock_file.py:
// plugin-<16 digits of the SHA-256 of the vault's real path>.json.
export function linkPlace(vault: string, env = process.env, platform: string = process.platform, home = homedir()): string {
  const paths = platform === "win32" ? path.win32 : path.posix;
  const real = platform === "win32" ? realpathSync.native(vault) : realpathSync(vault);
  const name = createHash("sha256").update(real).digest("hex").slice(0, 16);
  return paths.join(statePlace(env, platform, home), `plugin-${name}.json`);
}

// Where `vaultwire plugin install` says how to start vaultwire on this computer (`program_file` in transports/lock_file.py).
export function programPlace(env = process.env, platform: string = process.platform, home = homedir()): string {
  const paths = platform === "win32" ? path.win32 : path.posix;
  return paths.join(statePlace(env, platform, home), "program.json");
}
