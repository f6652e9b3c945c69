import type { FieldErrors } from "@muster/kit";

/** Where a customer's bucket is; the secret of its key is sealed. */
export type Bucket = {
  bucket: string;
  region: string;
  /** Null: AWS's own. */
  endpoint: string | null;
  /** Of every object's name: empty, or ending in a slash. */
  prefix: string;
  pathStyle: boolean;
  /** Empty with a role. */
  accessKeyId: string;
  /** The role that this service assumes to write there, instead of an access key. */
  roleArn?: string;
};

const key = { accessKeyId: "", secretAccessKey: "" } as const;
const role = /^arn:aws[a-z-]{0,20}:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/;
const forms = {
  bucket: [/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "3 to 63 letters a-z, digits, dots and hyphens"],
  region: [/^[a-z0-9-]{1,32}$/, "1 to 32 letters a-z, digits and hyphens"],
  prefix: [/^(?:[A-Za-z0-9!_.*'()=-]{1,100}\/){0,10}$/, "Empty, or names that each end in a slash"],
  accessKeyId: [/^[\x21-\x7e]{3,128}$/, "3 to 128 visible ASCII characters"],
  secretAccessKey: [/^[\x21-\x7e]{3,256}$/, "3 to 256 visible ASCII characters"],
} as const;

/** What is wrong with a bucket, by field. Its address is checked elsewhere. */
export function bucketErrors(bucket: Bucket & { secretAccessKey: string }, hasRoles: boolean): FieldErrors {
  const errors: FieldErrors = {};
  const { roleArn } = bucket;
  for (const [field, [form, text]] of Object.entries(forms) as [keyof typeof forms, readonly [RegExp, string]][]) {
    const isOfKey = field in key;
    if (roleArn !== undefined && isOfKey && bucket[field] !== "") errors[`s3.${field}`] = ["Not beside a role"];
    if (!(roleArn !== undefined && isOfKey) && !form.test(bucket[field])) errors[`s3.${field}`] = [text];
  }
  if (roleArn !== undefined) {
    if (!hasRoles) errors["s3.roleArn"] = ["The operator has not enabled access by role"];
    else if (!role.test(roleArn)) errors["s3.roleArn"] = ["arn:aws:iam::<account>:role/<name>"];
    if (bucket.endpoint !== null) errors["s3.endpoint"] = ["Only with an access key"];
  }
  if (/(^|\/)\.{1,2}\//.test(bucket.prefix)) errors["s3.prefix"] = [forms.prefix[1]];
  const { endpoint } = bucket;
  if (endpoint !== null && !isOrigin(endpoint)) errors["s3.endpoint"] ??= ["A URL without path and query"];
  return errors;
}

function isOrigin(text: string): boolean {
  if (text.length > 2_048 || !URL.canParse(text)) return false;
  const { pathname, search, hash, username } = new URL(text);
  return pathname === "/" && search === "" && hash === "" && username === "";
}

/** The URL that requests to the bucket begin with, for the check of its address. */
export function bucketUrl({ bucket, region, endpoint, pathStyle }: Bucket): string {
  const base = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  return pathStyle ? `${base.origin}/${bucket}/` : `${base.protocol}//${bucket}.${base.host}/`;
}

type Row = { seq: number; entry: { timestamp: Date } };

/**
 * Where a batch lies in a bucket: by the hour of its rows (UTC), so that names sort as the chain does. A batch that is
 * sent again has the same name.
 */
export function objectKey(rows: readonly Row[]): string {
  const padded = (seq: number | undefined) => String(seq ?? 0).padStart(16, "0");
  return `${hourOf(rows[0]?.entry.timestamp)}/${padded(rows[0]?.seq)}-${padded(rows.at(-1)?.seq)}.ndjson.gz`;
}

/** `2026/01/31/12`. */
export function hourOf(time: Date | undefined): string {
  const ms = time?.getTime() ?? Number.NaN;
  return Number.isNaN(ms) ? "0000/00/00/00" : new Date(ms).toISOString().slice(0, 13).replace(/[-T]/g, "/");
}
