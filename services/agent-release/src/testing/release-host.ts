import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { openEgress, parseExceptions } from "@muster/egress";
import { type NoteSigner, signNote } from "@muster/kit";
import { listening, testCaFile, testCertificate } from "@muster/testing";

/** How a file is served otherwise than it should be. */
export type Failure =
  | "reset"
  | "truncated"
  | "gone"
  | "other bytes"
  | "other digest"
  | "busy"
  | "redirect to a private address"
  | "redirect loop";

export type HostedRelease = {
  tag_name: string;
  draft?: boolean;
  prerelease?: boolean;
  files: Record<string, Buffer>;
};

export type ReceivedRequest = { host: string; path: string; authorization: string | undefined };
export type ReleaseHost = Awaited<ReturnType<typeof startReleaseHost>>;

const digestOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/**
 * An HTTPS server that answers as GitHub's REST API does, with files behind a redirect to another host; and the way out
 * to it.
 */
export async function startReleaseHost() {
  const releases: HostedRelease[] = [];
  const failures = new Map<string, Failure>();
  const requests: ReceivedRequest[] = [];
  let apiAnswer: { status: number; headers: Record<string, string> } | null = null;

  const shown = (release: HostedRelease) => ({
    ...release,
    files: undefined,
    html_url: `https://api.example.test/notes/${release.tag_name}`,
    assets: Object.entries(release.files).map(([name, bytes]) => ({
      name,
      size: bytes.length,
      url: `https://api.example.test:${port}/repos/o/r/assets/${release.tag_name}/${name}`,
      browser_download_url: `https://api.example.test:${port}/o/r/releases/download/${release.tag_name}/${name}`,
      digest: `sha256:${failures.get(name) === "other digest" ? "0".repeat(64) : digestOf(bytes)}`,
    })),
  });

  const server = createServer(testCertificate(), (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "https://any");
    const host = String(request.headers.host).split(":")[0] ?? "";
    requests.push({ host, path: pathname, authorization: request.headers.authorization });
    const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    if (pathname.startsWith("/repos/o/r/releases")) {
      if (apiAnswer) return json(apiAnswer.status, { message: "no" }, apiAnswer.headers);
      const tag = /\/releases\/tags\/(.+)$/.exec(pathname)?.[1];
      if (tag === undefined) {
        const page = Number(searchParams.get("page") ?? 1);
        const next = `<https://api.example.test:${port}${pathname}?per_page=100&page=${page + 1}>; rel="next"`;
        const isLast = releases.length <= page * 100;
        const link = `<https://api.example.test:${port}${pathname}?page=1>; rel="first"${isLast ? "" : `, ${next}`}`;
        return json(200, releases.slice((page - 1) * 100, page * 100).map(shown), { link });
      }
      const found = releases.find(({ tag_name: name }) => name === decodeURIComponent(tag));
      return found ? json(200, shown(found)) : json(404, { message: "Not Found" });
    }
    const [, tag = "", name = ""] = /\/(?:assets|download|files)\/([^/]+)\/([^/]+)$/.exec(pathname) ?? [];
    const bytes = releases.find(({ tag_name: each }) => each === tag)?.files[name];
    const failure = failures.get(name);
    if (!bytes || failure === "gone") return json(404, { message: "Not Found" });
    if (failure === "reset") return void request.socket.destroy();
    if (failure === "busy") return json(429, { message: "slow down" }, { "retry-after": "9" });
    if (host !== "files.example.test" || failure === "redirect loop") {
      const elsewhere =
        failure === "redirect to a private address" ? "https://10.0.0.1" : `https://files.example.test:${port}`;
      const location =
        failure === "redirect loop"
          ? `https://api.example.test:${port}${pathname}`
          : `${elsewhere}/files/${tag}/${name}`;
      return response.writeHead(302, { location }).end();
    }
    response.writeHead(200, { "content-length": bytes.length });
    if (failure === "truncated") return response.write(bytes.subarray(0, 5), () => request.socket.destroy());
    return response.end(failure === "other bytes" ? Buffer.alloc(bytes.length, "x") : bytes);
  });
  const at = await listening(server);
  const { port } = at;
  const exceptions = `api.example.test:${port}=127.0.0.1,files.example.test:${port}=127.0.0.1`;
  const egress = openEgress({
    profile: "release",
    exceptions: parseExceptions(exceptions, "test"),
    ca: readFileSync(testCaFile, "utf8"),
  });
  return {
    apiUrl: `https://api.example.test:${port}`,
    egress,
    releases,
    failures,
    requests,
    /** What the API answers from now on instead of what it has; null for that again. */
    answer(status: number | null, headers: Record<string, string> = {}) {
      apiAnswer = status === null ? null : { status, headers };
    },
    async close() {
      await egress.close();
      await at.close();
    },
  };
}

/** Files of a release with a signed manifest, for one platform. */
export function releaseFiles(version: string, signer: NoteSigner, component = "agent"): Record<string, Buffer> {
  const name = `muster-${component}-linux-amd64`;
  const bytes = Buffer.from(`${component} ${version}\n`.repeat(1_000));
  const artifacts = [{ os: "linux", arch: "amd64", name, size: bytes.length, sha256: digestOf(bytes) }];
  const note = signNote(`${JSON.stringify({ version, component, artifacts })}\n`, signer);
  return { [name]: bytes, [`${component}.manifest`]: Buffer.from(note) };
}
