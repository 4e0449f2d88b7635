// A client that shows MCP Apps, made of the host side of the official package. The server behind it is reached through the test.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

async function ask(method, params) {
  const response = await fetch("/ask", { method: "POST", body: JSON.stringify({ method, params }) });
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error.message);
  return answer.result;
}

const host = { opened: [], calls: [], sizes: [], ask };
globalThis.host = host;

// Calls a tool as a model does, and shows its view.
host.show = async (name, args, theme) => {
  const { tools } = await ask("tools/list", {});
  const uri = tools.find((tool) => tool.name === name)._meta.ui.resourceUri;
  await ask("resources/read", { uri });
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  document.getElementById("views").replaceChildren(frame);
  const bridge = new AppBridge(null, { name: "Host", version: "1.0.0" }, { openLinks: {}, serverTools: {} }, { hostContext: { theme } });
  bridge.oncalltool = async (params) => { host.calls.push(params); return ask("tools/call", params); };
  bridge.onopenlink = async ({ url }) => { host.opened.push(url); return {}; };
  bridge.onsizechange = ({ height }) => { host.sizes.push(height); if (height) frame.style.height = `${Math.min(height, 1500)}px`; };
  const ready = new Promise((done) => { bridge.oninitialized = done; });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = `/view?uri=${encodeURIComponent(uri)}`;
  await ready;
  bridge.sendToolInput({ arguments: args });
  bridge.sendToolResult(await ask("tools/call", { name, arguments: args }));
  host.bridge = bridge;
};

host.wear = (theme) => {
  document.documentElement.style.colorScheme = theme;
  document.body.style.background = theme === "dark" ? "#1b1b1b" : "#fff";
  return host.bridge.setHostContext({ theme });
};
