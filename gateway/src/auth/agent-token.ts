import { hash } from "node:crypto";
import { AppError } from "@muster/kit";

const shape = /^agt_[A-Za-z0-9_-]{43}$/;

/** Whether a bearer token is an agent's, by the prefix that nothing else has. */
export const isAgentToken = (token: string): boolean => token.startsWith("agt_");

/** SHA-256 (base64) of an agent's bearer token. Throws AppError `agent_token_invalid` on what cannot be one. */
export function agentDigestOf(token: string): string {
  if (!shape.test(token)) throw new AppError("agent_token_invalid", "Agent token is invalid");
  return hash("sha256", token, "base64");
}
