import { type FieldErrors, validationError } from "@muster/kit";
import type { Release } from "@muster/proto/muster/release/v1/release_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { arch, libc, os } from "../fields/agent-builds.ts";
import {
  idOut,
  idParams,
  listedIn,
  listQuery,
  only,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Agent releases";

export const component = z.enum(["agent", "watchdog", "helper"]);
export const readReleases = { auth: "session", permission: "agent-releases:read" } as const;
/** People of the platform change the catalogue. */
export const operate = { auth: "session", permission: "platform:admin", mfa: true, scopes: ["system"] } as const;
/** The platform changes all rollouts, a partner its own. */
export const rollOut = {
  auth: "session",
  permission: { system: "platform:admin", partner: "partner:policy", organization: "partner:policy" },
  mfa: true,
  scopes: ["system", "partner"],
} as const;
export const versionIn = z
  .string()
  .min(1)
  .max(50)
  .meta({ description: "Semantic version; a leading `v` and build metadata do not count.", example: "1.4.0" });

export const rolloutState = z.enum(["running", "paused", "halted", "completed", "cancelled"]);
const sources = ["github", "directory"] as const;
const origins = z.enum([...sources, "api"]);

const agentVersion = z
  .object({
    id: idOut,
    component,
    version: z.string(),
    source: origins.meta({ description: "`api`: registered by `POST /agent-versions`." }),
    signed: z.boolean().meta({ description: "Whether a trusted key signed its manifest." }),
    untrusted: z.string().nullable().meta({
      description:
        "Why agents would refuse it: it is offered to none (rule `release_untrusted`). Null when they accept it.",
    }),
    counter: z.int().meta({
      description: "Counter of the manifest: agents refuse a manifest with a lower counter than one they have seen.",
    }),
    expiresAt: timeOut.nullable().meta({ description: "Time from which agents refuse its manifest." }),
    minimumVersion: z.string().nullable(),
    notesUrl: z.string().nullable(),
    promoted: z.boolean().meta({ description: "Whether it is the fleet's target." }),
    yankedAt: timeOut.nullable(),
    rollout: z
      .object({ id: idOut, state: rolloutState, inFlight: z.int(), succeeded: z.int(), failed: z.int() })
      .meta({ description: "Its guard, with the counters of all its rollouts." }),
    artifacts: z.array(z.object({ os, arch, libc, name: z.string(), size: z.int(), sha256: z.string() })),
    createdAt: timeOut,
  })
  .meta({ id: "AgentVersion" });

const list = route({
  method: "GET",
  path: "/agent-versions",
  access: readReleases,
  tag,
  summary: "List versions of agent, watchdog and helper, newest first",
  query: listQuery.extend({ component: component.optional().meta({ description: only.equal }) }),
  reply: z.object({
    data: z.array(agentVersion),
    targets: z.record(z.string(), z.string()).meta({ description: "Promoted version of each component." }),
    pagination,
  }),
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), component: query.component ?? "" };
    const { releases, targets, page } = await services.releases.listReleases(wanted, await rpc());
    return { data: releases.map(versionOf), targets, pagination: paginationOf(page) };
  },
});

const register = route({
  method: "POST",
  path: "/agent-versions",
  access: operate,
  tag,
  summary: "Register a version from its manifest",
  description:
    "The manifest is a C2SP signed note over one JSON line, or that line alone where no manifest keys are set. `urls` names where each " +
    "of its files can be downloaded.",
  body: z.object({
    manifest: z.string().min(1).max(65_536),
    urls: z
      .record(z.string().max(200), z.string().max(2_048))
      .meta({ description: "URL of each file, by its name; HTTPS only." }),
    notesUrl: z.string().max(2_048).nullish(),
    rootNote: z.string().max(65_536).nullish().meta({
      description: "C2SP signed note that exchanges the keys of manifests, signed by an old key and every new one.",
    }),
  }),
  example: {
    manifest:
      '{"version":"1.4.0","component":"agent","artifacts":[{"os":"linux","arch":"amd64","size":1024,"sha256":"' +
      `${"0".repeat(64)}","name":"muster-agent-linux-amd64"}]}`,
    urls: { "muster-agent-linux-amd64": "https://releases.example.com/1.4.0/muster-agent-linux-amd64" },
  },
  bodyLimitBytes: 256 * 1024,
  idempotent: true,
  audit: "agent_version.register",
  status: 201,
  reply: agentVersion,
  errors: ["release_untrusted", "release_exists", "limit_reached"],
  async handle({ body, rpc }, { services, updates, publicUrl }) {
    requireElsewhere(body.urls, publicUrl);
    const wanted = {
      manifest: body.manifest,
      urls: body.urls,
      notesUrl: body.notesUrl ?? "",
      rootNote: body.rootNote ?? "",
    };
    const { release } = await services.releases.registerRelease(wanted, await rpc());
    await updates.refresh();
    return versionOf(release);
  },
});

const sync = route({
  method: "POST",
  path: "/agent-versions/sync-:source",
  access: operate,
  tag,
  summary: "Register a version from a release source",
  description:
    "Atomic: every file is read completely. A repeated request meanwhile waits for the same work; a request that takes longer " +
    "than five minutes is answered 504 while the work continues.",
  params: z.object({
    source: listedIn(sources).meta({ description: "A configured release source; another one is answered with 404." }),
  }),
  query: z.object({
    version: versionIn.optional().meta({ description: "Version to register; without it, the latest stable release." }),
  }),
  deadline: "export",
  load: "export",
  audit: "agent_version.sync",
  reply: z.object({
    version: z.string(),
    synced: z.array(z.string()).meta({
      description: "Registered builds, each as `<component>:<os>/<arch>`, and `/musl`.",
      example: ["agent:linux/amd64"],
    }),
    skipped: z
      .array(z.object({ asset: z.string(), reason: z.string() }))
      .meta({ description: "Files of the release that are not registered, such as those for other systems." }),
  }),
  errors: [
    "release_source_not_found",
    "agent_version_not_found",
    "release_untrusted",
    "release_exists",
    "release_sync_failed",
    "limit_reached",
  ],
  async handle({ params, query, rpc }, { services, updates }) {
    const wanted = { source: params.source, version: query.version ?? "" };
    const { version, synced, skipped } = await services.releases.syncReleases(wanted, await rpc());
    await updates.refresh();
    return { version, synced, skipped: skipped.map(({ asset, reason }) => ({ asset, reason })) };
  },
});

const promote = route({
  method: "POST",
  path: "/agent-versions/promote",
  access: { auth: "session", permission: "platform:admin", mfa: true },
  tag,
  summary: "Make a version the fleet's target",
  description:
    "An older version may be promoted, too. Without a component every component of that version is promoted.",
  body: z.object({ version: versionIn, component: component.nullish() }),
  example: { version: "1.4.0" },
  audit: "agent_version.promote",
  reply: z.object({
    version: z.string(),
    component: component.meta({ description: "The first of the promoted components." }),
    previousVersion: z.string().nullable(),
    promotedAt: timeOut,
    promoted: z.array(z.object({ component, previousVersion: z.string().nullable() })),
  }),
  errors: ["agent_version_not_found", "release_untrusted"],
  async handle({ body, rpc }, { services, updates }) {
    const wanted = { version: body.version, component: body.component ?? "" };
    const reply = await services.releases.promoteRelease(wanted, await rpc());
    await updates.refresh();
    const promoted = reply.promoted.map((each) => ({
      component: component.parse(each.component),
      previousVersion: each.previousVersion || null,
    }));
    const [first] = promoted;
    if (!first) throw new Error("agent-release promoted nothing");
    return { version: reply.version, ...first, promotedAt: timeOf(reply.promotedAt), promoted };
  },
});

const yank = route({
  method: "POST",
  path: "/agent-versions/:id/yank",
  access: operate,
  tag,
  summary: "Stop offering a version",
  description: "A promoted version is refused: promote another one first.",
  params: idParams,
  audit: "agent_version.yank",
  reply: agentVersion,
  errors: ["agent_version_not_found", "release_in_use"],
  async handle({ params, rpc }, { services, updates }) {
    const { release } = await services.releases.yankRelease({ id: params.id }, await rpc());
    await updates.refresh();
    return versionOf(release);
  },
});

const remove = route({
  method: "DELETE",
  path: "/agent-versions/:id",
  access: operate,
  tag,
  summary: "Delete a version and its files",
  description: "Refused while it is promoted, pinned, rolling out or being installed.",
  params: idParams,
  audit: "agent_version.delete",
  reply: success,
  errors: ["agent_version_not_found", "release_in_use"],
  async handle({ params, rpc }, { services, updates }) {
    await services.releases.deleteRelease({ id: params.id }, await rpc());
    await updates.refresh();
    return { success: true as const };
  },
});

/** An agent that is redirected to this platform would be redirected again, for ever. */
function requireElsewhere(urls: Readonly<Record<string, string>>, publicUrl: string): void {
  const own = new URL(publicUrl).origin;
  const named = Object.entries(urls).filter(([, url]) => URL.canParse(url) && new URL(url).origin === own);
  const errors: FieldErrors = {};
  for (const [name] of named) errors[`urls.${name}`] = ["Must be a URL outside of this platform"];
  if (named.length > 0) throw validationError(errors);
}

function versionOf(message: Release | undefined): z.input<typeof agentVersion> {
  if (!message) throw new Error("agent-release answered without a version");
  return {
    id: message.id,
    component: component.parse(message.component),
    version: message.version,
    source: origins.parse(message.source),
    signed: message.signed,
    untrusted: message.untrusted || null,
    counter: Number(message.counter),
    expiresAt: timeOrNull(message.expiresAt),
    minimumVersion: message.minimumVersion || null,
    notesUrl: message.notesUrl || null,
    promoted: message.promoted,
    yankedAt: timeOrNull(message.yankedAt),
    rollout: {
      id: message.guardRolloutId,
      state: rolloutState.parse(message.guardState),
      inFlight: message.inFlight,
      succeeded: message.succeeded,
      failed: message.failed,
    },
    artifacts: message.artifacts.map((file) => ({
      os: os.parse(file.os),
      arch: arch.parse(file.arch),
      libc: libc.parse(file.libc || "gnu"),
      name: file.name,
      size: Number(file.size),
      sha256: file.sha256,
    })),
    createdAt: timeOf(message.createdAt),
  };
}

export const agentVersionRoutes: readonly Route[] = [list, register, sync, promote, yank, remove];
