import { AppError } from "@muster/kit";
import { checks, type JsonObject } from "./fields.ts";
import { checkPartnerSettings, mergeSettings } from "./settings.ts";

export const partnerTypes = ["msp", "enterprise", "internal"] as const;
export const partnerPlans = ["free", "starter", "community", "pro", "enterprise", "unlimited"] as const;
export const partnerStatuses = ["pending", "active", "suspended", "churned"] as const;

export type NewPartner = {
  name: string;
  slug: string;
  type: (typeof partnerTypes)[number];
  plan: (typeof partnerPlans)[number];
  maxOrganizations: number | null;
  maxDevices: number | null;
  billingEmail: string | null;
};

/** What a change writes, all of it. */
export type PartnerFields = Omit<NewPartner, "type" | "plan"> & {
  type: string;
  plan: string;
  status: string;
  settings: JsonObject;
  ssoConfig: JsonObject;
};

type PartnerInput = {
  name: string;
  slug: string;
  type: string;
  plan: string;
  maxOrganizations?: number | undefined;
  maxDevices?: number | undefined;
  billingEmail?: string | undefined;
};

export type PartnerPatch = PartnerInput & { status: string; settingsJson: string; ssoConfigJson: string };

/** Paths of an update mask that people of the partner itself may write. */
export const ownPartnerPaths = ["name", "billing_email", "settings_json"] as const;
export const partnerPaths = [
  ...ownPartnerPaths,
  "slug",
  "type",
  "plan",
  "status",
  "max_organizations",
  "max_devices",
  "sso_config_json",
] as const;

/** The fields of a new partner with the documented defaults; throws `validation_failed` naming each bad field. */
export function newPartner(input: PartnerInput): NewPartner {
  const check = checks();
  const partner: NewPartner = {
    name: check.name("name", input.name),
    slug: check.slug("slug", input.slug),
    type: check.oneOf("type", input.type || "msp", partnerTypes),
    plan: check.oneOf("plan", input.plan || "free", partnerPlans),
    maxOrganizations: check.cap("maxOrganizations", input.maxOrganizations),
    maxDevices: check.cap("maxDevices", input.maxDevices),
    billingEmail: input.billingEmail === undefined ? null : check.text("billingEmail", input.billingEmail, 255),
  };
  check.done();
  return partner;
}

/**
 * The partner after a change: masked fields are written (an absent one becomes null), settings merge key by key,
 * everything else stays. Paths outside `allowed` count as not given. Throws `no_updates` or `validation_failed`.
 */
export function changePartner(
  stored: PartnerFields,
  paths: readonly string[],
  patch: PartnerPatch,
  allowed: readonly string[] = partnerPaths,
): PartnerFields {
  const requested = paths.filter((path) => allowed.includes(path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const check = checks();
  const changed = { ...stored };
  for (const path of requested) {
    if (path === "name") changed.name = check.name("name", patch.name);
    if (path === "slug") changed.slug = check.slug("slug", patch.slug);
    if (path === "type") changed.type = check.oneOf("type", patch.type, partnerTypes);
    if (path === "plan") changed.plan = check.oneOf("plan", patch.plan, partnerPlans);
    if (path === "status") changed.status = check.oneOf("status", patch.status, partnerStatuses);
    if (path === "max_organizations") changed.maxOrganizations = check.cap("maxOrganizations", patch.maxOrganizations);
    if (path === "max_devices") changed.maxDevices = check.cap("maxDevices", patch.maxDevices);
    if (path === "sso_config_json") changed.ssoConfig = check.object("ssoConfig", patch.ssoConfigJson);
    if (path === "billing_email") {
      changed.billingEmail =
        patch.billingEmail === undefined ? null : check.text("billingEmail", patch.billingEmail, 255);
    }
    if (path === "settings_json") {
      // The order has its own endpoint, and its own column.
      const { organizationOrder: _ignored, ...settings } = check.object("settings", patch.settingsJson);
      checkPartnerSettings(settings, "settings", check);
      changed.settings = mergeSettings(stored.settings, settings, "settings", check);
    }
  }
  check.done();
  return changed;
}
