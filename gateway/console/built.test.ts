import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";

// What `npm test` and `npm start` built: its weight, and that nothing in it needs an exception of the pages' policy.

const dist = fileURLToPath(new URL("dist", import.meta.url));
if (!existsSync(dist)) throw new Error("the console is not built: node deploy/local/prepare.mjs");
const assets = join(dist, "assets");
/** Files of this build; earlier ones lie beside them for a day. */
const names = JSON.parse(readFileSync(join(dist, "assets.json"), "utf8")) as string[];
const html = (entry: string) => readFileSync(join(dist, entry), "utf8");
const kilobytes = (files: Iterable<string>) =>
  [...files].reduce((sum, name) => sum + statSync(join(assets, `${name}.gz`)).size, 0) / 1_000;

/** Files of /assets that a text names, by their ending. */
const named = (text: string, ending: string) =>
  [...text.matchAll(/(?:assets\/|\.\/)([\w.-]+\.(?:js|css))/g)]
    .map(([, name = ""]) => name)
    .filter((name) => name.endsWith(ending));

/** A script with all that it imports before it runs. */
function withImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  const source = readFileSync(join(assets, name), "utf8");
  for (const [, imported = ""] of source.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g))
    withImports(imported, found);
  return found;
}

const scriptsOf = (entry: string) => new Set(named(html(entry), ".js").flatMap((name) => [...withImports(name)]));
const app = scriptsOf("index.html");
const signIn = scriptsOf("sign-in.html");
const portal = scriptsOf("portal.html");
const pages = names.filter((name) => name.endsWith(".js") && ![app, signIn, portal].some((of) => of.has(name)));
/** What the page loads when it is first touched, before anything can open. */
const touched = new Set(
  names.filter((name) => /^dialog-frame-.*\.js$/.test(name)).flatMap((name) => [...withImports(name)]),
);
const opensByTouch = /^(command-palette|menu-popup|popover-popup|toaster|tooltip-popup)-/;

describe("the built console", () => {
  it("has a sign-in page of at most 90 KB of script", () => {
    expect(kilobytes(signIn)).toBeLessThan(90);
  });

  it("has a portal of at most 130 KB of script, without the session and the storage of the console's users", () => {
    expect(kilobytes(portal)).toBeLessThan(130);
    const sources = [...portal].map((name) => readFileSync(join(assets, name), "utf8")).join("");
    // A call of a route; the client's list of those without a session names the route, too.
    for (const word of [/localStorage/, /sessionStorage/, /BroadcastChannel/, /["'`]\/auth\/refresh/]) {
      expect({ word, isThere: word.test(sources) }).toEqual({ word, isThere: false });
    }
  });

  it.each(["overview", "devices"])("opens the page %s with at most 200 KB of script", (page) => {
    const script = names.filter((name) => name.startsWith(`${page}-`) && name.endsWith(".js"));
    expect(script).toHaveLength(1);
    expect(kilobytes(new Set([...app, ...withImports(script[0] ?? "")]))).toBeLessThan(200);
  });

  it.each(["sign-in.html", "portal.html"])("%s never loads what starts the console, now or later", (entry) => {
    const loaded = new Set(named(html(entry), ".js"));
    for (const name of loaded)
      for (const next of named(readFileSync(join(assets, name), "utf8"), ".js")) loaded.add(next);
    const [start = ""] = /src="\/assets\/([\w.-]+\.js)"/.exec(html("index.html"))?.slice(1) ?? [];
    expect(names).toContain(start);
    expect(loaded.has(start)).toBe(false);
  });

  it("opens the page of devices with at most 20 files of script: a slow network fetches six at a time", () => {
    const script = names.filter((name) => /^devices-.*\.js$/.test(name));
    expect(new Set([...app, ...withImports(script[0] ?? "")]).size).toBeLessThanOrEqual(20);
  });

  it("has at most 24 KB of styles", () => {
    expect(kilobytes(names.filter((name) => name.endsWith(".css")))).toBeLessThan(24);
  });

  it.each(pages)("loads at most 40 KB for %s", (name) => {
    const before = opensByTouch.test(name) ? new Set([...app, ...touched]) : app;
    expect(kilobytes([...withImports(name)].filter((each) => !before.has(each)))).toBeLessThan(40);
  });

  it("has one font of at most 60 KB", () => {
    const fonts = names.filter((name) => name.endsWith(".woff2"));
    expect(fonts).toHaveLength(1);
    expect(statSync(join(assets, fonts[0] ?? "")).size).toBeLessThan(60_000);
  });

  it.each(["index.html", "sign-in.html", "portal.html"])(
    "%s has no inline script, no inline style and nothing from elsewhere",
    (entry) => {
      const text = html(entry);
      expect(text).not.toMatch(/<script(?![^>]*\ssrc=)/);
      expect(text).not.toMatch(/<style|\sstyle=|\son\w+=/);
      expect([...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)).toEqual(
        expect.not.arrayContaining([expect.not.stringMatching(/^\/assets\//)]),
      );
    },
  );

  it("makes no code out of text", () => {
    for (const name of names.filter((each) => each.endsWith(".js"))) {
      const source = readFileSync(join(assets, name), "utf8");
      expect({ name, found: /\beval\(|new Function\(/.exec(source)?.[0] ?? null }).toEqual({ name, found: null });
    }
  });
});
