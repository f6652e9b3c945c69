import { type Egress, guardedRequest } from "@muster/egress";
import { isLocation, withoutTrailing } from "@muster/kit";
import { z } from "zod";
import { compareVersions, isPrerelease, parseVersion } from "../rules/version.ts";
import { type ReleaseSource, SourceBusy, type SourceFile, type SourceRelease } from "./release-source.ts";

const asset = z.object({
  name: z.string(),
  size: z.int().nonnegative().optional(),
  url: z.string(),
  browser_download_url: z.string().refine(isLocation),
  /** `sha256:<hex>`, where the host knows it. */
  digest: z.string().nullish(),
});
const release = z.object({
  tag_name: z.string(),
  draft: z.boolean().default(false),
  prerelease: z.boolean().default(false),
  html_url: z.string().nullish(),
  assets: z.array(asset).max(500),
});
type GithubRelease = z.output<typeof release>;

const listBytes = 8 * 1024 * 1024;
const apiTimeoutMs = 15_000;
const defaultPatienceSeconds = 60;

export type GithubOptions = {
  egress: Egress;
  apiUrl: string;
  /** owner/name. */
  repository: string;
  token: string | null;
};

/** Releases of a repository by the GitHub REST API (2022-11-28), or by a host that answers alike. */
export function githubSource({ egress, apiUrl, repository, token }: GithubOptions): ReleaseSource {
  const base = `${withoutTrailing(apiUrl, "/")}/repos/${repository}`;
  const headers = {
    "user-agent": "muster-agent-release",
    "x-github-api-version": "2022-11-28",
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };

  async function request(path: string): Promise<unknown | null> {
    const reply = await guardedRequest(egress, base + path, {
      headers: { ...headers, accept: "application/vnd.github+json" },
      maxBytes: listBytes,
      timeoutMs: apiTimeoutMs,
      totalMs: 2 * apiTimeoutMs,
    });
    if (reply.status !== 200) {
      reply.body.destroy();
      if (reply.status === 404) return null;
      refuse(reply.status, reply.headers);
    }
    const chunks: Buffer[] = [];
    for await (const chunk of reply.body) chunks.push(chunk as Buffer);
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  }

  const fileOf = (each: z.output<typeof asset>): SourceFile => ({
    name: each.name,
    size: each.size ?? null,
    sha256: /^sha256:([0-9a-f]{64})$/.exec(each.digest ?? "")?.[1] ?? null,
    url: each.browser_download_url,
    async open() {
      // A private repository's file is available through the API only.
      const reply = await guardedRequest(egress, token === null ? each.browser_download_url : each.url, {
        headers: { ...headers, accept: "application/octet-stream" },
      });
      if (reply.status !== 200) {
        reply.body.destroy();
        refuse(reply.status, reply.headers);
      }
      return reply.body;
    },
  });

  const shown = (version: string, each: GithubRelease): SourceRelease => ({
    version,
    notesUrl: each.html_url ?? null,
    files: each.assets.map(fileOf),
  });

  return {
    name: "github",
    async find(wanted) {
      if (wanted !== null) {
        for (const tag of [`v${wanted}`, wanted]) {
          const found = await request(`/releases/tags/${encodeURIComponent(tag)}`);
          if (found === null) continue;
          const parsed = release.parse(found);
          return parsed.draft ? null : shown(wanted, parsed);
        }
        return null;
      }
      const listed = await request("/releases?per_page=100");
      const stable = z
        .array(release)
        .parse(listed ?? [])
        .flatMap((each) => {
          const version = parseVersion(each.tag_name);
          return version === null || each.draft || each.prerelease || isPrerelease(version) ? [] : [{ version, each }];
        })
        .sort((a, b) => compareVersions(b.version, a.version));
      const [latest] = stable;
      return latest ? shown(latest.version, latest.each) : null;
    },
  };
}

function refuse(status: number, headers: Record<string, string | string[] | undefined>): never {
  if (status === 403 || status === 429) throw new SourceBusy(patienceOf(headers));
  throw new Error(`answered ${status}`);
}

/** `Retry-After`, else the end of GitHub's rate window, else a minute; an hour at most. */
function patienceOf(headers: Record<string, string | string[] | undefined>): number {
  const after = Number(headers["retry-after"]);
  const reset = Number(headers["x-ratelimit-reset"]) - Date.now() / 1_000;
  const wanted = after > 0 ? after : reset > 0 ? reset : defaultPatienceSeconds;
  return Math.min(3_600, Math.ceil(wanted));
}
