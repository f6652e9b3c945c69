import { connect } from "../connection.ts";
import { done, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { show } from "./records.ts";

export type PolicyOptions = Globals & { org?: string; require?: string };

/**
 * Shows whether an organization, or the caller's own tenant without one, requires a second factor of its users; with
 * `--require` it changes that first.
 */
export async function signInPolicy(io: Io, { org, require, ...options }: PolicyOptions): Promise<void> {
  if (require !== undefined && !["on", "off"].includes(require)) throw wrongUsage("--require takes on or off");
  const { muster } = connect(io, options);
  const ofPartner = "/api/v1/orgs/partners/me/sign-in-policy";
  const ofOrganization = "/api/v1/orgs/organizations/{id}/sign-in-policy";
  const id = org ?? (await done(muster.GET("/api/v1/auth/me"))).orgId;
  const params = { path: { id: id ?? "" } };
  if (require === undefined) {
    return show(io, options, await done(id ? muster.GET(ofOrganization, { params }) : muster.GET(ofPartner)));
  }
  const body = { requireSecondFactor: require === "on" };
  show(io, options, await done(id ? muster.PUT(ofOrganization, { params, body }) : muster.PUT(ofPartner, { body })));
}
