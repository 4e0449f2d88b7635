// Starts `vaultwire ide` for this vault when the person has asked for that, and ends the one that it started, no other.

import { spawn, type ChildProcess } from "child_process";
import { existsSync, readFileSync } from "fs";
import { isAbsolute } from "path";
import { programPlace } from "./places";

const MAX_SAID = 2000; // characters of what the program says, of which the last line is shown

const NO_PROGRAM = "Vaultwire was not found. Run vaultwire plugin install, or give the path of the program in the settings.";

/** What the person chose on this computer. */
export interface Starting {
  isAsked: boolean;
  program: string; // a path; empty: the one that `vaultwire plugin install` has noted
}

/** The command, or words that say why there is none. */
export function findCommand(program: string): string[] | string {
  const given = program.trim();
  if (given) {
    if (!isAbsolute(given)) return `Give the whole path of the program, not ${given}.`;
    return existsSync(given) ? [given] : `There is no program at ${given}.`;
  }
  try {
    const noted = JSON.parse(readFileSync(programPlace(), "utf8")) as { command?: unknown };
    const command = Array.isArray(noted.command) ? noted.command.filter((word) => typeof word === "string") : [];
    const [first] = command;
    if (first && isAbsolute(first)) return existsSync(first) ? command : `There is no program at ${first} any more. ${NO_PROGRAM}`;
    return NO_PROGRAM;
  } catch {
    return NO_PROGRAM;
  }
}

export class Starter {
  private child: ChildProcess | null = null;
  private hasFailed = false; // it is not tried again before the person asks for it

  constructor(
    private readonly vault: string,
    private readonly choice: () => Starting,
    private readonly onStarted: () => void,
    private readonly onFailed: (why: string) => void,
  ) {}

  get isRunning(): boolean {
    return this.child !== null;
  }

  /** Start it if that is asked for, it does not run, and it has not failed. */
  startIfAsked(): void {
    if (this.choice().isAsked && !this.hasFailed) this.start();
  }

  /** Start it now, as the person has just asked. */
  start(): void {
    if (this.child) return;
    const command = findCommand(this.choice().program);
    if (typeof command === "string") {
      this.fail(command);
      return;
    }
    const [program = "", ...first] = command;
    let said = "";
    // Without a shell: the vault's path is one argument, whatever is in it.
    const child = spawn(program, [...first, "ide", "--vault", this.vault, "--no-browser"], {
      shell: false, windowsHide: true, stdio: ["ignore", "pipe", "pipe"],
    });
    this.child = child;
    child.stdout.once("data", () => this.onStarted()); // it says where it is, when it listens
    child.stdout.resume();
    child.stderr.on("data", (piece) => {
      said = (said + String(piece)).slice(-MAX_SAID);
    });
    child.on("error", (error) => this.ended(child, `${program}: ${error.message}`));
    child.on("close", (code) => {
      const line = said.trim().split("\n").pop();
      this.ended(child, code ? line || `It ended with code ${code}.` : "");
    });
  }

  /** Try again at the next occasion, as after a change of the settings. */
  forgive(): void {
    this.hasFailed = false;
  }

  stop(): void {
    const { child } = this;
    this.child = null; // it is not said that it has ended
    child?.kill();
  }

  private ended(child: ChildProcess, why: string): void {
    if (this.child !== child) return;
    this.child = null;
    if (why) this.fail(why);
  }

  private fail(why: string): void {
    this.hasFailed = true;
    this.onFailed(why);
  }
}
