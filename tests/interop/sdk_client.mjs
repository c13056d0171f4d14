// A client made of the official TypeScript SDK, which plays one conversation with an agent.
//
// node sdk_client.mjs MODULES CWD AGENT [ARGUMENT...]
//
// On stdout, one JSON object a line: `{sender, frame}` for each frame as it went over the pipes, and `{step, ...}`
// with what the SDK made of it. It judges nothing, except that a step that throws ends it with exit code 1.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [modules, cwd, command, ...args] = process.argv.slice(2);
const resolved = createRequire(join(modules, "-")).resolve("@agentclientprotocol/sdk");
const acp = await import(pathToFileURL(resolved).href);
const { session } = acp.methods.agent;

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const watched = (sender) =>
  new TransformStream({
    transform(frame, controller) {
      say({ sender, frame });
      controller.enqueue(frame);
    },
  });

function overheard(stream) {
  const outgoing = watched("client");
  outgoing.readable.pipeTo(stream.writable).catch(() => {});
  return { writable: outgoing.writable, readable: stream.readable.pipeThrough(watched("agent")) };
}

const child = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const exited = once(child, "exit");

let wanted = "allow_once";
const app = acp.client({ name: "sdk-client" }).onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
  const option = params.options.find(({ kind }) => kind === wanted);
  return { outcome: { outcome: "selected", optionId: option.optionId } };
});

async function turn(step, conversation, text, { options, onUpdate = () => {} } = {}) {
  const answered = conversation.prompt(text, options);
  const updates = [];
  let said = "";
  for (;;) {
    const message = await conversation.nextUpdate();
    if (message.kind === "stop") break;
    const { update } = message;
    updates.push(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") said += update.content.text;
    onUpdate(update);
  }
  say({ step, stopReason: (await answered).stopReason, text: said, updates });
}

const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await app.connectWith(overheard(stream), async (agent) => {
  const initialized = await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: "sdk-client", version: "1" },
  });
  say({ step: "initialize", protocolVersion: initialized.protocolVersion, agent: initialized.agentInfo.name });

  await agent.buildSession(cwd).withSession(async (conversation) => {
    await turn("stream", conversation, "stream 200 64");
    await turn("tool", conversation, "shell 300");
    await turn("allowed", conversation, "approve");
    wanted = "reject_once";
    await turn("rejected", conversation, "approve");
    await turn("cancelled", conversation, "slow 60", {
      onUpdate: () => agent.notify(session.cancel, { sessionId: conversation.sessionId }),
    });
    const abort = new AbortController();
    await turn("aborted", conversation, "slow 60", {
      options: { cancellationSignal: abort.signal },
      onUpdate: () => abort.abort(),
    });
    await turn("afterwards", conversation, "hello");
  });

  const stored = { cwd, mcpServers: [] };
  const opened = await agent.request(session.new, stored);
  const { sessionId } = opened;
  say({ step: "new", modes: opened.modes, options: opened.configOptions });
  await agent.request(session.prompt, { sessionId, prompt: [{ type: "text", text: "to be found again" }] });
  const set = { sessionId, configId: "approval_mode", value: "denyUnmatched" };
  say({ step: "option", options: (await agent.request(session.setConfigOption, set)).configOptions });
  await agent.request(session.setMode, { sessionId, modeId: "plan" });
  await agent.request(session.setMode, { sessionId, modeId: "default" });
  const listed = await agent.request(session.list, { cwd });
  say({ step: "list", sessionId, sessions: listed.sessions });
  const fork = await agent.request("session/fork", { sessionId, ...stored });
  say({ step: "fork", sessionId, forked: fork.sessionId });
  for (const open of [sessionId, fork.sessionId]) await agent.request(session.close, { sessionId: open });
  const loaded = await agent.request(session.load, { sessionId, ...stored });
  say({ step: "load", sessionId, options: loaded.configOptions });
  await agent.request(session.close, { sessionId });
  const resumed = await agent.request(session.resume, { sessionId: fork.sessionId, ...stored });
  say({ step: "resume", forked: fork.sessionId, modes: resumed.modes });

  const refused = await agent.request(session.prompt, { sessionId: "unknown", prompt: [] }).catch((error) => error);
  say({ step: "unknown session", code: refused.code });
});

child.stdin.end();
const [code] = await exited;
say({ step: "exit", code });
