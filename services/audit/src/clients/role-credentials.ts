import { assumeRole, type Credentials, credentialsIn, formType, type RoleCredentials } from "../rules/assume-role.ts";
import type { Pushed } from "./webhook-pushes.ts";

export type RoleRequest = { url: string; headers: { key: string; value: string }[]; contentType: string; body: Buffer };
type Role = { roleArn: string; region: string; externalId: string };

/** Credentials of customers' roles, each requested once an hour at most. */
export type Roles = {
  /** The credentials, or what came of the request for them instead. */
  of(role: Role, send: (request: RoleRequest) => Promise<Pushed>): Promise<Credentials | Pushed>;
};

/** What is left of an hour when others are requested. */
const leastLeftMs = 300_000;
const mostKept = 1_000;

/** The credentials of the environment (role of the pod or machine). Throws without any. */
export async function environmentCredentials(region: string): Promise<Credentials> {
  // Loaded only where it is used: the SDK is large.
  const s3 = await import("@muster/egress/s3");
  return s3.environmentCredentials(region);
}

/** `own` gives this process's credentials, with which it assumes roles. */
export function roles(deps: { own: (region: string) => Promise<Credentials>; now: () => Date }): Roles {
  const kept = new Map<string, RoleCredentials>();
  return {
    async of(role, send) {
      const { own, now } = deps;
      const key = `${role.externalId} ${role.roleArn} ${role.region}`;
      const found = kept.get(key);
      if (found && found.expiresAt.getTime() - now().getTime() > leastLeftMs) return found;
      const { url, headers, body } = assumeRole(role, await own(role.region), now());
      const named = Object.entries(headers).map(([name, value]) => ({ key: name, value }));
      const pushed = await send({ url, headers: named, contentType: formType, body });
      if (pushed.error !== null) return pushed;
      const credentials = credentialsIn(pushed.body.toString());
      if (!credentials) return { ...pushed, error: "The answer to AssumeRole has no credentials" };
      kept.delete(key);
      if (kept.size >= mostKept) kept.delete(kept.keys().next().value ?? "");
      kept.set(key, credentials);
      return credentials;
    },
  };
}
