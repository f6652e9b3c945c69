import { describe, expect, it } from "@jest/globals";
import { expiredBackups, newestBackup, partBytes } from "./backup.ts";

const at = (day: number) => `muster-2026-01-0${day}T021700Z.dump`;

describe("backups", () => {
  it("are ordered by the time in their names, and other files are none", () => {
    expect(newestBackup(["lost+found", at(2), at(3), at(1), `${at(9)}.partial`])).toBe(at(3));
    expect(newestBackup(["muster-.dump", "muster-2026.dump"])).toBeNull();
  });

  it("expire beyond the newest that are kept, and what is no backup never does", () => {
    const names = [at(3), "muster-notes.txt", at(1), at(2)];
    expect(expiredBackups(names, 1)).toEqual([at(1), at(2)]);
    expect(expiredBackups(names, 3)).toEqual([]);
    expect(expiredBackups(names, 7)).toEqual([]);
  });

  it("have at most 10,000 parts", () => {
    expect(partBytes(1)).toBe(16 * 1024 * 1024);
    const bytes = 10 * 1024 ** 4;
    expect(Math.ceil(bytes / partBytes(bytes))).toBeLessThanOrEqual(10_000);
  });
});
