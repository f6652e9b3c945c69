import { type Egress, guardedRequest } from "@muster/egress";
import { isLocation, withoutTrailing } from "@muster/kit";
import { z } from "zod";
import { compareVersions, isPrerelease, parseVersion } from "../rules/version.ts";
import { type ReleaseSource, SourceBusy, SourceFailed, type SourceFile, type SourceRelease } from "./release-source.ts";

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

const pageBytes = 8 * 1024 * 1024;
const wordsBytes = 8 * 1024;
/** GitHub lists at most 10,000 releases, a hundred on a page. */
const pagesMax = 100;
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
export const githubSource = (options: GithubOptions): ReleaseSource => new GithubSource(options);

/** A page of the API and the URL of the next one. */
type ApiPage = { body: unknown; next: string | null };

class GithubSource implements ReleaseSource {
  readonly name = "github";
  readonly #egress: Egress;
  readonly #base: string;
  readonly #token: string | null;
  readonly #headers: Record<string, string>;

  constructor({ egress, apiUrl, repository, token }: GithubOptions) {
    this.#egress = egress;
    this.#base = `${withoutTrailing(apiUrl, "/")}/repos/${repository}`;
    this.#token = token;
    this.#headers = {
      "user-agent": "muster-agent-release",
      "x-github-api-version": "2022-11-28",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
  }

  async find(wanted: string | null): Promise<SourceRelease | null> {
    if (wanted !== null) {
      for (const tag of [`v${wanted}`, wanted]) {
        const found = await this.#request(`${this.#base}/releases/tags/${encodeURIComponent(tag)}`);
        const parsed = found && release.parse(found.body);
        if (parsed && !parsed.draft) return this.#shown(wanted, parsed);
      }
    }
    const [newest] = (await this.#published())
      .flatMap((each) => {
        const version = parseVersion(each.tag_name);
        const isWanted = wanted === null ? version !== null && isStable(each, version) : version === wanted;
        return version !== null && isWanted ? [{ version, each }] : [];
      })
      .sort((a, b) => compareVersions(b.version, a.version));
    return newest ? this.#shown(newest.version, newest.each) : null;
  }

  /** Null when there is nothing there. */
  async #request(url: string): Promise<ApiPage | null> {
    const reply = await guardedRequest(this.#egress, url, {
      headers: { ...this.#headers, accept: "application/vnd.github+json" },
      maxBytes: pageBytes,
      timeoutMs: apiTimeoutMs,
      totalMs: 2 * apiTimeoutMs,
    });
    if (reply.status === 404) {
      reply.body.destroy();
      return null;
    }
    if (reply.status !== 200) await refuse(reply);
    return { body: JSON.parse(await textOf(reply.body, pageBytes)), next: nextOf(reply.headers.link) };
  }

  /** All releases that are published, page by page. */
  async #published(): Promise<GithubRelease[]> {
    const all: GithubRelease[] = [];
    const { origin } = new URL(this.#base);
    let next: string | null = `${this.#base}/releases?per_page=100`;
    for (let page = 0; next !== null && page < pagesMax; page++) {
      // The token is sent to the API alone, wherever a page points.
      if (new URL(next).origin !== origin) throw new SourceFailed("its next page is on another host");
      const reply: ApiPage | null = await this.#request(next);
      if (reply === null) throw new SourceFailed("answered 404: there is no such repository");
      all.push(...z.array(release).parse(reply.body));
      next = reply.next;
    }
    return all.filter(({ draft }) => !draft);
  }

  #shown(version: string, { prerelease, html_url, assets }: GithubRelease): SourceRelease {
    return { version, prerelease, notesUrl: html_url ?? null, files: assets.map((each) => this.#fileOf(each)) };
  }

  #fileOf(each: z.output<typeof asset>): SourceFile {
    return {
      name: each.name,
      size: each.size ?? null,
      sha256: /^sha256:([0-9a-f]{64})$/.exec(each.digest ?? "")?.[1] ?? null,
      url: each.browser_download_url,
      open: async () => {
        // A private repository's file is available through the API only.
        const reply = await guardedRequest(this.#egress, this.#token === null ? each.browser_download_url : each.url, {
          headers: { ...this.#headers, accept: "application/octet-stream" },
        });
        if (reply.status !== 200) await refuse(reply);
        return reply.body;
      },
    };
  }
}

function isStable({ prerelease }: GithubRelease, version: string): boolean {
  return !prerelease && !isPrerelease(version);
}

/** The URL of the next page (RFC 8288); null on the last one. */
function nextOf(link: string | string[] | undefined): string | null {
  const [, url] = /<([^<>]+)>\s*;[^,]*\brel="?next"?/.exec([link ?? ""].flat().join(",")) ?? [];
  return url !== undefined && URL.canParse(url) ? url : null;
}

type Reply = Awaited<ReturnType<typeof guardedRequest>>;

/** Throws SourceBusy for a rate limit, else SourceFailed with the words of the host. */
async function refuse({ status, headers, body }: Reply): Promise<never> {
  const isLimited = status === 429 || (status === 403 && isRateLimit(headers));
  if (isLimited) {
    body.destroy();
    throw new SourceBusy(patienceOf(headers));
  }
  const words = await textOf(body, wordsBytes).then(wordsOf, () => "");
  throw new SourceFailed(words === "" ? `answered ${status}` : `answered ${status}: ${words}`);
}

/** Every reply has the rate headers: only spent ones are a limit. */
function isRateLimit(headers: Reply["headers"]): boolean {
  const { "x-ratelimit-remaining": remaining, "x-ratelimit-reset": reset } = headers;
  return headers["retry-after"] !== undefined || remaining === "0" || (remaining === undefined && reset !== undefined);
}

const words = z.object({ message: z.string().max(500) });

function wordsOf(text: string): string {
  try {
    return words.safeParse(JSON.parse(text)).data?.message ?? "";
  } catch {
    return "";
  }
}

async function textOf(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new SourceFailed(`answered with more than ${maxBytes} bytes`);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** `Retry-After`, else the end of GitHub's rate window, else a minute; an hour at most. */
function patienceOf(headers: Reply["headers"]): number {
  const after = Number(headers["retry-after"]);
  const reset = Number(headers["x-ratelimit-reset"]) - Date.now() / 1_000;
  const wanted = after > 0 ? after : reset > 0 ? reset : defaultPatienceSeconds;
  return Math.min(3_600, Math.ceil(wanted));
}
