import { AppError, type Caller } from "@muster/kit";

export function partnerNotFound(): AppError {
  return new AppError("partner_not_found", "Partner not found");
}

export function organizationNotFound(): AppError {
  return new AppError("organization_not_found", "Organization not found");
}

/** An organization that a site is to be in: nothing is closed to a system caller, so there it is missing. */
export function organizationOfSiteDenied({ scope }: Caller): AppError {
  if (scope === "system") return organizationNotFound();
  return new AppError("organization_access_denied", "Access to this organization denied");
}

export function deviceNotFound(facts: Record<string, unknown> = {}): AppError {
  return new AppError("device_not_found", "Device not found", { facts });
}

export function deviceGroupNotFound(): AppError {
  return new AppError("device_group_not_found", "Device group not found");
}

export function savedViewNotFound(): AppError {
  return new AppError("saved_view_not_found", "Saved view not found");
}

export function siteNotFound(): AppError {
  return new AppError("site_not_found", "Site not found");
}

/** For what only quarantined devices are open to. */
export function deviceNotQuarantined(): AppError {
  return new AppError("device_not_quarantined", "Device is not quarantined");
}

/** For writes on a device whose record only stays to be read. */
export function deviceDecommissioned(facts: Record<string, unknown> = {}): AppError {
  return new AppError("device_decommissioned", "Device is decommissioned", { facts });
}

export function bulkJobNotFound(): AppError {
  return new AppError("bulk_job_not_found", "Bulk job not found");
}
