import { expect, it } from "@jest/globals";
import { AgentToken } from "./agent-token.ts";
import type { Api, ApiReply } from "./api.ts";
import type { Host } from "./host.ts";

it("a new token that cannot be stored is not used: its first use would end the one that is stored", async () => {
  const identity = { agentId: "a", token: "agt_stored" };
  const save = () => {
    throw new Error("ENOSPC: no space left on device");
  };
  const used: (string | undefined)[] = [];
  const call: Api["call"] = async (_method, _path, _body, options): Promise<ApiReply> => {
    used.push(options?.token);
    return { status: 200, code: "", retryAfterMs: null, body: { token: "agt_new" } };
  };
  const counted: string[] = [];
  const token = new AgentToken({ call } as Api, { identity, save } as never as Host, (name) => counted.push(name));
  await token.rotate();
  await token.call("POST", "/heartbeat", {});
  expect([identity, used, counted]).toEqual([
    { agentId: "a", token: "agt_stored" },
    ["agt_stored", "agt_stored"],
    ["rotation not_stored"],
  ]);
});
