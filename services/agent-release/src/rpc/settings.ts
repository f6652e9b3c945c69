import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { sql, type Tx } from "@muster/db";
import { AppError, type CallContext, type FieldErrors, isUuid, type NoteVerifier, validationError } from "@muster/kit";
import type { GetSettingsResponse, SettingsService, UpdateSettings } from "@muster/proto/muster/release/v1/settings_pb";
import { callContext } from "@muster/rpc";
import {
  requireMfa,
  requirePermission,
  requireScope,
  requireWholeOrganization,
  type TenantReader,
} from "@muster/service";
import { auditSettings } from "../emits/audit.ts";
import type { Component } from "../rules/component.ts";
import { ManifestError } from "../rules/manifest.ts";
import { manifestRoot } from "../rules/manifest-root.ts";
import { openRollbackNote, refusalOfNote } from "../rules/rollback-note.ts";
import { mergeSettings, nothingSet, type Policy, type Settings, windowOf } from "../rules/settings.ts";
import { compareVersions, parseVersion } from "../rules/version.ts";
import { type Day, days, windowAt } from "../rules/window.ts";
import { bumpPlan } from "../store/plan.ts";
import { rootNotes } from "../store/root-notes.ts";
import { lockSettings, putSettings, settingsFor, settingsOf } from "../store/settings.ts";
import { partnerOfOrganization } from "../store/tenants.ts";
import { actAsService, asService, requireWholePartner } from "./guards.ts";
import { shownFields } from "./settings-json.ts";

export type SettingsDeps = TenantReader & {
  now: () => Date;
  mfaMaxAgeMinutes: number;
  /** Keys of manifests as they are set. */
  keys: readonly NoteVerifier[];
};

/** Whose settings: an organization's, or the partner's own (orgId null). */
type Level = { partnerId: string; orgId: string | null };

/** Pins, policy and windows of partners and organizations. */
export function settingsService(deps: SettingsDeps): ServiceImpl<typeof SettingsService> {
  const { db, now } = deps;

  const levelOf = async (context: CallContext, named: string): Promise<Level> => {
    const { caller } = context;
    if (named === "") {
      requireScope(context, "partner");
      if (caller.partnerId === null) throw new AppError("misconfigured_account", "Misconfigured account");
      return { partnerId: caller.partnerId, orgId: null };
    }
    const orgId = named.toLowerCase();
    const isInScope =
      caller.scope === "system" ||
      (caller.scope === "organization"
        ? caller.orgId === orgId
        : caller.orgAccess.mode === "all" || caller.orgAccess.orgIds.includes(orgId));
    const partnerId = isInScope && isUuid(orgId) ? await partnerOfOrganization(deps, context, orgId) : null;
    if (partnerId === null) throw new AppError("organization_not_found", "Organization not found");
    return { partnerId, orgId };
  };

  return {
    async getSettings({ orgId }, handler) {
      const context = callContext(handler);
      requirePermission(context, "organizations:read");
      const level = await levelOf(context, orgId);
      return db.tx(context, (tx) => shown(tx, level, now()), { readOnly: true });
    },

    async putSettings({ orgId, settings }, handler) {
      const context = callContext(handler);
      requirePermission(context, orgId === "" ? "partner:policy" : "organizations:write");
      requireMfa(context, deps.mfaMaxAgeMinutes);
      requireWholeOrganization(context);
      const level = await levelOf(context, orgId);
      if (level.orgId === null) requireWholePartner(context);
      const at = now();
      // Read by the service: callers do not see root notes.
      const roots = await db.tx(asService(context), rootNotes, { readOnly: true });
      const rollbackNote = rollbackOf(manifestRoot(deps.keys, roots).keys, level, settings, at);
      return db.tx(context, async (tx) => {
        const wanted = { ...(await checked(tx, settings)), rollbackNote };
        await lockSettings(tx, level.partnerId, level.orgId);
        const rows = await settingsFor(tx, level.partnerId, level.orgId);
        const own = rows.find((row) => row.org_id === level.orgId);
        const before = own ? settingsOf(own) : nothingSet;
        await putSettings(tx, level, wanted, at);
        auditSettings(tx, context, level, { before, after: wanted }, at);
        // Written by the service: callers do not see the plan.
        await actAsService(tx);
        const scope = level.orgId === null ? "partner" : "organization";
        await bumpPlan(tx, { scope, id: level.orgId ?? level.partnerId });
        return { settings: await shown(tx, level, at) };
      });
    },
  };
}

async function shown(
  tx: Tx,
  level: Level,
  at: Date,
): Promise<Omit<GetSettingsResponse, "$typeName" | "own"> & { own: Omit<UpdateSettings, "$typeName"> }> {
  const rows = await settingsFor(tx, level.partnerId, level.orgId);
  const partner = rows.find(({ org_id: orgId }) => orgId === null);
  const own = rows.find(({ org_id: orgId }) => orgId === level.orgId);
  const ofPartner = partner ? settingsOf(partner) : nothingSet;
  const ofOwn = own ? settingsOf(own) : nothingSet;
  const merged = mergeSettings(ofPartner, level.orgId === null ? nothingSet : ofOwn);
  const { open, nextOpening } = windowAt(windowOf(merged.settings), at);
  const fields = shownFields(ofOwn, merged, level.orgId === null ? "partner" : "organization");
  const versions = await tx.query<{ component: Component; version: string }>(
    sql`SELECT component, version FROM release WHERE yanked_at IS NULL AND component IN ('agent', 'watchdog')`,
  );
  const of = (component: Component) =>
    versions
      .filter((each) => each.component === component)
      .map(({ version }) => version)
      .sort((a, b) => compareVersions(b, a));
  return {
    own: messageOf(ofOwn),
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, { effective, source, lockedBy }]) => [
        name,
        {
          $typeName: "muster.release.v1.FieldSource" as const,
          effectiveJson: effective === null ? "" : JSON.stringify(effective),
          source,
          lockedBy: lockedBy ?? "",
        },
      ]),
    ),
    windowOpen: open,
    ...(nextOpening ? { nextOpening: timestampFromDate(nextOpening) } : {}),
    agentVersions: of("agent"),
    watchdogVersions: of("watchdog"),
  };
}

function messageOf(s: Settings): Omit<UpdateSettings, "$typeName"> {
  return {
    ...(s.agentTarget === null ? {} : { agentTarget: s.agentTarget }),
    ...(s.watchdogTarget === null ? {} : { watchdogTarget: s.watchdogTarget }),
    ...(s.updatePolicy === null ? {} : { updatePolicy: s.updatePolicy }),
    windowDays: [...(s.windowDays ?? [])],
    hasWindowDays: s.windowDays !== null,
    ...(s.windowStart === null ? {} : { windowStart: s.windowStart }),
    ...(s.windowEnd === null ? {} : { windowEnd: s.windowEnd }),
    allowDowngrade: Boolean(s.rollbackNote),
    ...(s.rollbackNote ? { rollbackNote: s.rollbackNote } : {}),
  };
}

/**
 * The rollback note of a pin that may go back; null without one. Throws `rollback_note_required`, `validation_failed`.
 */
function rollbackOf(
  keys: readonly NoteVerifier[],
  { orgId }: Level,
  update: UpdateSettings | undefined,
  now: Date,
): string | null {
  const text = update?.rollbackNote ?? "";
  const refused = (reason: string) => validationError({ rollbackNote: [reason] });
  if (!update?.allowDowngrade) {
    if (text !== "") throw refused("Needs allowDowngrade: true");
    return null;
  }
  if (text === "") throw new AppError("rollback_note_required", "Going back needs a signed rollback note");
  try {
    const note = openRollbackNote(text, keys);
    const target = note.component === "agent" ? update.agentTarget : update.watchdogTarget;
    const version = parseVersion(target ?? "") ?? "";
    const problem = refusalOfNote(note, { orgId, component: note.component, version, now });
    if (note.component === "helper" || problem !== null) throw refused(`The note ${problem ?? "is for the helper"}`);
    return text;
  } catch (error) {
    if (error instanceof ManifestError) throw refused(`The note ${error.message}`);
    throw error;
  }
}

/** The settings as they are stored. Throws `validation_failed` with every error. */
async function checked(tx: Tx, update: UpdateSettings | undefined): Promise<Settings> {
  const errors: FieldErrors = {};
  const pin = async (component: "agent" | "watchdog", text: string | undefined): Promise<string | null> => {
    if (text === undefined || text === "latest") return text ?? null;
    const version = parseVersion(text);
    const [registered] =
      version === null
        ? []
        : await tx.query<{ yanked: boolean }>(sql`
            SELECT yanked_at IS NOT NULL AS yanked FROM release WHERE component = ${component} AND version = ${version}`);
    if (!registered) errors[`${component}Target`] = ["Must be `latest` or a registered version"];
    else if (registered.yanked) errors[`${component}Target`] = ["The version was yanked: it is offered to no device"];
    return version;
  };
  const agentTarget = await pin("agent", update?.agentTarget);
  const watchdogTarget = await pin("watchdog", update?.watchdogTarget);
  const policy = update?.updatePolicy ?? null;
  if (policy !== null && policy !== "automatic" && policy !== "manual")
    errors.updatePolicy = ["Must be automatic or manual"];
  const wanted = update?.hasWindowDays ? days.filter((day) => update.windowDays.includes(day)) : null;
  const areDays = update?.windowDays.every((day) => days.some((each) => each === day)) ?? true;
  if (wanted !== null && (wanted.length === 0 || !areDays)) errors.windowDays = ["Must name at least one day"];
  const minutes = (name: "windowStart" | "windowEnd", max: number): number | null => {
    const value = update?.[name] ?? null;
    if (value !== null && (value < 0 || value > max)) errors[name] = ["Must be a time of day"];
    return value;
  };
  const windowStart = minutes("windowStart", 1_439);
  const windowEnd = minutes("windowEnd", 1_440);
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return {
    agentTarget,
    watchdogTarget,
    updatePolicy: policy as Policy | null,
    windowDays: wanted as Day[] | null,
    windowStart,
    windowEnd,
  };
}
