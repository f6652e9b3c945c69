export const streamTypes = {
  https: "the HTTP input of a SIEM",
  s3: "a bucket of yours",
  syslog: "syslog over TLS",
  webhook: "a webhook, signed",
  archive: "the operator's storage",
} as const;
export type StreamType = keyof typeof streamTypes;

export const envelopes = {
  ndjson: "JSON lines (Vector, Fluent Bit, Logstash, Cribl)",
  array: "an array (Datadog)",
  "splunk-hec": "Splunk's HTTP Event Collector",
  "elastic-bulk": "Elasticsearch, OpenSearch",
} as const;
type Envelope = keyof typeof envelopes;

export const streamTypeOf = (text: string): StreamType => keyIn(streamTypes, text) ?? "https";

const keyIn = <K extends string>(names: Readonly<Record<K, string>>, text: string): K | undefined =>
  (Object.keys(names) as K[]).find((name) => name === text);

/** Headers of a text, one `Name: value` per line; a line without a colon is a name without a value. */
export function headersOf(text: string): { key: string; value: string }[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const at = line.indexOf(":");
      return at < 0 ? { key: line, value: "" } : { key: line.slice(0, at).trim(), value: line.slice(at + 1).trim() };
    });
}

/** The body of the API for a new stream: only the fields that its type has. */
export function streamBody(form: FormData, orgId: string) {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const optional = (name: string) => (text(name) ? { [name]: text(name) } : {});
  const type = streamTypeOf(text("type"));
  const common = {
    orgId,
    name: text("name"),
    type,
    from: form.has("fromStart") ? ("start" as const) : ("now" as const),
    format: text("format") === "ocsf" ? ("ocsf" as const) : ("muster" as const),
  };
  switch (type) {
    case "https": {
      const envelope: Envelope = keyIn(envelopes, text("envelope")) ?? "ndjson";
      return { ...common, url: text("url"), envelope, headers: headersOf(text("headers")), ...optional("ca") };
    }
    case "s3":
      return { ...common, s3: bucketOf(text, form.has("pathStyle")), ...optional("ca") };
    case "syslog":
      return { ...common, url: text("url"), ...optional("ca") };
    case "webhook":
      return { ...common, url: text("url") };
    case "archive":
      return common;
  }
}

function bucketOf(text: (name: string) => string, pathStyle: boolean) {
  const endpoint = text("endpoint");
  const prefix = text("prefix");
  return {
    bucket: text("bucket"),
    region: text("region"),
    accessKeyId: text("accessKeyId"),
    secretAccessKey: text("secretAccessKey"),
    pathStyle,
    ...(endpoint ? { endpoint } : {}),
    ...(prefix ? { prefix: prefix.endsWith("/") ? prefix : `${prefix}/` } : {}),
  };
}
