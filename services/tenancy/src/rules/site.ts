import { AppError } from "@muster/kit";
import { checks, type JsonObject } from "./fields.ts";
import { mergeSettings } from "./settings.ts";

/** What a creation or a change writes, all of it. */
export type SiteFields = {
  name: string;
  timezone: string;
  address: JsonObject;
  contact: JsonObject;
  settings: JsonObject;
};

export type SiteInput = {
  name: string;
  timezone: string;
  addressJson: string;
  contactJson: string;
  settingsJson: string;
};

/** Paths of an update mask; the organization is none of them. */
export const sitePaths = ["name", "timezone", "address_json", "contact_json", "settings_json"] as const;

/** The fields of a new site, UTC by default; throws `validation_failed` naming each bad field. */
export function newSite(input: SiteInput): SiteFields {
  const check = checks();
  const site: SiteFields = {
    name: check.name("name", input.name),
    timezone: check.timezone("timezone", input.timezone || "UTC"),
    address: check.object("address", input.addressJson),
    contact: check.object("contact", input.contactJson),
    settings: mergeSettings({}, check.object("settings", input.settingsJson), "settings", check),
  };
  check.done();
  return site;
}

/**
 * The site after a change: masked fields are written, settings merge key by key, address and contact are replaced.
 * Throws `no_updates` or `validation_failed`.
 */
export function changeSite(stored: SiteFields, paths: readonly string[], patch: SiteInput): SiteFields {
  const requested = paths.filter((path) => sitePaths.some((each) => each === path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const check = checks();
  const changed = { ...stored };
  for (const path of requested) {
    if (path === "name") changed.name = check.name("name", patch.name);
    if (path === "timezone") changed.timezone = check.timezone("timezone", patch.timezone);
    if (path === "address_json") changed.address = check.object("address", patch.addressJson);
    if (path === "contact_json") changed.contact = check.object("contact", patch.contactJson);
    if (path === "settings_json") {
      const settings = check.object("settings", patch.settingsJson);
      changed.settings = mergeSettings(stored.settings, settings, "settings", check);
    }
  }
  check.done();
  return changed;
}
