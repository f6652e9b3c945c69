import {
  type AlertTemplate,
  AppError,
  alertTemplates,
  type FieldErrors,
  isUuid,
  nameError,
  validationError,
} from "@muster/kit";
import { readyAlerts } from "./alert-templates.ts";
import { filterNamed, type NamedFilter } from "./export-job.ts";
import type { LogFilter } from "./log-filter.ts";

export type AlertStatus = "active" | "paused" | "ended";

/** So many rows of one chain within so many minutes. */
export type Threshold = { count: number; minutes: number };

export type AlertFields = {
  name: string;
  template: AlertTemplate | null;
  filter: NamedFilter;
  /** Null: each row. */
  threshold: Threshold | null;
  webhook: boolean;
  recipients: string[];
};

type Notify = { webhook: boolean; userIds: readonly string[] };

/** What a request says of an alert. */
export type AlertInput = {
  name: string;
  template: string;
  filter: NamedFilter;
  threshold: Threshold | null;
  notify: Notify | null;
  /** Whether it is of an organization, which alone has webhooks. */
  isOfOrganization: boolean;
};

export const mostRecipients = 20;

/** A new alert; throws `validation_failed` naming each bad field. */
export function newAlert(input: AlertInput): AlertFields {
  const errors: FieldErrors = {};
  const name = nameOf(input.name, errors);
  const template = alertTemplates.find((each) => each === input.template) ?? null;
  if (input.template !== "" && !template) errors.template = [`One of ${alertTemplates.join(", ")}`];
  const named = Object.keys(input.filter);
  if (template && named.length > 0) errors.query = ["Not beside a template"];
  else if (!template) Object.assign(errors, filterErrors(input.filter));
  const threshold = input.threshold ?? (template ? readyAlerts[template].threshold : null);
  Object.assign(errors, thresholdErrors(threshold));
  Object.assign(errors, notifyErrors(input.notify, input.isOfOrganization));
  if (Object.keys(errors).length > 0) throw validationError(errors);
  const { webhook = false, userIds = [] } = input.notify ?? {};
  return { name, template, filter: input.filter, threshold, webhook, recipients: unique(userIds) };
}

/** The fields of an alert that a change may set. */
export const alertPaths = ["name", "status", "filter", "threshold", "notify"] as const;

export type AlertChange = Partial<AlertFields> & { status?: "active" | "paused" };

/** The masked fields; throws `no_updates` or `validation_failed`. A new filter replaces a template. */
export function alertChange(paths: readonly string[], input: AlertInput & { status: string }): AlertChange {
  const requested = alertPaths.filter((path) => paths.includes(path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const errors: FieldErrors = {};
  const change: AlertChange = {};
  for (const path of requested) {
    if (path === "name") change.name = nameOf(input.name, errors);
    if (path === "status") {
      if (input.status === "active" || input.status === "paused") change.status = input.status;
      else errors.status = ["One of active, paused"];
    }
    if (path === "filter") {
      Object.assign(errors, filterErrors(input.filter));
      Object.assign(change, { filter: input.filter, template: null });
    }
    if (path === "threshold") {
      Object.assign(errors, thresholdErrors(input.threshold));
      change.threshold = input.threshold;
    }
    if (path === "notify") {
      Object.assign(errors, notifyErrors(input.notify, input.isOfOrganization));
      const { webhook = false, userIds = [] } = input.notify ?? {};
      Object.assign(change, { webhook, recipients: unique(userIds) });
    }
  }
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return change;
}

/** The filters of an alert; a row matches it when it matches one of them. */
export const filtersOf = ({ template, filter }: Pick<AlertFields, "template" | "filter">): readonly LogFilter[] =>
  template ? readyAlerts[template].filters : [filterNamed(filter)];

const unique = (ids: readonly string[]) => [...new Set(ids.map((each) => each.toLowerCase()))];

function nameOf(text: string, errors: FieldErrors): string {
  const name = text.trim();
  const error = nameError(name);
  if (error) errors.name = [error];
  return name;
}

function filterErrors(filter: NamedFilter): FieldErrors {
  if (filter.from || filter.to) return { query: ["An alert has no times"] };
  return Object.keys(filter).length === 0 ? { query: ["At least one filter"] } : {};
}

function thresholdErrors(threshold: Threshold | null): FieldErrors {
  if (!threshold) return {};
  const errors: FieldErrors = {};
  const isWhole = (n: number, most: number) => Number.isInteger(n) && n >= 1 && n <= most;
  if (!isWhole(threshold.count, 1_000)) errors["threshold.count"] = ["1 to 1000"];
  if (!isWhole(threshold.minutes, 1_440)) errors["threshold.minutes"] = ["1 to 1440"];
  return errors;
}

function notifyErrors(notify: Notify | null, isOfOrganization: boolean): FieldErrors {
  const { webhook = false, userIds = [] } = notify ?? {};
  if (!webhook && userIds.length === 0) return { notify: ["A webhook or users"] };
  const errors: FieldErrors = {};
  if (webhook && !isOfOrganization) errors["notify.webhook"] = ["Only alerts of an organization"];
  if (userIds.length > mostRecipients) errors["notify.mail"] = [`At most ${mostRecipients}`];
  userIds.forEach((each, n) => {
    if (!isUuid(each)) errors[`notify.mail.${n}`] = ["Must be a UUID"];
  });
  return errors;
}
