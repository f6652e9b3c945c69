import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { AppError } from "@muster/kit";
import { type Checks, checks, type JsonObject } from "./fields.ts";
import { mergeSettings } from "./settings.ts";

export const organizationTypes = ["customer", "internal"] as const;
export const organizationStatuses = ["active", "suspended", "trial", "churned"] as const;

/** What a creation or a change writes, all of it. */
export type OrganizationFields = {
  name: string;
  slug: string;
  type: string;
  status: string;
  maxDevices: number | null;
  settings: JsonObject;
  ssoConfig: JsonObject;
  billingContact: JsonObject;
  contractStart: Date | null;
  contractEnd: Date | null;
};

export type OrganizationInput = {
  name: string;
  slug: string;
  type: string;
  status: string;
  maxDevices?: number | undefined;
  settingsJson: string;
  billingContactJson: string;
  contractStart?: Timestamp | undefined;
  contractEnd?: Timestamp | undefined;
};

export type OrganizationPatch = OrganizationInput & { ssoConfigJson: string };

/** Paths of an update mask; the partner is none of them. */
export const organizationPaths = [
  "name",
  "slug",
  "type",
  "status",
  "max_devices",
  "settings_json",
  "sso_config_json",
  "billing_contact_json",
  "contract_start",
  "contract_end",
] as const;

/** The fields of a new organization with the documented defaults; throws `validation_failed` naming each bad field. */
export function newOrganization(input: OrganizationInput): OrganizationFields {
  const check = checks();
  const organization: OrganizationFields = {
    name: check.name("name", input.name),
    slug: check.slug("slug", input.slug),
    type: check.oneOf("type", input.type || "customer", organizationTypes),
    status: check.oneOf("status", input.status || "active", organizationStatuses),
    maxDevices: check.cap("maxDevices", input.maxDevices),
    settings: mergeSettings({}, check.object("settings", input.settingsJson), "settings", check),
    ssoConfig: {},
    billingContact: check.object("billingContact", input.billingContactJson),
    contractStart: contractDate("contractStart", input.contractStart, check),
    contractEnd: contractDate("contractEnd", input.contractEnd, check),
  };
  checkContract(organization, check);
  check.done();
  return organization;
}

/**
 * The organization after a change: masked fields are written (an absent one becomes null), settings merge key by key,
 * the other objects are replaced. Throws `no_updates` or `validation_failed`.
 */
export function changeOrganization(
  stored: OrganizationFields,
  paths: readonly string[],
  patch: OrganizationPatch,
): OrganizationFields {
  const requested = paths.filter((path) => organizationPaths.some((each) => each === path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const check = checks();
  const changed = { ...stored };
  for (const path of requested) {
    if (path === "name") changed.name = check.name("name", patch.name);
    if (path === "slug") changed.slug = check.slug("slug", patch.slug);
    if (path === "type") changed.type = check.oneOf("type", patch.type, organizationTypes);
    if (path === "status") changed.status = check.oneOf("status", patch.status, organizationStatuses);
    if (path === "max_devices") changed.maxDevices = check.cap("maxDevices", patch.maxDevices);
    if (path === "sso_config_json") changed.ssoConfig = check.object("ssoConfig", patch.ssoConfigJson);
    if (path === "billing_contact_json") {
      changed.billingContact = check.object("billingContact", patch.billingContactJson);
    }
    if (path === "contract_start") changed.contractStart = contractDate("contractStart", patch.contractStart, check);
    if (path === "contract_end") changed.contractEnd = contractDate("contractEnd", patch.contractEnd, check);
    if (path === "settings_json") {
      const settings = check.object("settings", patch.settingsJson);
      changed.settings = mergeSettings(stored.settings, settings, "settings", check);
    }
  }
  checkContract(changed, check);
  check.done();
  return changed;
}

function contractDate(field: string, value: Timestamp | undefined, check: Checks): Date | null {
  if (value === undefined) return null;
  const date = timestampDate(value);
  const year = date.getUTCFullYear();
  if (!(year >= 1900 && year <= 9999)) check.fail(field, "A time between the years 1900 and 9999");
  return date;
}

function checkContract({ contractStart, contractEnd }: OrganizationFields, check: Checks): void {
  if (contractStart && contractEnd && contractEnd < contractStart) {
    check.fail("contractEnd", "Not before contractStart");
  }
}
