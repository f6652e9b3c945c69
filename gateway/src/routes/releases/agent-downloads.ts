import { createHash } from "node:crypto";
import { AppError, attachmentLine, entityTag } from "@muster/kit";
import { z } from "zod";
import { byteRange } from "../../http/byte-range.ts";
import { Answered, Rendered, redirect, Streamed } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { arch, downloadPath, libc, os } from "../fields/agent-builds.ts";
import { component, versionIn } from "./agent-versions.ts";

const fileType = "application/octet-stream";
const noteType = "text/plain; charset=utf-8";

const libcIn = libc.optional().meta({ description: "C library of a Linux system: `musl` for Alpine.", default: "gnu" });

const download = route({
  method: "GET",
  path: "/agents/download/:os/:arch",
  access: { auth: "none" },
  tag: "Agents",
  summary: "Download a binary of an agent release",
  description:
    "Needs no credential: an installer has none. Without a version the promoted one is returned. The reply is the bytes, one range of them, or " +
    "a redirect to the release host or the storage.",
  params: z.object({ os, arch }),
  query: z.object({
    libc: libcIn,
    component: component.optional().meta({ description: "Component to download.", default: "agent" }),
    version: versionIn.optional(),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, "Must be 64 hexadecimal digits")
      .optional()
      .meta({
        description:
          "Digest of the file, as an offer names it: another file is 404, and the reply is cacheable for good.",
      }),
  }),
  deadline: "export",
  load: "download",
  file: {
    contentTypes: [fileType],
    headers: { ETag: "SHA-256 of the file.", "Accept-Ranges": "Unit of ranges: always `bytes`." },
  },
  answers: {
    206: {
      description: "One range of the bytes",
      headers: { "Content-Range": "Range of the reply and size of the file, in bytes." },
    },
    302: { description: "The file is elsewhere", headers: { Location: "URL of the file." } },
    304: { description: "The client's copy is current" },
    412: { description: "The file is another one than `If-Match` names" },
    416: { description: "The range is beyond the file", headers: { "Content-Range": "Size of the file, in bytes." } },
  },
  reply: z.string(),
  errors: ["agent_version_not_found", "release_untrusted"],
  async handle({ params, query, conditions, rpc }, { services }) {
    const { component: of = "agent", version = "", sha256: digest = "" } = query;
    const wanted = { ...params, libc: query.libc ?? "gnu", component: of, version, sha256: digest };
    const call = await rpc();
    const { sha256, size: bytes, name, location } = await services.downloads.locate(wanted, call);
    if (location !== "") return redirect(302, location, ["Cache-Control", "no-store"]);
    const size = Number(bytes);
    const etag = entityTag(sha256);
    const { range, ifRange, ifMatch, ifNoneMatch } = conditions();
    // A version may be deleted and registered with other bytes: only its digest names one file for ever.
    const caching = digest === "" ? "no-cache" : "public, max-age=31536000, immutable";
    const about = ["ETag", etag, "Accept-Ranges", "bytes", "Cache-Control", caching];
    if (ifMatch !== null && !matchesStrongly(ifMatch, etag)) return new Answered(412, about);
    if (matches(ifNoneMatch, etag)) return new Answered(304, about);
    const part = ifRange !== null && ifRange !== etag ? "all" : byteRange(range, size);
    if (part === "beyond") return new Answered(416, [...about, "Content-Range", `bytes */${size}`]);
    const { start, end } = part === "all" ? { start: 0, end: size } : part;
    const read = () => services.downloads.read({ sha256, start: BigInt(start), end: BigInt(end) }, call);
    const body = piecesOf(read, end - start);
    const length = ["Content-Length", String(end - start), ...attachmentLine(name)];
    if (part === "all") return new Streamed(fileType, [...about, ...length], body);
    const lines = [...about, ...length, "Content-Range", `bytes ${start}-${end - 1}/${size}`];
    return new Answered(206, lines, new Streamed(fileType, [], body));
  },
});

const manifest = route({
  method: "GET",
  path: "/agents/download/:os/:arch/manifest",
  access: { auth: "none" },
  tag: "Agents",
  summary: "Get the manifest of an agent release",
  description:
    "A C2SP signed note over one line of JSON, which names size and digest of the file that the download returns. Needs no credential. " +
    "Without a version the promoted one is returned.",
  params: z.object({ os, arch }),
  query: z.object({
    libc: libcIn,
    component: component.optional().meta({ description: "Component of the manifest.", default: "agent" }),
    version: versionIn.optional(),
  }),
  load: "download",
  file: { contentTypes: [noteType], headers: { ETag: "SHA-256 of the manifest." } },
  answers: { 304: { description: "The client's copy is current" } },
  reply: z.string(),
  errors: ["agent_version_not_found", "release_untrusted"],
  async handle({ params, query, conditions, rpc }, { services }) {
    const wanted = {
      ...params,
      libc: query.libc ?? "gnu",
      component: query.component ?? "agent",
      version: query.version ?? "",
      withManifest: true,
    };
    const { manifest: note } = await services.downloads.locate(wanted, await rpc());
    if (note === "") throw new AppError("agent_version_not_found", "The release has no manifest");
    const etag = entityTag(createHash("sha256").update(note).digest("hex"));
    const lines = ["ETag", etag, "Cache-Control", "no-cache"];
    if (matches(conditions().ifNoneMatch, etag)) return new Answered(304, lines);
    return new Answered(200, lines, new Rendered(note, noteType));
  },
});

const available = route({
  method: "GET",
  path: "/agents/downloads",
  access: { auth: "session" },
  tag: "Agents",
  summary: "Systems for which the promoted agent can be downloaded",
  description: "Includes the values that verify each file. Empty while no release is promoted.",
  reply: z.object({
    data: z.array(
      z.object({
        os,
        arch,
        libc,
        version: z.string(),
        name: z.string(),
        url: z.string().meta({ description: "URL of the file, readable without a credential." }),
        sizeBytes: z.int(),
        sha256: z.string(),
      }),
    ),
  }),
  async handle({ rpc }, { services, publicUrl }) {
    const { downloads } = await services.downloads.listDownloads({ component: "agent" }, await rpc());
    return {
      data: downloads.map((file) => {
        const build = { os: os.parse(file.os), arch: arch.parse(file.arch), libc: libc.parse(file.libc || "gnu") };
        const { version, name, size, sha256 } = file;
        const path = downloadPath(build, { version, sha256 });
        return { ...build, version, name, url: `${publicUrl}${path}`, sizeBytes: Number(size), sha256 };
      }),
    };
  },
});

/** Whether If-None-Match names this tag, or any. */
function matches(ifNoneMatch: string | null, etag: string): boolean {
  return ifNoneMatch !== null && matchesStrongly(ifNoneMatch.replaceAll(/\bW\//g, ""), etag);
}

/** Whether If-Match names this tag, or any; weak tags never match (RFC 9110 section 13.1.1). */
function matchesStrongly(ifMatch: string, etag: string): boolean {
  return ifMatch === "*" || ifMatch.split(",").some((each) => each.trim() === etag);
}

/**
 * Reads with the first piece that is wanted, so that HEAD reads nothing. Fails when it ends before the length that was
 * promised: what arrived must not look whole.
 */
async function* piecesOf(read: () => AsyncIterable<{ bytes: Uint8Array }>, length: number): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const { bytes } of read()) {
    sent += bytes.length;
    yield bytes;
  }
  if (sent !== length) throw new AppError("unavailable", "The file ended early");
}

export const agentDownloadRoutes: readonly Route[] = [download, manifest, available];
