import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, clampPage, isUuid, type Logger, longerThan, type NoteVerifier, validationError } from "@muster/kit";
import { ReleaseService } from "@muster/proto/muster/release/v1/release_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, requireMfa, requirePermission } from "@muster/service";
import type { ReleaseSource } from "../clients/release-source.ts";
import type { Storage } from "../clients/storage.ts";
import { exchangeKeys, readRoot } from "../commands/exchange-keys.ts";
import type { PlanMemory } from "../commands/plan-memory.ts";
import { lowerCounterOf, promoteVersion, versionNotFound } from "../commands/promote.ts";
import { registerRelease } from "../commands/register-release.ts";
import { removeUnused } from "../commands/remove-files.ts";
import { syncReleases } from "../commands/sync-releases.ts";
import { auditRelease } from "../emits/audit.ts";
import { isComponent } from "../rules/component.ts";
import { ManifestError, openManifest } from "../rules/manifest.ts";
import { newRoot } from "../rules/manifest-root.ts";
import { notSigned } from "../rules/trust.ts";
import { parseVersion } from "../rules/version.ts";
import { bumpPlan } from "../store/plan.ts";
import { promotedVersions } from "../store/promotions.ts";
import {
  artifactsOf,
  deleteRelease,
  findListed,
  listReleases,
  lockRelease,
  markYanked,
  type ReleaseRow,
  useOf,
} from "../store/releases.ts";
import { asService, requirePlatform } from "./guards.ts";
import { releaseMessage } from "./release-message.ts";

export type ReleaseDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  keys: readonly NoteVerifier[];
  /** Whether releases may be unsigned. */
  unsigned: boolean;
  plan: PlanMemory;
  sources: readonly ReleaseSource[];
  storage: Storage | null;
  autoPromote: boolean;
  mfaMaxAgeMinutes: number;
  wakeSync(): void;
};

const notesUrlMax = 2_048;

type Handlers = ServiceImpl<typeof ReleaseService>;

/** The catalogue, for users of the platform; everybody with agent-releases:read sees it. */
export function releaseService(deps: ReleaseDeps): ServiceImpl<typeof ReleaseService> {
  return { ...releaseArrivals(deps), ...releaseStates(deps) };
}

function releaseArrivals(deps: ReleaseDeps): Pick<Handlers, "listReleases" | "registerRelease" | "syncReleases"> {
  const { db, now } = deps;
  return {
    async listReleases({ page, component }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      if (component !== "" && !isComponent(component))
        throw validationError({ component: ["Must be agent, watchdog or helper"] });
      const who = asService(context);
      const { rows, info } = await listReleases(db, who, component, clampPage(page ?? {}));
      const read = async (tx: Tx) => [await promotedVersions(tx), (await deps.plan.read(tx, [])).untrusted] as const;
      const [targets, untrusted] = await db.tx(who, read, { readOnly: true });
      const releases = rows.map((row) => releaseMessage(row, untrusted.get(row.id) ?? null));
      return { releases, page: info, targets };
    },

    async registerRelease(request, handler) {
      const context = callContext(handler);
      requirePlatform(context, deps.mfaMaxAgeMinutes);
      const at = now();
      const before = await db.tx(asService(context), (tx) => readRoot(tx, deps.keys), { readOnly: true });
      const { rootNote } = request;
      const root = rootNote === "" ? null : trusted("rootNote", () => newRoot(before, rootNote));
      const { keys } = root ?? before;
      const { manifest, signed } = trusted("manifest", () => openManifest(request.manifest, keys, at, deps.unsigned));
      const files = filesOf(manifest.artifacts, request.urls);
      if (longerThan(request.notesUrl, notesUrlMax))
        throw validationError({ notesUrl: [`At most ${notesUrlMax} characters`] });
      return idempotentTx(db, context, ReleaseService.method.registerRelease, request, checkedBefore, async (tx) => {
        const prepared = {
          manifest,
          signed,
          prerelease: false,
          note: signed || request.manifest.includes("\n\n") ? request.manifest : null,
          source: "api",
          notesUrl: request.notesUrl || null,
          files,
        };
        const options = { autoPromote: deps.autoPromote, action: "agent_version.register" as const };
        await exchangeKeys(tx, context, root, at);
        const row = await registerRelease(tx, context, prepared, options, at);
        if (!row) throw new AppError("release_exists", "This version is registered already");
        return shown(tx, row.id, await lowerCounterOf(tx, row));
      });
    },

    async syncReleases({ source, version }, handler) {
      const context = callContext(handler);
      requirePlatform(context, deps.mfaMaxAgeMinutes);
      return syncReleases(
        deps,
        context,
        { source, version: version === "" ? null : wantedVersion(version) },
        deps.wakeSync,
      );
    },
  };
}

function releaseStates(deps: ReleaseDeps): Pick<Handlers, "promoteRelease" | "yankRelease" | "deleteRelease"> {
  const { db, now } = deps;
  return {
    async promoteRelease({ version, component }, handler) {
      const context = callContext(handler);
      requirePermission(context, "platform:admin");
      requireMfa(context, deps.mfaMaxAgeMinutes);
      if (component !== "" && !isComponent(component))
        throw validationError({ component: ["Must be agent, watchdog or helper"] });
      const wanted = { version: wantedVersion(version), component: component || null };
      const at = now();
      const promoted = await db.tx(
        asService(context),
        (tx) => promoteVersion(tx, context, { ...wanted, plan: deps.plan }, at),
        {
          retry: true,
        },
      );
      return {
        version: wanted.version,
        promotedAt: timestampFromDate(at),
        promoted: promoted.map((each) => ({ component: each.component, previousVersion: each.previousVersion ?? "" })),
      };
    },

    async yankRelease({ id }, handler) {
      const context = callContext(handler);
      requirePlatform(context, deps.mfaMaxAgeMinutes);
      const at = now();
      return db.tx(context, async (tx) => {
        const row = await lockExisting(tx, id);
        if ((await useOf(tx, row)).promoted) throw inUse("promoted");
        const untrusted = (await deps.plan.read(tx, [])).untrusted.get(row.id) ?? null;
        if (row.yanked_at === null) {
          await markYanked(tx, row.id, at);
          auditRelease(tx, context, { action: "agent_version.yank", ...named(row) }, at);
          await bumpPlan(tx, { scope: "all" });
        }
        return shown(tx, row.id, untrusted);
      });
    },

    async deleteRelease({ id }, handler) {
      const context = callContext(handler);
      requirePlatform(context, deps.mfaMaxAgeMinutes);
      const at = now();
      const stored = await db.tx(context, async (tx) => {
        const row = await lockExisting(tx, id);
        const { reason } = await useOf(tx, row);
        if (reason) throw inUse(reason);
        const files = (await artifactsOf(tx, [row.id])).filter((artifact) => artifact.stored);
        await deleteRelease(tx, row.id);
        const fact = { ...named(row), details: { changes: { before: named(row).details, after: {} } } };
        auditRelease(tx, context, { action: "agent_version.delete", ...fact }, at);
        await bumpPlan(tx, { scope: "all" });
        return files.map(({ sha256 }) => sha256);
      });
      await removeUnused(deps, stored);
      return {};
    },
  };
}

async function lockExisting(tx: Tx, id: string): Promise<ReleaseRow> {
  const row = isUuid(id) ? await lockRelease(tx, id) : null;
  if (!row) throw versionNotFound();
  return row;
}

async function shown(tx: Tx, id: string, untrusted: string | null) {
  const row = await findListed(tx, id);
  if (!row) throw new Error("a release that was locked has gone");
  return { release: releaseMessage(row, untrusted) };
}

function named({ id, component, version }: ReleaseRow) {
  return { id, name: `${component} ${version}`, details: { component, version } };
}

function inUse(reason: string): AppError {
  return new AppError("release_in_use", `The version is ${reason}`, { facts: { reason } });
}

function wantedVersion(text: string): string {
  const version = parseVersion(text);
  if (version === null) throw validationError({ version: ["Must be a semantic version"] });
  return version;
}

/** An invalid note is an error of the field; one without a trusted signature has its own code. */
function trusted<T>(field: "manifest" | "rootNote", read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    if (error.untrusted) {
      throw notSigned(error.message);
    }
    throw validationError({ [field]: [`The ${field === "manifest" ? "manifest" : "root note"} ${error.message}`] });
  }
}

/** Each file of the manifest has an https URL. */
function filesOf(artifacts: readonly { name: string }[], urls: Record<string, string>) {
  const errors: Record<string, string[]> = {};
  const files = new Map<string, { url: string; stored: boolean }>();
  for (const { name } of artifacts) {
    const url = urls[name];
    if (url === undefined) errors[`urls.${name}`] = ["Required"];
    else if (url.length > 2_048 || !URL.canParse(url) || new URL(url).protocol !== "https:") {
      errors[`urls.${name}`] = ["Must be an https URL"];
    } else files.set(name, { url, stored: false });
  }
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return files;
}
