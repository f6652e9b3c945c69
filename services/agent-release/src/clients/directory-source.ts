import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { compareVersions, isPrerelease, parseVersion } from "../rules/version.ts";
import type { ReleaseSource } from "./release-source.ts";

const filesMax = 500;

/** A folder with one subfolder per version, named by it. */
export function directorySource(root: string): ReleaseSource {
  return {
    name: "directory",
    async find(wanted) {
      const entries = await readdir(root, { withFileTypes: true });
      const versions = entries.flatMap((entry) => {
        const version = entry.isDirectory() ? parseVersion(entry.name) : null;
        return version === null ? [] : [{ version, folder: entry.name }];
      });
      const found =
        wanted === null
          ? versions
              .filter(({ version }) => !isPrerelease(version))
              .sort((a, b) => compareVersions(b.version, a.version))[0]
          : versions.find(({ version }) => version === wanted);
      if (!found) return null;
      const folder = join(root, found.folder);
      const names = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
      const files = await Promise.all(
        names.slice(0, filesMax).map(async ({ name }) => {
          const path = join(folder, name);
          const { size } = await stat(path);
          return { name, size, sha256: null, url: null, open: async () => createReadStream(path) };
        }),
      );
      return { version: found.version, prerelease: false, notesUrl: null, files };
    },
  };
}
