import { describe, expect, it } from "@jest/globals";
import { isVersion, pathsOf } from "./paths.ts";

const paths = pathsOf({ programFolder: "/opt/agent", stateFolder: "/var/agent" });
const sha256 = "0123456789ab".padEnd(64, "c");

describe("the folder of a version", () => {
  it("is named by version and digest", () => {
    expect(paths.folderOf("1.4.0-rc.1", sha256)).toBe("versions/1.4.0-rc.1-0123456789ab");
  });

  it.each([
    "../../etc",
    "1.4.0/..",
    "1.4.0-../../x",
    "1.4.0-a/b",
    "1.4",
    "",
    "1.4.0 ",
    "1.4.0-a..b",
    "01.4.0",
    "1.4.0\n",
  ])("is none for %j", (version) => {
    expect(isVersion(version)).toBe(false);
    expect(() => paths.folderOf(version, sha256)).toThrow("is no version");
  });

  it("is none for a digest that is none", () => {
    expect(() => paths.folderOf("1.4.0", "../../../etc/x")).toThrow("is no version");
  });
});
