import { randomUUID } from "node:crypto";
import type { Call } from "./agent.ts";
import type { Api, ApiReply } from "./api.ts";
import type { Host } from "./host.ts";

/** Codes of refusals that end an agent: its token, or its record, is gone. */
export const lost = ["agent_token_invalid", "agent_token_revoked", "agent_not_found"];

export const isToken = (value: unknown): value is string => typeof value === "string" && value !== "";

/** Calls in an agent's name. While a rotation may have been lost, both tokens are kept until one is accepted. */
export class AgentToken {
  readonly #api: Api;
  readonly #host: Host;
  readonly #count: (name: string) => void;

  constructor(api: Api, host: Host, count: (name: string) => void) {
    this.#api = api;
    this.#host = host;
    this.#count = count;
  }

  /** With the newest token; when that is refused, with the one before, which a lost rotation may have left valid. */
  readonly call: Call = async (...wanted) => {
    const { identity } = this.#host;
    const used = identity.token ?? "";
    const reply = await this.#callWith(used, ...wanted);
    const { oldToken } = identity;
    if (oldToken === undefined || used !== identity.token) return reply;
    if (reply.status === 401 && lost.includes(reply.code)) {
      const again = await this.#callWith(oldToken, ...wanted);
      if (again.status !== 401) this.#keep(oldToken);
      return again;
    }
    if (reply.status >= 200 && reply.status < 300) this.#keep(used);
    return reply;
  };

  readonly rotate = async (): Promise<void> => {
    const { identity } = this.#host;
    const reply = await this.call("POST", "/rotate-token", {}, randomUUID());
    const { token } = reply.body;
    if (reply.status !== 200 || !isToken(token)) return this.#count(`rotation ${reply.code || reply.status}`);
    // The old token stays valid until the new one is used, so both are stored until then.
    const before = identity.token ?? "";
    Object.assign(identity, { oldToken: before, token });
    try {
      this.#host.save();
    } catch {
      // A token that is not stored must not be used: its first use would end the one that is.
      identity.token = before;
      delete identity.oldToken;
      return this.#count("rotation not_stored");
    }
    this.#count("rotations");
  };

  #callWith(token: string, ...[method, path, body, idempotencyKey]: Parameters<Call>): Promise<ApiReply> {
    const { agentId } = this.#host.identity;
    return this.#api.call(method, `/agents/${agentId}${path}`, body, { token, idempotencyKey });
  }

  #keep(token: string): void {
    this.#host.identity.token = token;
    delete this.#host.identity.oldToken;
    this.#host.save();
  }
}
