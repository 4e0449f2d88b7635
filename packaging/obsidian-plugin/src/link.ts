// The connection to the server of this vault: finds it, proves who is who, and tries again when it has ended.

import { readFileSync } from "fs";
import { VERSION, type Address, type Message } from "./messages";
import { linkPlace } from "./places";

const [FIRST_WAIT, LAST_WAIT] = [1000, 30_000]; // milliseconds between attempts to connect

export interface LinkOwner {
  onConnected(): void;
  onMessage(message: Message): void;
  onOtherVersion(): void;
  onLost(): void;
  /** No server answers. Another attempt follows. */
  onNobody(): void;
}

export class Link {
  connected = false;
  socket: WebSocket | null = null;
  wait = FIRST_WAIT;
  private retry = 0;
  private ended = false;

  constructor(private readonly vault: string, private readonly owner: LinkOwner) {}

  connect(): void {
    window.clearTimeout(this.retry);
    if (this.ended || this.socket) return;
    let address: Address;
    try {
      address = JSON.parse(readFileSync(linkPlace(this.vault), "utf8")) as Address;
      this.socket = new WebSocket(`ws://127.0.0.1:${Number(address.port)}/plugin?key=${encodeURIComponent(address.token)}`);
    } catch {
      this.owner.onNobody(); // no server runs
      this.connectLater();
      return;
    }
    let isKnown = false; // whether the other side has shown that it is the server
    this.socket.addEventListener("message", (event: MessageEvent<string>) => {
      const message = JSON.parse(event.data) as Message;
      if (this.connected) this.owner.onMessage(message);
      else isKnown = this.greet(message, address) || isKnown;
    });
    this.socket.addEventListener("close", () => {
      const wasConnected = this.connected;
      this.socket = null;
      this.connected = false;
      if (this.ended) return;
      if (wasConnected) this.owner.onLost();
      else if (!isKnown) this.owner.onNobody();
      this.connectLater();
    });
  }

  /** Try again soon, as after a start of the server. */
  connectSoon(): void {
    this.wait = FIRST_WAIT;
    this.connectLater();
  }

  private connectLater(): void {
    window.clearTimeout(this.retry);
    if (this.ended || this.socket) return;
    this.retry = window.setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(this.wait * 2, LAST_WAIT);
  }

  // Nothing is told before the other side has shown that it is the server: the port may since be somebody else's.
  private greet(message: Message, address: Address): boolean {
    const isServer = message.type === "hello" && message.answer === address.answer;
    if (!isServer || message.version !== VERSION) {
      if (isServer) this.owner.onOtherVersion();
      this.socket?.close();
      return isServer;
    }
    this.connected = true;
    this.wait = FIRST_WAIT;
    this.owner.onConnected();
    return true;
  }

  send(message: object): void {
    if (this.connected) this.socket?.send(JSON.stringify(message));
  }

  end(): void {
    this.ended = true;
    window.clearTimeout(this.retry);
    this.socket?.close();
  }
}
