import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { clampPage, nameError, nameMax } from "@muster/kit";
import type { PageInfo } from "@muster/proto/muster/common/v1/page_pb";
import { z } from "zod";

/** A record's id as clients send it; lower case from here on. */
export const id = z.guid("Must be a UUID").toLowerCase();

/** Ids and times in replies. */
export const idOut = z.string().meta({ format: "uuid" });
export const timeOut = z.string().meta({ format: "date-time", description: "ISO 8601 UTC with milliseconds." });

/** In examples of the OpenAPI document. */
export const exampleId = "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f";
export const exampleTime = "2026-01-31T12:00:00.000Z";

export const idParams = z.object({ id });

/** An ISO 8601 instant with offset, or a day (UTC). */
export const timeIn = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], "Must be an ISO 8601 time")
  .meta({ description: "ISO 8601 time with offset, or a date." });

/** An instant after now. Services check again; here it is reported with the other errors of the body. */
export const comingTimeIn = timeIn.superRefine((text, { addIssue }) => {
  if (new Date(text) <= new Date()) addIssue({ code: "custom", message: "Must be in the future" });
});

/** A filter by what is so or not; absent, both. */
export const flag = z.enum(["true", "false"]).optional();
export const flagOf = (text: z.infer<typeof flag>): boolean | undefined => (text ? text === "true" : undefined);

/**
 * `page`, `limit`, `cursor`, `skipCount` of every list. Numbers out of range are clamped, what is no number is the
 * default.
 */
export const listQuery = z.object({
  page: z.string().optional().meta({ description: "Page from 1; below 1 is 1.", default: "1", example: "1" }),
  limit: z.string().optional().meta({ description: "Rows a page, 1 to 100.", default: "50", example: "50" }),
  cursor: z
    .string()
    .max(3_000)
    .optional()
    .meta({ description: "`nextCursor` of the previous page; `page` is ignored then." }),
  skipCount: z
    .enum(["true", "false", "1", "0"])
    .optional()
    .meta({ description: "When true, no total is computed: it is null in the reply.", default: "false" }),
});

/**
 * A text of a closed list that another check validates, which answers a code of its own: the OpenAPI document shows the
 * list as an enum.
 */
export const listedIn = (values: readonly string[]) =>
  z
    .string()
    .max(100)
    .meta({ enum: [...values] });

/** Values of a query: comma-separated, as the OpenAPI document describes them, or repeated. Empty ones are left out. */
export const valuesIn = <T extends z.ZodType>(one: T, most: number) =>
  z.preprocess(
    (value) => (typeof value === "string" || Array.isArray(value) ? [value].flat().flatMap(splitValues) : value),
    z.array(one).max(most),
  );

function splitValues(text: unknown): unknown[] {
  if (typeof text !== "string") return [text];
  return text
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

/** A text that names contain, whatever its case. */
export const searchIn = z
  .string()
  .max(255)
  .optional()
  .meta({ description: "Only records with a name that contains this text, ignoring case.", example: "acme" });

/** Descriptions of the filters of lists: one wording for all. */
export const only = {
  equal: "Only records with exactly this value.",
  oneOf: "Only records with exactly one of these values, comma-separated or repeated.",
  organization: "Only records of this organization.",
  partner: "Only records of this partner.",
  site: "Only records of this site.",
  group: "Only records of this device group.",
} as const;

/** The page as services accept it. */
export function pageOf(query: Partial<z.output<typeof listQuery>>, maxLimit = 100) {
  const skipCount = query.skipCount === "true" || query.skipCount === "1";
  const page = clampPage({ page: numberOf(query.page), limit: numberOf(query.limit), skipCount }, maxLimit);
  return { ...page, cursor: query.cursor ?? "" };
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || text.trim() === "" ? undefined : Number(text);
}

export const pagination = z
  .object({
    page: z.int(),
    limit: z.int(),
    total: z.int().nullable().meta({ description: "Number of all rows; null under `skipCount`." }),
    nextCursor: z.string().nullable().meta({ description: "Cursor of the next page; null on the last page." }),
    totalIsEstimate: z
      .literal(true)
      .optional()
      .meta({ description: "Present when `total` was estimated, not counted." }),
  })
  .meta({ id: "Pagination" });

/** `pagination` of a reply from what the service answered. */
export function paginationOf(page: PageInfo | undefined) {
  return {
    page: page?.page ?? 1,
    limit: page?.limit ?? 0,
    total: page?.total === undefined ? null : Number(page.total),
    nextCursor: page?.nextCursor || null,
    ...(page?.totalIsEstimate ? { totalIsEstimate: true as const } : {}),
  };
}

/** ISO 8601 with milliseconds. Throws when the service omitted a time that every record has. */
export function timeOf(timestamp: Timestamp | undefined): string {
  if (timestamp === undefined) throw new Error("a record lacks one of its times");
  return timestampDate(timestamp).toISOString();
}

export function timeOrNull(timestamp: Timestamp | undefined): string | null {
  return timestamp === undefined ? null : timeOf(timestamp);
}

export function timestampOf(text: string | undefined): Timestamp | undefined {
  return text === undefined ? undefined : timestampFromDate(new Date(text));
}

/** A JSON object that travelled as text; empty text is `{}`. */
export function objectOf(json: string): Record<string, unknown> {
  return json === "" ? {} : (JSON.parse(json) as Record<string, unknown>);
}

export const objectOut = z.record(z.string(), z.unknown());

/** Free-form objects of a body; services bound them at 64 KiB each. */
export const objectIn = z.record(z.string(), z.unknown());
export const objectsBodyLimitBytes = 256 * 1024;

/** Description of each name in the OpenAPI document. */
export const nameSentence = "On one line, without control or invisible characters.";

/** A name as clients send it: the one rule of libs/kit. The bounds are repeated here for the OpenAPI document. */
export const nameIn = z
  .string()
  .trim()
  .min(1)
  .max(nameMax)
  .superRefine((name, { addIssue }) => {
    const error = nameError(name);
    if (error) addIssue({ code: "custom", message: error });
  })
  .meta({ description: nameSentence, example: "Berlin" });

/**
 * An address as interfaces list it; the zone of a link-local one (`fe80::1%eth0`) means nothing elsewhere and is cut
 * off.
 */
export const addressIn = z
  .string()
  .max(128)
  .overwrite((text) => text.replace(/^(?=[^:]*:)([0-9a-f:.]+)%[^%\s]{1,64}$/i, "$1"))
  .pipe(z.union([z.ipv4(), z.ipv6()]))
  .meta({ description: "IPv4 or IPv6; a zone (`%eth0`) is accepted and discarded." });
/** The unreserved characters of RFC 3986, beginning with a letter or digit: never "." or "..". */
export const slugIn = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._~-]*$/, "1 to 100 letters, digits and - . _ ~, beginning with a letter or digit")
  .meta({ example: "acme" });
/** A cap as clients send it. */
export const capIn = z.int().min(0).max(2_147_483_647);
export const success = z.object({ success: z.literal(true) }).meta({ id: "Success" });
